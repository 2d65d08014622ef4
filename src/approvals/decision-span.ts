import type { Telemetry } from '../core/index.ts';
import type { PermissionRequest } from './model.ts';

/** Tells of decisions: a span from the request to the decision, with who asked for what, never with arguments. */
export async function tellDecisions(
  telemetry: Telemetry,
  requests: readonly PermissionRequest[],
  now: number,
): Promise<void> {
  for (const { action, status } of requests) {
    const { requestId, createdAt } = action;
    const decision = status.state;
    const attributes = {
      'gen_ai.tool.name': action.tool,
      'gen_ai.tool.call.id': action.toolCallId ?? undefined,
      'gen_ai.conversation.id': action.rootFrameId,
      'holdfast.approval.id': requestId,
      'holdfast.approval.decision': decision,
      'holdfast.run.id': action.runId ?? undefined,
    };
    const start = { name: `approve ${action.tool}`, kind: 'internal', attributes, startedAt: createdAt } as const;
    await telemetry.within(start, async () => undefined);
    const labels = { 'gen_ai.tool.name': action.tool, 'holdfast.approval.decision': decision };
    telemetry.record('holdfast.approval.wait', Math.max(0, now - createdAt) / 1000, labels);
  }
}
