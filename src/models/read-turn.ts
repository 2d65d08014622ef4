import {
  asJsonValue,
  codePointsWithin,
  deadline,
  fail,
  type HoldfastError,
  HoldfastError as OurError,
  isBlank,
  isJsonObject,
  JSON_PROFILES,
  type JsonProfile,
  LIMITS,
} from '../core/index.ts';
import {
  FINISH_REASONS,
  type FinishReason,
  type Model,
  type ModelDelta,
  type ModelEvent,
  type ModelReasoning,
  type ModelReply,
  type ModelRequest,
  type ModelUsage,
  type ProposedCall,
  type ProviderMetadata,
  type ReplyPart,
} from './model.ts';
import { PartsReader } from './parts-reader.ts';
import { untilAborted } from './until-aborted.ts';

export interface ReadTurnOptions {
  /** Default and most: 15 minutes. */
  readonly timeoutMs?: number;
  /** Sees each event as it comes, for showing; what it throws ends the turn. */
  readonly onEvent?: (event: ModelEvent) => void;
}

/**
 * Asks a model for one turn and reads it to its end, counting before keeping: calls, arguments, text, metadata, parts,
 * events, time. Throws `MODEL_REPLY_TOO_LARGE` (with the bound's name), `MODEL_REPLY_INVALID` (no finish, a call without
 * an id, one id twice, a cut before the last call's arguments, text or metadata that cannot be kept), `MODEL_FAILED`, or `MODEL_STOPPED` when the signal or the
 * time-out ended it. Arguments are not read here: malformed ones and unknown tools are answered to the model, call by
 * call.
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

type Bound =
  | 'modelReplyCodeUnits'
  | 'modelArgumentsCodeUnits'
  | 'modelCallsInReply'
  | 'modelPartsInReply'
  | 'modelEventsInReply'
  | 'modelMetadataBytes';

class TurnReader {
  readonly #parts = new PartsReader();
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
      case 'reasoning':
        this.#delta(event);
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

  #delta(event: ModelDelta): void {
    const { providerMetadata, ...said } = event;
    this.#spend(lengthOf(event.text));
    if (!this.#parts.take({ ...said, ...this.#metadata(providerMetadata) }))
      throw invalid('a part of it is both text and reasoning');
    within('modelPartsInReply', this.#parts.count);
  }

  #metadata(given: unknown): { readonly providerMetadata?: ProviderMetadata } {
    const read = readMetadata(given);
    if (read === null) return {};
    this.#spend(read.size);
    return { providerMetadata: read.metadata };
  }

  #call(given: ProposedCall): void {
    const { providerMetadata, ...call } = given;
    within('modelCallsInReply', this.#calls.size + 1);
    const units = lengthOf(call.argumentsText);
    within('modelArgumentsCodeUnits', units);
    this.#spend(units);
    if (!isName(call.callId, LIMITS.modelCallIdCodePoints)) throw invalid('a call has no usable id');
    if (!isName(call.toolName, LIMITS.modelToolNameCodePoints)) throw invalid('a call has no usable tool name');
    if (this.#calls.has(call.callId)) throw invalid('two calls have the same id');
    this.#calls.set(call.callId, { ...call, ...this.#metadata(providerMetadata) });
    this.#parts.call(call.callId);
    within('modelPartsInReply', this.#parts.count);
  }

  #spend(units: number): void {
    this.#units += units;
    within('modelReplyCodeUnits', this.#units);
  }

  /** Arguments that were cut are no JSON, and told to the model; those that had not begun would read as none at all. */
  #isCutInCall(reason: FinishReason, last: ReplyPart | undefined): boolean {
    if (!CUT.has(reason) || last?.type !== 'call') return false;
    return hasNoArguments(this.#calls.get(last.callId)?.argumentsText ?? '');
  }

  reply(): ModelReply {
    if (this.#finish === null) throw invalid('it ended early');
    const { parts } = this.#parts;
    if (this.#isCutInCall(this.#finish.reason, parts.at(-1)))
      throw invalid('it was cut before the arguments of its last call');
    // Whole texts: a stream may cut between the halves of a pair.
    const said = parts.filter((part) => part.type !== 'call');
    for (const { text } of said)
      if (!text.isWellFormed() || text.includes('\0')) throw invalid('its text has NUL or a lone surrogate');
    return {
      text: said.map((part) => (part.type === 'text' ? part.text : '')).join(''),
      reasoning: said.filter(({ type }) => type === 'reasoning').map(reasoningOf),
      calls: [...this.#calls.values()],
      parts,
      finishReason: this.#finish.reason,
      usage: this.#finish.usage,
    };
  }
}

const CUT: ReadonlySet<FinishReason> = new Set<FinishReason>(['length', 'content_filter']);

/** Blank text counts as an empty object where a call is read; some providers write the object themselves. */
function hasNoArguments(text: string): boolean {
  const said = text.trim();
  return said === '' || (said.startsWith('{') && said.slice(1).trim() === '}');
}

const reasoningOf = ({ text, providerMetadata }: ModelReasoning): ModelReasoning =>
  providerMetadata === undefined ? { text } : { text, providerMetadata };

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

/** Deep enough for whatever a provider says of a part, and for the record that it is kept in. */
const METADATA: JsonProfile = { ...JSON_PROFILES.transcript, name: 'provider metadata', depth: 32, integers: 'safe' };

/** The metadata as it can be kept, and its size in bytes; null for none. A member that is undefined is none. */
function readMetadata(given: unknown): { readonly metadata: ProviderMetadata; readonly size: number } | null {
  if (given === undefined || given === null) return null;
  try {
    const text = JSON.stringify(given);
    const size = Buffer.byteLength(text);
    if (size > LIMITS.modelMetadataBytes) throw tooLarge('modelMetadataBytes');
    const metadata = asJsonValue(JSON.parse(text), METADATA);
    if (isJsonObject(metadata)) return { metadata, size };
  } catch (cause) {
    if (cause instanceof OurError && cause.code === 'MODEL_REPLY_TOO_LARGE') throw cause;
  }
  throw invalid('its metadata is no JSON object that can be kept');
}

function isName(value: unknown, max: number): value is string {
  return typeof value === 'string' && !isBlank(value) && codePointsWithin(value, max) && !/[\p{Cc}\p{Cs}]/u.test(value);
}

function within(limit: Bound, actual: number): void {
  if (actual > LIMITS[limit]) throw tooLarge(limit);
}

function tooLarge(limit: Bound): HoldfastError {
  return fail('MODEL_REPLY_TOO_LARGE', `A reply of a model may have at most ${LIMITS[limit]} (${limit}).`, {
    details: { limit, max: LIMITS[limit] },
  });
}

function invalid(reason: string): HoldfastError {
  return fail('MODEL_REPLY_INVALID', `The reply of the model cannot be used: ${reason}.`);
}
