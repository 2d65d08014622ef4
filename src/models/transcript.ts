import {
  canonicalJson,
  fail,
  type HoldfastError,
  HoldfastError as OurError,
  isJsonObject,
  JSON_PROFILES,
  type JsonObject,
  type JsonValue,
  LIMITS,
  readStrictJson,
} from '../core/index.ts';
import { FINISH_REASONS, type FinishReason, type ModelUsage, type ProposedCall } from './model.ts';

/** What a turn must have been asked for its recorded reply to be played. What is not said is not compared. */
export interface TurnExpectation {
  readonly messages?: number;
  readonly lastRole?: 'system' | 'user' | 'assistant' | 'tool';
  /** A text that the last message must contain. */
  readonly lastText?: string;
  /** The names of all tools offered, in any order. */
  readonly tools?: readonly string[];
}

export interface TranscriptTurn {
  readonly expect: TurnExpectation;
  readonly text: string;
  readonly calls: readonly ProposedCall[];
  readonly finishReason: FinishReason;
  readonly usage: ModelUsage;
}

/** A recorded session of a model: its turns in order. */
export interface Transcript {
  readonly model: string;
  readonly turns: readonly TranscriptTurn[];
}

const FORMAT = 'holdfast-transcript';
const VERSION = 1;
const ROLES = ['system', 'user', 'assistant', 'tool'] as const;

/**
 * Reads a transcript text. Every field is known, of its type and in its bounds, or `TRANSCRIPT_INVALID` names its
 * place. `docs/models.md` shows the format.
 */
export function parseTranscript(text: string | Uint8Array): Transcript {
  let document: JsonValue;
  try {
    document = readStrictJson(text, JSON_PROFILES.transcript);
  } catch (cause) {
    if (!(cause instanceof OurError)) throw cause;
    throw fail('TRANSCRIPT_INVALID', `The transcript cannot be read: ${cause.message}`, { cause });
  }
  const root = members(document, 'transcript', ['format', 'version', 'model', 'turns']);
  if (root['format'] !== FORMAT) throw invalid('format', `must be '${FORMAT}'`);
  if (root['version'] !== VERSION) throw invalid('version', `must be ${VERSION}`);
  const turns = list(root['turns'], 'turns');
  if (turns.length > LIMITS.transcriptTurns) throw invalid('turns', `has more than ${LIMITS.transcriptTurns} turns`);
  return { model: textAt(root['model'], 'model'), turns: turns.map((turn, i) => readTurn(turn, `turns/${i}`)) };
}

function readTurn(value: JsonValue, at: string): TranscriptTurn {
  const turn = members(value, at, [], ['expect', 'text', 'tool_calls', 'finish_reason', 'usage']);
  const calls = turn['tool_calls'] === undefined ? [] : list(turn['tool_calls'], `${at}/tool_calls`);
  const reason = turn['finish_reason'] ?? (calls.length > 0 ? 'tool_calls' : 'stop');
  return {
    expect: turn['expect'] === undefined ? {} : readExpectation(turn['expect'], `${at}/expect`),
    text: turn['text'] === undefined ? '' : textAt(turn['text'], `${at}/text`),
    calls: calls.map((call, i) => readCall(call, `${at}/tool_calls/${i}`)),
    finishReason: oneOf(FINISH_REASONS, reason, `${at}/finish_reason`),
    usage: readUsage(turn['usage'], `${at}/usage`),
  };
}

function readExpectation(value: JsonValue, at: string): TurnExpectation {
  const expect = members(value, at, [], ['messages', 'last_role', 'last_text', 'tools']);
  return {
    ...(expect['messages'] === undefined ? {} : { messages: count(expect['messages'], `${at}/messages`) }),
    ...(expect['last_role'] === undefined ? {} : { lastRole: oneOf(ROLES, expect['last_role'], `${at}/last_role`) }),
    ...(expect['last_text'] === undefined ? {} : { lastText: textAt(expect['last_text'], `${at}/last_text`) }),
    ...(expect['tools'] === undefined
      ? {}
      : { tools: list(expect['tools'], `${at}/tools`).map((name, i) => textAt(name, `${at}/tools/${i}`)) }),
  };
}

/** Arguments are the raw text that the model wrote, or, for people who write transcripts, an object. */
function readCall(value: JsonValue, at: string): ProposedCall {
  const call = members(value, at, ['id', 'name', 'arguments']);
  const given = call['arguments'];
  if (typeof given !== 'string' && !isJsonObject(given)) throw invalid(`${at}/arguments`, 'must be text or an object');
  return {
    callId: textAt(call['id'], `${at}/id`),
    toolName: textAt(call['name'], `${at}/name`),
    argumentsText: typeof given === 'string' ? given : canonicalJson(given),
  };
}

function readUsage(value: JsonValue | undefined, at: string): ModelUsage {
  if (value === undefined) return { inputTokens: null, outputTokens: null };
  const usage = members(value, at, ['input_tokens', 'output_tokens']);
  return {
    inputTokens: count(usage['input_tokens'], `${at}/input_tokens`),
    outputTokens: count(usage['output_tokens'], `${at}/output_tokens`),
  };
}

function members(
  value: JsonValue | undefined,
  at: string,
  needed: readonly string[],
  optional: readonly string[] = [],
): JsonObject {
  if (!isJsonObject(value)) throw invalid(at, 'must be an object');
  for (const name of needed) if (!Object.hasOwn(value, name)) throw invalid(`${at}/${name}`, 'is missing');
  for (const name of Object.keys(value))
    if (!needed.includes(name) && !optional.includes(name)) throw invalid(`${at}/${name.slice(0, 64)}`, 'is not known');
  return value;
}

function list(value: JsonValue | undefined, at: string): readonly JsonValue[] {
  if (!Array.isArray(value)) throw invalid(at, 'must be a list');
  return value;
}

function textAt(value: JsonValue | undefined, at: string): string {
  if (typeof value !== 'string') throw invalid(at, 'must be text');
  return value;
}

function count(value: JsonValue | undefined, at: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
    throw invalid(at, 'must be a whole number');
  return value;
}

function oneOf<T extends string>(words: readonly T[], value: JsonValue, at: string): T {
  const word = words.find((known) => known === value);
  if (word === undefined) throw invalid(at, `must be one of ${words.join(', ')}`);
  return word;
}

function invalid(at: string, rule: string): HoldfastError {
  return fail('TRANSCRIPT_INVALID', `In the transcript, ${at} ${rule}.`, { details: { place: at.slice(0, 200) } });
}
