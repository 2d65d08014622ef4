import type { JsonValue } from '../core/index.ts';
import type { OperationsContext } from './context.ts';
import { isStatusRef } from './digests.ts';
import { type Delivery, type ResultEnvelope, successEnvelope } from './envelope.ts';
import { readStoredJson, recordBroken, requireEvidence } from './evidence.ts';
import type { OperationTool, Receipt, StoredReceipt } from './model.ts';
import { outputFindings } from './output-rules.ts';
import type { PreparedRequest } from './request.ts';
import { readRow, type WholeOperation, wholeOf } from './rows.ts';

/** What can be no reference is looked for as well, by the empty one: no step tells it from one that is another's. */
export const lookedFor = (statusRef: string): string => (isStatusRef(statusRef) ? statusRef : '');

/** Everything stored about one operation, or undefined; with a tenant, of that one alone. */
export async function readWhole(
  context: OperationsContext,
  statusRef: string,
  tenant?: string,
): Promise<WholeOperation | undefined> {
  const asked = lookedFor(statusRef);
  const { whole, wholeOfTenant } = context.queries;
  const row = await context.store.read('operations.read', (tx) =>
    tenant === undefined ? readRow(tx, whole, [asked]) : readRow(tx, wholeOfTenant, [asked, tenant]),
  );
  return row && wholeOf(row);
}

/** The output of a receipt, once the tool's rules have passed it; else OPERATION_RECORD_BROKEN. */
export async function checkedOutput(
  tool: OperationTool,
  input: PreparedRequest['call']['arguments'],
  receipt: Receipt,
  what: string,
): Promise<JsonValue> {
  const data = readStoredJson(receipt.resultJson, what);
  const findings = await outputFindings(tool, input, { ...receipt, data });
  if (findings.length > 0) throw recordBroken(`${what} breaks the output rules: ${findings[0]}`);
  return data;
}

function requireLocalReceipt(local: StoredReceipt | null, request: PreparedRequest): StoredReceipt {
  if (!local) throw recordBroken('it succeeded without a local receipt');
  if (local.requestSha256 !== request.requestSha256 || local.effectRevision !== request.contract.effect)
    throw recordBroken('its local receipt is for another request');
  return local;
}

/** The answer of a finished operation, from its stored evidence and local receipt, both checked again. */
export async function answerSucceeded(
  context: OperationsContext,
  request: PreparedRequest,
  statusRef: string,
  delivery: Delivery,
  known?: WholeOperation,
): Promise<ResultEnvelope> {
  const whole = known ?? (await readWhole(context, statusRef));
  if (!whole) throw recordBroken('it is gone');
  requireEvidence(whole.operation, request, context);
  if (whole.operation.state !== 'succeeded') throw recordBroken('it is not finished');
  const receipt = requireLocalReceipt(whole.local, request);
  const data = await checkedOutput(request.tool, request.call.arguments, receipt, 'the local result');
  const found = { data, receipt, statusRef, delivery };
  return successEnvelope(request.principal, request.call, request.tool, request.requestSha256, found);
}
