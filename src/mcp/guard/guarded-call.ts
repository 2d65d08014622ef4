import type { JsonValue } from '../../core/index.ts';
import { NotDone, type ToolCallContext } from '../../tools/index.ts';
import { Continuations } from '../wire/continuations.ts';
import type { CallAnswer, ToolCallMessage } from '../wire/message.ts';
import { keptOutput } from './guard-tool.ts';
import type { PolicyTool } from './policy-model.ts';
import type { Answered, ServerExchanges } from './server-exchanges.ts';

/** One call of the host's on its way to the server and back. */
export interface GuardedCall {
  /** The message that the host waits for an answer to: the newest one of a call that takes several rounds. */
  message: ToolCallMessage;
  /** What is passed on: the host's own line, or one with an approver's arguments. */
  line: Uint8Array;
  readonly described: PolicyTool;
  /** Aborted when the host cancels it. */
  readonly cancel: AbortController;
  /** Whether anything was passed on to the server. */
  sent: boolean;
  /** The server's line that answers the host, byte for byte. */
  answerLine: Uint8Array | null;
  /** What the server said where it did not report success. */
  said: CallAnswer | null;
  /** Whether the host has its answer already. */
  told: boolean;
  /** Brings the next round of a call that was answered `input_required`. */
  nextRound: ((round: { message: ToolCallMessage; line: Uint8Array }) => void) | null;
}

/** How lines travel. */
export interface Wires {
  toServer(line: Uint8Array): void;
  toHost(line: Uint8Array): void;
}

/** Passes calls on to the server and judges its answers: the `execute` of every guarded tool. */
export class Deliveries {
  readonly #exchanges: ServerExchanges;
  readonly #wires: Wires;
  readonly continuations = new Continuations<GuardedCall>();

  constructor(exchanges: ServerExchanges, wires: Wires) {
    this.#exchanges = exchanges;
    this.#wires = wires;
  }

  /**
   * Passes a call on and settles with what the ledger keeps of its success. Throws `NotDone` where nothing was passed
   * on, or where the policy promises that an error means so; anything else that it throws leaves the outcome open.
   */
  async deliver(call: GuardedCall, context: ToolCallContext): Promise<JsonValue> {
    if (!this.#exchanges.alive) throw new NotDone('The server is not running; nothing was passed on.');
    const stopped = untilAborted(context.signal);
    try {
      for (;;) {
        const round = await Promise.race([this.#round(call), stopped.promise]);
        if (round.answer.kind === 'input_required') await this.#nextRound(call, round, stopped.promise);
        else return this.#conclude(call, round);
      }
    } finally {
      stopped.forget();
      this.#exchanges.forget(call.message.id);
      call.nextRound = null;
    }
  }

  #round(call: GuardedCall): Promise<Answered> {
    const answered = this.#exchanges.open(call.message.id);
    call.sent = true;
    this.#wires.toServer(call.line);
    return answered;
  }

  /** The host is asked for more; the operation stays as open as it is until it brings it. */
  async #nextRound(call: GuardedCall, { answer, line }: Answered, stopped: Promise<never>): Promise<void> {
    if (answer.kind !== 'input_required' || line === null) return;
    this.continuations.remember(call.message, answer, call);
    const next = new Promise<{ message: ToolCallMessage; line: Uint8Array }>((resolve) => {
      call.nextRound = resolve;
    });
    this.#wires.toHost(line);
    call.told = true;
    const round = await Promise.race([next, stopped]);
    call.told = false;
    call.message = round.message;
    call.line = round.line;
  }

  #conclude(call: GuardedCall, { answer, line }: Answered): JsonValue {
    switch (answer.kind) {
      case 'result':
        call.answerLine = line;
        if (!answer.isError) return keptOutput(answer.result, call.described);
        call.said = answer;
        throw this.#failure(call, errorText(answer.result));
      case 'error':
        call.answerLine = line;
        call.said = answer;
        throw this.#failure(call, answer.text === '' ? 'The server answered with an error.' : answer.text);
      case 'task':
        // The line says that the work began, not that it ended: the host may have it.
        if (line) this.#wires.toHost(line);
        call.told = true;
        throw new Error('The server goes on with it in the background.');
      case 'gone':
        throw new Error('The server ended before it answered.');
      case 'unreadable':
      case 'input_required':
        throw new Error('The server answered what cannot be read in only one way.');
    }
  }

  #failure(call: GuardedCall, text: string): Error {
    return call.described.onError === 'not_done' && call.described.effect !== 'read'
      ? new NotDone(text)
      : new Error(text);
  }
}

function errorText(result: Readonly<Record<string, JsonValue>>): string {
  const content = result['content'];
  const texts = (Array.isArray(content) ? content : []).flatMap((item) =>
    typeof item === 'object' && item !== null && 'text' in item && typeof item.text === 'string' ? [item.text] : [],
  );
  return texts.join('\n') || 'The tool reported an error.';
}

function untilAborted(signal: AbortSignal): { readonly promise: Promise<never>; forget(): void } {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(new Error('It was given up before the server answered.'));
  promise.catch(() => undefined);
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  return { promise, forget: () => signal.removeEventListener('abort', onAbort) };
}
