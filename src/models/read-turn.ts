import {
  codePointsWithin,
  deadline,
  fail,
  type HoldfastError,
  HoldfastError as OurError,
  isBlank,
  LIMITS,
} from '../core/index.ts';
import {
  FINISH_REASONS,
  type FinishReason,
  type Model,
  type ModelEvent,
  type ModelReasoning,
  type ModelReply,
  type ModelRequest,
  type ModelUsage,
  type ProposedCall,
} from './model.ts';
import { untilAborted } from './until-aborted.ts';

export interface ReadTurnOptions {
  /** Default and most: 15 minutes. */
  readonly timeoutMs?: number;
  /** Sees each event as it comes, for showing; what it throws ends the turn. */
  readonly onEvent?: (event: ModelEvent) => void;
}

/**
 * Asks a model for one turn and reads it to its end, counting before keeping: calls, arguments, text, events, time.
 * Throws `MODEL_REPLY_TOO_LARGE` (with the bound's name), `MODEL_REPLY_INVALID` (no finish, a call without an id, one
 * id twice, text that cannot be kept), `MODEL_FAILED`, or `MODEL_STOPPED` when the signal or the time-out ended it. Arguments are not read here:
 * malformed ones and unknown tools are answered to the model, call by call.
 */
export async function readTurn(
  model: Model,
  request: ModelRequest,
  options: ReadTurnOptions = {},
): Promise<ModelReply> {
  const timeoutMs = Math.min(options.timeoutMs ?? LIMITS.modelTurnMs, LIMITS.modelTurnMs);
  const end = deadline(request.signal, timeoutMs);
  const { signal } = end;
  const turn = new TurnReader();
  try {
    signal.throwIfAborted();
    for await (const event of untilAborted(model.turn({ ...request, signal }), signal)) {
      turn.take(event);
      options.onEvent?.(event);
    }
  } catch (cause) {
    if (signal.aborted) throw fail('MODEL_STOPPED', 'The turn of the model was stopped or took too long.', { cause });
    if (cause instanceof OurError) throw cause;
    throw fail('MODEL_FAILED', 'The model failed.', { cause });
  } finally {
    end.release();
  }
  return turn.reply();
}

type Bound = 'modelReplyCodeUnits' | 'modelArgumentsCodeUnits' | 'modelCallsInReply' | 'modelEventsInReply';

class TurnReader {
  #text: string[] = [];
  #reasoning: ModelReasoning[] = [];
  #calls = new Map<string, ProposedCall>();
  #finish: { readonly reason: FinishReason; readonly usage: ModelUsage } | null = null;
  #units = 0;
  #deltaUnits = 0;
  #events = 0;

  take(event: ModelEvent): void {
    this.#events += 1;
    within('modelEventsInReply', this.#events);
    if (this.#finish !== null) throw invalid('it goes on after its end');
    switch (event.type) {
      case 'text':
        this.#spend(lengthOf(event.text));
        this.#text.push(event.text);
        return;
      case 'reasoning':
        this.#spend(lengthOf(event.text));
        this.#reasoning.push(reasoningOf(event));
        return;
      case 'arguments_delta':
        this.#deltaUnits += event.length;
        within('modelReplyCodeUnits', this.#deltaUnits);
        return;
      case 'call':
        this.#call(event.call);
        return;
      case 'finish':
        if (!FINISH_REASONS.includes(event.reason)) throw invalid('it ends for a reason that is not known');
        this.#finish = { reason: event.reason, usage: usageOf(event.usage) };
    }
  }

  #call(call: ProposedCall): void {
    within('modelCallsInReply', this.#calls.size + 1);
    const units = lengthOf(call.argumentsText);
    within('modelArgumentsCodeUnits', units);
    this.#spend(units);
    if (!isName(call.callId, LIMITS.modelCallIdCodePoints)) throw invalid('a call has no usable id');
    if (!isName(call.toolName, LIMITS.modelToolNameCodePoints)) throw invalid('a call has no usable tool name');
    if (this.#calls.has(call.callId)) throw invalid('two calls have the same id');
    checkMetadata(call.providerMetadata);
    this.#calls.set(call.callId, call);
  }

  #spend(units: number): void {
    this.#units += units;
    within('modelReplyCodeUnits', this.#units);
  }

  reply(): ModelReply {
    if (this.#finish === null) throw invalid('it ended early');
    const text = this.#text.join('');
    const reasoning = joined(this.#reasoning);
    // Whole texts: a stream may cut between the halves of a pair.
    for (const one of [text, ...reasoning.map((block) => block.text)])
      if (!one.isWellFormed() || one.includes('\0')) throw invalid('its text has NUL or a lone surrogate');
    return {
      text,
      reasoning,
      calls: [...this.#calls.values()],
      finishReason: this.#finish.reason,
      usage: this.#finish.usage,
    };
  }
}

/** A model may be a stranger's: what it calls text may be none, and has no length to count. */
function lengthOf(text: unknown): number {
  if (typeof text !== 'string') throw invalid('what should be text in it is none');
  return text.length;
}

/** What is no count is left out, as if the model had not counted. */
function usageOf(usage: unknown): ModelUsage {
  const given = (typeof usage === 'object' && usage !== null ? usage : {}) as Readonly<Record<string, unknown>>;
  const count = (value: unknown): number | null =>
    typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= LIMITS.modelReplyTokens
      ? value
      : null;
  return { inputTokens: count(given['inputTokens']), outputTokens: count(given['outputTokens']) };
}

function reasoningOf(event: ModelReasoning): ModelReasoning {
  checkMetadata(event.providerMetadata);
  return event.providerMetadata === undefined
    ? { text: event.text }
    : { text: event.text, providerMetadata: event.providerMetadata };
}

/** Deltas of one block become one text; metadata comes with a block's last part and closes it. */
function joined(parts: readonly ModelReasoning[]): readonly ModelReasoning[] {
  const blocks: ModelReasoning[] = [];
  let open = '';
  for (const part of parts) {
    open += part.text;
    if (part.providerMetadata === undefined) continue;
    blocks.push({ text: open, providerMetadata: part.providerMetadata });
    open = '';
  }
  return open === '' ? blocks : [...blocks, { text: open }];
}

function checkMetadata(metadata: unknown): void {
  if (metadata === undefined) return;
  let size: number;
  try {
    size = Buffer.byteLength(JSON.stringify(metadata));
  } catch {
    throw invalid('its metadata is not JSON');
  }
  if (size > LIMITS.modelMetadataBytes)
    throw fail('MODEL_REPLY_TOO_LARGE', 'The metadata of a reply is too large.', {
      details: { limit: 'modelMetadataBytes', max: LIMITS.modelMetadataBytes },
    });
}

function isName(value: unknown, max: number): value is string {
  return typeof value === 'string' && !isBlank(value) && codePointsWithin(value, max) && !/[\p{Cc}\p{Cs}]/u.test(value);
}

function within(limit: Bound, actual: number): void {
  if (actual <= LIMITS[limit]) return;
  throw fail('MODEL_REPLY_TOO_LARGE', `A reply of a model may have at most ${LIMITS[limit]} (${limit}).`, {
    details: { limit, max: LIMITS[limit] },
  });
}

function invalid(reason: string): HoldfastError {
  return fail('MODEL_REPLY_INVALID', `The reply of the model cannot be used: ${reason}.`);
}
