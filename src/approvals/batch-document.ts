import {
  canonicalJson,
  fail,
  isJsonObject,
  JSON_PROFILES,
  type JsonObject,
  type JsonValue,
  readStrictJson,
} from '../core/index.ts';
import type { ApprovalBatch, BatchCall, BatchDecision, BatchExecution, BatchStatus } from './batch.ts';
import { argumentsSha256, callArgumentHash } from './digests.ts';

/**
 * Where a run's batch lies when it does not lie in the database: one document per run. Implemented by the trace stores.
 * `replace` puts the whole document and does not police transitions; `get` proves it, see `readBatchDocument`.
 */
export interface BatchHome {
  get(traceId: string): Promise<ApprovalBatch | null>;
  replace(traceId: string, batch: ApprovalBatch): Promise<void>;
}

const STATUSES: readonly string[] = ['pending', 'decided', 'executing', 'completed', 'cancelled', 'execution_unknown'];
const DECISIONS: readonly string[] = ['pending', 'approved', 'rejected', 'cancelled', 'not_required'];
const EXECUTIONS: readonly string[] = ['not_started', 'executing', 'executed', 'rejected', 'execution_unknown'];

const hashOf = (call: Pick<BatchCall, 'toolCallId' | 'toolName' | 'effectiveArguments'>): string =>
  callArgumentHash(call.toolCallId, call.toolName, argumentsSha256(canonicalJson(call.effectiveArguments)));

/** Time as the contracts write it: ISO text without a zone, in UTC. */
const timeText = (ms: number): string => new Date(ms).toISOString().slice(0, -1);

function timeOf(value: JsonValue | undefined): number {
  const ms = typeof value === 'string' && !value.endsWith('Z') ? Date.parse(`${value}Z`) : Number.NaN;
  if (Number.isNaN(ms)) throw damaged('a time');
  return ms;
}

function damaged(what: string): Error {
  return fail('APPROVAL_CORRUPT', `The stored approval batch is damaged: ${what}.`);
}

/** The document with the contracts' names. Each call carries the hash of its arguments as they are now. */
export function batchDocument(batch: ApprovalBatch): JsonObject {
  return {
    batch_id: batch.batchId,
    status: batch.status,
    updated_at: timeText(batch.updatedAt),
    calls: batch.calls.map((call) => ({
      tool_call_id: call.toolCallId,
      tool_name: call.toolName,
      effective_arguments: call.effectiveArguments,
      argument_hash: hashOf(call),
      decision: call.decision,
      execution_status: call.executionStatus,
      decided_at: call.decidedAt === null ? null : timeText(call.decidedAt),
      reason: call.reason,
    })),
  };
}

/**
 * Reads a stored batch and proves it: its shape, its words, and every call's hash against the arguments that would be
 * executed. APPROVAL_CORRUPT for anything that does not fit, text that is no JSON included.
 */
export function readBatchDocument(text: string): ApprovalBatch {
  const value = parsed(text);
  if (!isJsonObject(value)) throw damaged('it is not an object');
  const calls = value['calls'];
  if (!Array.isArray(calls) || calls.length === 0) throw damaged('its calls');
  return {
    batchId: textOf(value['batch_id'], 'its id'),
    status: wordOf(value['status'], STATUSES, 'its status') as BatchStatus,
    updatedAt: timeOf(value['updated_at']),
    calls: calls.map(callOf),
  };
}

function parsed(text: string): JsonValue {
  try {
    return readStrictJson(text, JSON_PROFILES.transcript);
  } catch (cause) {
    throw fail('APPROVAL_CORRUPT', 'The stored approval batch is damaged: it is not JSON.', { cause });
  }
}

function callOf(value: JsonValue): BatchCall {
  if (!isJsonObject(value)) throw damaged('a call');
  const decidedAt = value['decided_at'] ?? null;
  const reason = value['reason'] ?? null;
  const call: BatchCall = {
    toolCallId: textOf(value['tool_call_id'], 'a call id'),
    toolName: textOf(value['tool_name'], 'a tool name'),
    effectiveArguments: value['effective_arguments'] ?? null,
    decision: wordOf(value['decision'], DECISIONS, 'a decision') as BatchDecision,
    executionStatus: wordOf(value['execution_status'], EXECUTIONS, 'an execution status') as BatchExecution,
    decidedAt: decidedAt === null ? null : timeOf(decidedAt),
    reason: reason === null ? null : textOf(reason, 'a reason'),
  };
  if (hashOf(call) !== value['argument_hash']) throw damaged('the arguments of a call were changed');
  return call;
}

function textOf(value: JsonValue | undefined, what: string): string {
  if (typeof value === 'string' && value !== '') return value;
  throw damaged(what);
}

function wordOf(value: JsonValue | undefined, words: readonly string[], what: string): string {
  if (typeof value === 'string' && words.includes(value)) return value;
  throw damaged(what);
}
