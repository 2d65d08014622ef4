import {
  canonicalJson,
  isJsonObject,
  JSON_PROFILES,
  type JsonObject,
  type JsonValue,
  readCanonicalJson,
} from '../core/index.ts';
import type { NewEvent, ResultPaths } from '../sessions/index.ts';
import type { CallOutcome, SettledBy } from './outcome.ts';
import { isPlainText, outcomeDocument, outcomeForModel } from './outcome-rendering.ts';

/** The call that a result is about. */
export interface ResultOf {
  readonly groupId: string;
  /** The run that made the call, where the teller knows it. */
  readonly runId: string | null;
  readonly callId: string;
  readonly sideEffectClass: string;
  readonly resourceKeys: readonly string[];
  readonly statusRef: string | null;
  /** How often the tool was invoked again before this result. */
  readonly retries?: number;
}

/**
 * The `result` event of an outcome: what the model and people are shown is its `content`, the outcome itself stands
 * beside it. An unknown outcome is neither an error nor a success. `output_committed` says whether an effect stands.
 */
export function resultEvent(of: ResultOf, outcome: CallOutcome): NewEvent {
  return {
    groupId: of.groupId,
    type: 'result',
    actionId: of.callId,
    toolCallId: of.callId,
    sideEffectClass: of.sideEffectClass,
    resourceKeys: of.resourceKeys,
    result: resultDocument(outcome, of),
  };
}

function resultDocument(outcome: CallOutcome, of: ResultOf): JsonObject {
  const { output: _output, ...document } = outcomeDocument(outcome);
  return {
    content: outcomeForModel(outcome),
    outcome: document,
    status_ref: of.statusRef,
    ...(of.retries ? { retries: of.retries } : {}),
    ...statusOf(outcome, of.sideEffectClass !== 'read'),
  };
}

function statusOf(outcome: CallOutcome, writes: boolean): JsonObject {
  switch (outcome.state) {
    case 'done':
      return {
        is_error: false,
        status: 'ok',
        ...(outcome.settledBy === 'person' ? { has_output: false } : {}),
        is_text: isPlainText(outcome.output),
        ...(writes ? { output_committed: true } : {}),
      };
    case 'not_started':
      return { is_error: true, status: 'denied', output_committed: false };
    case 'not_done':
      return { is_error: true, status: 'failed', output_committed: false };
    case 'failed':
      return { is_error: true, status: 'failed' };
    case 'unknown':
      return { status: 'unknown' };
  }
}

/** Where such a result says how its call stands. */
export const RESULT_PATHS: ResultPaths = { outcome: '$.outcome.outcome', verified: '$.outcome.verified' };

/** The outcome that a stored `result` event says; null where the event is not one of ours. */
export function outcomeOfResult(result: JsonValue): CallOutcome | null {
  if (!isJsonObject(result) || !isJsonObject(result['outcome'])) return null;
  const said = result['outcome'];
  const text = (name: string): string => (typeof said[name] === 'string' ? said[name] : '');
  const settledBy = said['settled_by'] === null ? null : (text('settled_by') as SettledBy);
  const code = text('code');
  const reason = text('reason');
  switch (text('outcome')) {
    case 'done':
      return { state: 'done', output: outputOf(result), verified: said['verified'] === true, settledBy };
    case 'not_started':
      return { state: 'not_started', code, reason, resolve: text('resolve') };
    case 'not_done':
      return { state: 'not_done', code, reason, settledBy };
    case 'failed':
      return { state: 'failed', code, reason };
    case 'unknown':
      return { state: 'unknown', code, reason, statusRef: text('status_ref') || null, resolve: text('resolve') };
    default:
      return null;
  }
}

function outputOf(result: JsonObject): JsonValue {
  if (result['has_output'] === false) return null;
  const content = typeof result['content'] === 'string' ? result['content'] : canonicalJson(result['content'] ?? null);
  return result['is_text'] === true ? content : readCanonicalJson(content, JSON_PROFILES.packages);
}
