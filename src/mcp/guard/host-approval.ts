import type { Approvals } from '../../approvals/index.ts';
import type { CallPlace } from '../../calls/index.ts';
import {
  canonicalJson,
  displayText,
  type Ids,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from '../../core/index.ts';
import type { ToolCallMessage } from '../wire/message.ts';
import { APPROVAL_QUESTION, inputRequiredLine } from '../wire/write-line.ts';
import type { GuardedCall } from './guarded-call.ts';
import { decideHeld, elicitedDecision, type HeldCall, type HeldCalls } from './held-calls.ts';

/** How the guard's own states begin, so that none is passed on to the server. */
const OWN_STATE = 'holdfast-approval-';

/** Whether a call answers a question of the guard's own, whatever became of that. */
export const answersGuard = ({ continues }: ToolCallMessage): boolean =>
  continues?.requestState?.startsWith(OWN_STATE) === true;

/** Asks the host's user about held calls, in the way of the protocol that the host speaks. */
export class HostApproval {
  readonly #approvals: Approvals;
  readonly #place: CallPlace;
  readonly #held: HeldCalls;
  readonly #ids: Ids;

  constructor(of: {
    readonly approvals: Approvals;
    readonly place: CallPlace;
    readonly held: HeldCalls;
    readonly ids: Ids;
  }) {
    this.#approvals = of.approvals;
    this.#place = of.place;
    this.#held = of.held;
    this.#ids = of.ids;
  }

  /** Up to 2025-11-25: asks by a request of the guard's own, and writes down what comes back. */
  async ask(call: GuardedCall, held: HeldCall, signal: AbortSignal): Promise<void> {
    if (call.message.era === 'stateless') return;
    const decision = elicitedDecision(await call.channel.ask(questionAbout(call, held), signal));
    if (decision !== null && !signal.aborted) await decideHeld(this.#approvals, this.#place, held, decision);
  }

  /** Since 2026-07-28: asks by the answer to the call, to which the host calls again. */
  askByAnswer(call: GuardedCall, held: HeldCall): null {
    const state = `${OWN_STATE}${this.#ids.next()}`;
    this.#held.ask(held, state);
    if (!call.told) call.channel.give(inputRequiredLine(call.message, questionAbout(call, held), state));
    call.told = true;
    return null;
  }

  /**
   * Writes down what a host says that was asked so; whether it said anything. Only the answer to the last question
   * about just this call counts, and only once.
   */
  async hear({ message }: GuardedCall, held: HeldCall): Promise<boolean> {
    if (!this.#held.answered(held, message)) return false;
    const said = message.continues?.responses[APPROVAL_QUESTION];
    const decision = elicitedDecision(isJsonObject(said) ? said : null);
    if (decision !== null) await decideHeld(this.#approvals, this.#place, held, decision);
    return true;
  }
}

function questionAbout({ message }: GuardedCall, { requestId }: HeldCall): string {
  const name = displayText(message.name);
  const { text, isWhole } = shownArguments(message.arguments);
  const rest = isWhole ? '' : ` Shortened; the whole: holdfast approvals show ${requestId}.`;
  return `Let ${name} run with these arguments? ${displayText(text)}${rest} (request ${requestId})`;
}

/** What a person is shown of arguments before they decide, in characters, and of one text among them where that is not enough. */
const SHOWN = 2000;
const SHOWN_OF_TEXT = 200;

/** A long text is shortened, not what stands beside it: a path may come after a whole file. */
function shownArguments(args: JsonObject): { readonly text: string; readonly isWhole: boolean } {
  const whole = canonicalJson(args);
  if (whole.length <= SHOWN) return { text: whole, isWhole: true };
  const short = canonicalJson(shortened(args));
  return { text: short.length <= SHOWN ? short : `${short.slice(0, SHOWN).toWellFormed()}…`, isWhole: false };
}

function shortened(value: JsonValue): JsonValue {
  if (typeof value === 'string' && value.length > SHOWN_OF_TEXT)
    return `${value.slice(0, SHOWN_OF_TEXT).toWellFormed()}… (${value.length - SHOWN_OF_TEXT} more)`;
  if (Array.isArray(value)) return value.map(shortened);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, shortened(member)]));
}
