import type { JsonObject } from '../core/index.ts';
import type { OperationsContext } from './context.ts';
import { effectIdentity } from './digests.ts';
import type { LookupRequest } from './downstream.ts';
import { type ExpectedRequest, readStoredObject, recordBroken, sameRevisions } from './evidence.ts';
import type { OperationRecord, OperationTool, Principal, Receipt } from './model.ts';
import { record } from './record.ts';
import { expectedOfRow } from './request.ts';
import { checkedOutput } from './results.ts';

/** The tool that a stored operation was made for: as registered now, or a retired one of exactly its revisions. */
export function toolOfRecord(context: OperationsContext, row: OperationRecord): OperationTool | undefined {
  return toolAsItWas(context, row) ?? context.tools.current(row.scope.tool);
}

/** The tool of exactly the revisions that an operation was made under; undefined where the registry has it no more. */
export function toolAsItWas(context: OperationsContext, row: OperationRecord): OperationTool | undefined {
  const current = context.tools.current(row.scope.tool);
  if (current && sameRevisions(current.contract, row.revisions)) return current;
  return context.tools.retired?.(row.scope.tool, row.revisions);
}

/** A stored operation made ready to be carried out, or asked about. */
export interface StoredWork {
  readonly row: OperationRecord;
  readonly tool: OperationTool;
  readonly input: JsonObject;
  readonly expected: ExpectedRequest;
}

export async function readWork(context: OperationsContext, row: OperationRecord): Promise<StoredWork> {
  const tool = toolOfRecord(context, row);
  if (!tool || tool.effect === 'read') throw recordBroken('its tool is not registered');
  const input = readStoredObject(row.argumentsJson, 'the stored arguments');
  if ((await tool.checkArguments(input)).length > 0) throw recordBroken('its arguments break the input rules');
  return { row, tool, input, expected: expectedOfRow(row.scope, tool, input) };
}

/** What the other side is told of an operation, whether it is asked about it or is to carry it out. */
export function requestOf(
  { row, tool, input, expected }: StoredWork,
  principal: Principal,
  now: number,
): Omit<LookupRequest, 'signal'> {
  const { scope, statusRef } = row;
  const { requestSha256 } = expected;
  const { contract } = tool;
  const identity = effectIdentity(scope, requestSha256);
  return { scope, statusRef, contract, tool, principal, input, requestSha256, effectIdentity: identity, now };
}

/**
 * Records a receipt whose output has passed the tool's rules, in one transaction. Where another receipt is kept already,
 * that one is checked instead; a receipt that breaks the rules is OPERATION_RECORD_BROKEN and changes nothing.
 */
export async function recordReceipt(
  context: OperationsContext,
  work: StoredWork,
  receipt: Receipt | null,
  keepChecked: boolean,
  now: number,
): Promise<'succeeded' | 'no_receipt' | 'settled'> {
  let checked = receipt;
  for (;;) {
    if (checked) await checkedOutput(work.tool, work.input, checked, 'the downstream result');
    const terms = { statusRef: work.row.statusRef, expected: work.expected, checked, keepChecked, now };
    const answer = await context.store.write('operations.record', (tx) => record(tx, context, terms));
    if (answer.kind !== 'unchecked') return answer.kind;
    checked = answer.receipt;
  }
}
