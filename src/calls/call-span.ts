import { stopwatch } from '../core/index.ts';
import type { CallsContext } from './context.ts';
import type { CallPlace, PreparedCall } from './model.ts';
import type { CallOutcome } from './outcome.ts';

interface OfCall {
  readonly call: Pick<PreparedCall, 'callId' | 'tool'>;
  readonly place: Pick<CallPlace, 'runId'> | null;
  /** The operation, where it is known before. */
  readonly statusRef?: string;
}

/** Carries a call out as a span named after its tool. Neither its arguments nor its output stand on it. */
export function spanOfCall<T extends { readonly outcome: CallOutcome }>(
  { telemetry }: CallsContext,
  { call: { callId, tool }, place, statusRef }: OfCall,
  body: () => Promise<T>,
): Promise<T> {
  const attributes = {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': tool.name,
    'gen_ai.tool.call.id': callId,
    'gen_ai.tool.type': 'function',
    'holdfast.tool.effect': tool.effect,
    'holdfast.run.id': place?.runId,
    'holdfast.operation.status_ref': statusRef,
  };
  return telemetry.within({ name: `execute_tool ${tool.name}`, kind: 'internal', attributes }, async (span) => {
    const seconds = stopwatch();
    const done = await body();
    const { outcome } = done;
    span.set({ 'holdfast.call.outcome': outcome.state });
    if (outcome.state !== 'done') span.failed(outcome.code);
    const labels = { 'gen_ai.tool.name': tool.name, 'holdfast.call.outcome': outcome.state };
    telemetry.record('holdfast.call.duration', seconds(), labels);
    return done;
  });
}
