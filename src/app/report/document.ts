import { outcomeDocument } from '../../calls/index.ts';
import type { JsonObject } from '../../core/index.ts';
import { supervisionDocument } from '../run-view.ts';
import { partOf, type Report, type ReportedCall, type ReportedRequest, type ReportedRun } from './model.ts';

/** The report as a document: what `--json` prints. Times are epoch milliseconds. */
export function reportDocument(report: Report): JsonObject {
  const { counts } = report;
  return {
    format: 'holdfast-report',
    version: 1,
    made_at: report.madeAt,
    since: report.since,
    whole: report.whole,
    counts: {
      runs: counts.runs,
      calls: counts.calls,
      verified: counts.verified,
      reported: counts.reported,
      unknown: counts.unknown,
      refused: counts.refused,
      open: counts.open,
      waiting: counts.waiting,
      turns: counts.turns,
      tokens: { ...counts.tokens },
      cost_micros: counts.costMicros,
    },
    runs: report.runs.map(runDocument),
    calls: report.calls.map(callDocument),
    waiting: report.waiting.map(requestDocument),
  };
}

const runDocument = (run: ReportedRun): JsonObject => ({
  run_id: run.runId,
  session_id: run.sessionId,
  agent: run.agent,
  task: run.task,
  status: run.status,
  outcome: run.outcome,
  reason: run.reason,
  parent_run_id: run.parentRunId,
  supervision: run.supervision && supervisionDocument(run.supervision),
  turns: run.turns,
  tokens: { ...run.tokens },
  cost_micros: run.costMicros,
  created_at: run.createdAt,
  updated_at: run.updatedAt,
  resolve: run.resolve,
});

/** What a call gave back is not told here: `runs show` has it. */
function callDocument(call: ReportedCall): JsonObject {
  const { output: _output, ...outcome } = call.outcome ? outcomeDocument(call.outcome) : { outcome: null };
  return {
    run_id: call.runId,
    call_id: call.callId,
    tool: call.tool,
    arguments: call.argumentsText,
    part: partOf(call),
    status_ref: call.statusRef,
    ...outcome,
  };
}

const requestDocument = (request: ReportedRequest): JsonObject => ({
  request_id: request.requestId,
  digest: request.digest,
  session_id: request.sessionId,
  tool: request.tool,
  arguments: request.argumentsText,
  reason: request.reason,
  expires_at: request.expiresAt,
  advice: request.advice && { ...request.advice },
  resolve: request.resolve,
});
