import type { Clock, JsonObject, JsonValue } from '../../core/index.ts';
import { NotDone, type ToolCallContext } from '../../tools/index.ts';
import { Continuations } from '../wire/continuations.ts';
import type { CallAnswer, ToolCallMessage } from '../wire/message.ts';
import { editedLine } from '../wire/write-line.ts';
import type { Answered, CallChannel } from './call-channel.ts';
import { keptOutput } from './kept-output.ts';
import type { PolicyTool } from './policy-model.ts';
import { type WavePlace, Waves } from './waves.ts';

/** One call of the host's on its way to the server and back. */
export interface GuardedCall {
  /** The message that the host waits for an answer to: the newest one of a call that takes several rounds. */
  message: ToolCallMessage;
  /** What is passed on: the host's own line, or one with an approver's arguments. */
  line: Uint8Array;
  /** The arguments that an approver gave it in place of the host's: they hold in each of its rounds. */
  edited: JsonObject | null;
  /** How it travels: the newest one of a call that takes several rounds. */
  channel: CallChannel;
  readonly described: PolicyTool;
  /** Aborted when the host cancels it. */
  readonly cancel: AbortController;
  /** Whether anything was passed on to the server. */
  sent: boolean;
  /** The server's line that answers the host, byte for byte. */
  answerLine: Uint8Array | null;
  /** What the server said where it did not report success. */
  said: CallAnswer | null;
  /** Whether the server's answer says what became of it, and only has to be written down. */
  concluded: boolean;
  /** Whether the host has its answer already. */
  told: boolean;
  /** Brings the next round of a call that was answered `input_required`. */
  nextRound: ((round: Round) => void) | null;
}

/** One message of a call on its way. */
export type Round = Pick<GuardedCall, 'message' | 'line' | 'channel'>;

/** Passes calls on to the server and judges its answers: the `execute` of every guarded tool. */
export class Deliveries {
  readonly continuations = new Continuations<GuardedCall>();
  readonly #waves = new Waves();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Passes a call on and settles with what the ledger keeps of its success. Throws `NotDone` where nothing was passed
   * on in any of its rounds, or where the policy promises that an error means so; anything else that it throws leaves the
   * outcome open.
   */
  async deliver(call: GuardedCall, context: ToolCallContext): Promise<JsonValue> {
    if (!call.channel.alive) throw new NotDone('The server is not running; nothing was passed on.');
    const stopped = untilAborted(context.signal);
    const untilMs = this.#clock.nowMs() + context.timeoutMs;
    // A read is written down later, whenever it is answered.
    const place = call.described.effect === 'read' ? null : this.#waves.join();
    try {
      for (let isFirst = true; ; isFirst = false) {
        call.sent = true;
        const passed = isFirst ? call.channel.pass(call) : passLaterRound(call);
        const round = await Promise.race([passed, stopped.promise]);
        if (round.answer.kind !== 'input_required') return await this.#concludeTogether(call, round, place);
        void place?.leave();
        await this.#nextRound(call, round, stopped.promise);
        // The timer that gives a call up stands still while a machine sleeps: what others may do by the clock, they may do.
        if (this.#clock.nowMs() >= untilMs) throw new Error('The next round came when the time of its call was over.');
      }
    } finally {
      void place?.leave();
      stopped.forget();
      call.channel.forget(call);
      call.nextRound = null;
    }
  }

  /** The host is asked for more; the operation stays as open as it is until it brings it. */
  async #nextRound(call: GuardedCall, { answer, line }: Answered, stopped: Promise<never>): Promise<void> {
    if (answer.kind !== 'input_required' || line === null) return;
    this.continuations.remember(call.message, answer, call);
    const next = new Promise<Round>((resolve) => {
      call.nextRound = resolve;
    });
    call.channel.giveAnswer(line);
    call.channel.close();
    call.told = true;
    const round = await Promise.race([next, stopped]);
    call.told = false;
    call.message = round.message;
    // The host knows of no edit: what it calls with again are its own arguments, which nobody has approved.
    call.line = call.edited === null ? round.line : editedLine(round.message, call.edited, false);
    call.channel = round.channel;
  }

  /** The answer is judged while those of the other calls are still coming. */
  async #concludeTogether(call: GuardedCall, round: Answered, place: WavePlace | null): Promise<JsonValue> {
    try {
      const kept = this.#conclude(call, round);
      call.concluded = true;
      return kept;
    } catch (error) {
      call.concluded = NotDone.is(error);
      throw error;
    } finally {
      await place?.leave();
    }
  }

  #conclude(call: GuardedCall, { answer, line }: Answered): JsonValue {
    switch (answer.kind) {
      case 'result':
        call.answerLine = line;
        if (!answer.isError && call.described.effect !== 'read' && !saysSomething(answer.result)) {
          call.answerLine = null;
          throw new Error('The server answered with nothing that says what it did.');
        }
        if (!answer.isError) return keptOutput(answer.result, call.described);
        call.said = answer;
        throw this.#failure(call, errorText(answer.result));
      case 'error':
        call.answerLine = line;
        call.said = answer;
        throw this.#failure(call, answer.text === '' ? 'The server answered with an error.' : answer.text);
      case 'failed':
        call.answerLine = line;
        call.said = { kind: 'error', code: null, text: answer.text };
        throw new Error(answer.text);
      case 'refused':
        // The server's door, not the tool, said no: the host has to see how.
        call.answerLine = line;
        throw new NotDone(answer.text);
      case 'task':
        // The line says that the work began, not that it ended: the host may have it.
        if (line) call.channel.giveAnswer(line);
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

/** That a later round did not reach the tool says nothing of what it did when it was asked before. */
async function passLaterRound(call: GuardedCall): Promise<Answered> {
  const before = 'The server was asked before, and may have done something then.';
  try {
    const { answer, line } = await call.channel.pass(call);
    if (answer.kind !== 'refused') return { answer, line };
    return { answer: { kind: 'failed', text: `${answer.text} ${before}` }, line };
  } catch (error) {
    if (NotDone.is(error)) throw new Error(`${error.message} ${before}`);
    throw error;
  }
}

/** What is no result of a call is no report of a success, and no host takes it for an answer. */
function saysSomething({ content, structuredContent }: JsonObject): boolean {
  return Array.isArray(content) || (content === undefined && structuredContent !== undefined);
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
