import { type ApprovalBatch, type BatchVerdict, changedFields, decideBatch } from '../../approvals/index.ts';
import {
  asJsonValue,
  canonicalJson,
  checkOptions,
  fail,
  type FieldShapes,
  isJsonObject,
  JSON_PROFILES,
  type JsonObject,
  LIMITS,
  listOption,
  objectOption,
  stringOption,
  wordOption,
} from '../../core/index.ts';
import { acceptArguments, issuesText, type ToolRegistry } from '../../tools/index.ts';
import type { AgentContext } from './driving.ts';

/** What a person says about one call. `editedArguments` is the whole object, not a patch. */
export interface CallDecision {
  readonly toolCallId: string;
  readonly decision: 'approve' | 'reject';
  readonly editedArguments?: JsonObject;
}

const DECISION: FieldShapes = {
  needed: { toolCallId: stringOption, decision: wordOption(['approve', 'reject']) },
  optional: { editedArguments: objectOption },
};

/**
 * Decides calls of a waiting batch: all of what was asked, or nothing. Edits are held against the editable arguments
 * and the tool's schema before anything is stored. Throws `APPROVAL_NOT_FOUND`, `APPROVAL_ALREADY_DECIDED`,
 * `APPROVAL_EDIT_FORBIDDEN`, `APPROVAL_ARGUMENTS_INVALID`, `INVALID_VALUE`.
 */
export async function decideCalls(
  { home, tools, clock }: AgentContext,
  traceId: string,
  batchId: string,
  decisions: readonly CallDecision[],
): Promise<ApprovalBatch> {
  listOption((_name, one) => checkOptions('decide', one, DECISION))('decisions', decisions);
  const shown = requireBatch(await home.batches.get(traceId), batchId);
  if (decisions.length > LIMITS.runDecisions)
    throw fail('INVALID_VALUE', 'These are more decisions than a reply has calls.');
  const verdicts: BatchVerdict[] = [];
  for (const decision of decisions) verdicts.push(await verdictOf(tools, shown, decision));
  return home.batches.change(traceId, (now) => decideBatch(requireBatch(now, batchId), verdicts, clock.nowMs()));
}

/** An earlier batch of the run is no longer there: what it asked was decided. */
function requireBatch(batch: ApprovalBatch | null, batchId: string): ApprovalBatch {
  if (batch === null) throw fail('APPROVAL_NOT_FOUND', 'Nothing of this run waits.');
  if (batch.batchId === batchId) return batch;
  throw fail('APPROVAL_NOT_FOUND', 'These calls are not the ones that wait now.');
}

async function verdictOf(
  tools: ToolRegistry,
  batch: ApprovalBatch,
  { toolCallId, decision, editedArguments }: CallDecision,
): Promise<BatchVerdict> {
  if (editedArguments === undefined) return { toolCallId, decision };
  if (decision === 'reject') throw fail('INVALID_VALUE', 'A call that is rejected has no edited arguments.');
  const call = batch.calls.find((one) => one.toolCallId === toolCallId);
  if (call?.decision !== 'pending') return { toolCallId, decision };
  const edited = asJsonValue(editedArguments, JSON_PROFILES.operations);
  return { toolCallId, decision, arguments: await checkedEdit(tools, call.toolName, call.effectiveArguments, edited) };
}

async function checkedEdit(
  tools: ToolRegistry,
  toolName: string,
  original: ApprovalBatch['calls'][number]['effectiveArguments'],
  edited: ReturnType<typeof asJsonValue>,
) {
  const tool = tools.current(toolName);
  if (tool === undefined || !isJsonObject(original) || !isJsonObject(edited))
    throw fail('APPROVAL_EDIT_FORBIDDEN', 'Only the arguments of a known tool, as an object, can be edited.');
  for (const field of changedFields(original, edited))
    if (!tool.editable.includes(field))
      throw fail('APPROVAL_EDIT_FORBIDDEN', 'The edit changes an argument that an approver may not change.', {
        details: { field },
      });
  const accepted = await acceptArguments(tool, canonicalJson(edited));
  if (accepted.ok) return accepted.value;
  throw fail(
    'APPROVAL_ARGUMENTS_INVALID',
    `The edited arguments do not match the schema: ${issuesText(accepted.issues)}`,
  );
}
