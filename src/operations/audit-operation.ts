import { HoldfastError, type JsonObject } from '../core/index.ts';
import { mayApprove } from './approval.ts';
import type { OperationsContext } from './context.ts';
import { evidenceFinding, readStoredJson, readStoredObject } from './evidence.ts';
import { payloadFinding } from './lease.ts';
import type { Awaitable, OperationTool } from './model.ts';
import { outputFindings } from './output-rules.ts';
import { downstreamFinding } from './record.ts';
import { expectedOfRow } from './request.ts';
import { sameReceipt, type WholeOperation } from './rows.ts';
import { pairFinding, recordFinding } from './stored-proof.ts';
import { toolAsItWas } from './stored-work.ts';

/** A finding, or a function that goes on where the next check has to wait for a tool's rules. */
type Finding = string | null;

function named(whole: WholeOperation, finding: Finding): Finding {
  return finding === null ? null : `operation ${whole.operation.statusRef}: ${finding}`;
}

/** What reading a broken stored text says, instead of throwing it. */
function reported(check: () => Finding): Finding {
  try {
    return check();
  } catch (error) {
    if (error instanceof HoldfastError) return error.message;
    throw error;
  }
}

/** Everything up to the tool's own output rules. */
function storedFinding(
  context: OperationsContext,
  whole: WholeOperation,
  tool: OperationTool,
  input: JsonObject,
): Finding {
  const { operation, outbox, downstream } = whole;
  const expected = expectedOfRow(operation.scope, tool, input);
  const evidence = evidenceFinding(operation, expected, context);
  if (evidence !== null) return evidence;
  if (outbox === null) return 'it has no outbox row';
  const payload = payloadFinding(outbox, operation);
  if (payload !== null) return payload;
  const pair = pairFinding(whole);
  if (pair !== null || downstream === null) return pair;
  return downstreamFinding(downstream, expected);
}

function receiptFinding({ downstream, local }: WholeOperation): Finding {
  if (local === null) return null;
  if (downstream === null) return 'its local receipt has no downstream receipt';
  return sameReceipt(local, downstream) ? null : 'its local receipt differs from the downstream one';
}

function outputFinding(whole: WholeOperation, tool: OperationTool, input: JsonObject): Awaitable<Finding> {
  const { downstream } = whole;
  if (downstream === null) return receiptFinding(whole);
  const data = readStoredJson(downstream.resultJson, 'the downstream result');
  const conclude = (findings: readonly string[]): Finding =>
    findings.length > 0 ? `the downstream result breaks the output rules: ${findings[0]}` : receiptFinding(whole);
  try {
    const found = outputFindings(tool, input, { ...downstream, data });
    return found instanceof Promise ? found.then(conclude, () => UNJUDGED) : conclude(found);
  } catch {
    return UNJUDGED;
  }
}

/** Its rules were written for what the tool gives, and this may be what somebody else wrote. */
const UNJUDGED = "the tool's output rules failed on the downstream result";

/** The tool of exactly the revisions that an operation was made under. A stored name may be one that no tool can have. */
export function toolThenOf(context: OperationsContext, { operation }: WholeOperation): OperationTool | undefined {
  try {
    return toolAsItWas(context, operation);
  } catch (error) {
    if (error instanceof HoldfastError) return undefined;
    throw error;
  }
}

/** What its own records say against each other; who approved is known, and what the tool asks of a result is not. */
function ownRecordFinding({ isApprover }: OperationsContext, whole: WholeOperation): Finding {
  const { operation, outbox } = whole;
  const { approverId, approvedAt, statusRef } = operation;
  if (!mayApprove(isApprover, approverId, approvedAt)) return 'the approver of its approval is not authorised';
  return recordFinding(whole, statusRef) ?? (outbox && payloadFinding(outbox, operation)) ?? receiptFinding(whole);
}

/**
 * The first thing about one stored operation that does not fit, or null. A promise where the tool's output rules need
 * one. The operation is judged by its tool as it was then; where the registry has that no more, by its own records if tools
 * come and go here, else by the tool as it is now.
 */
export function operationFinding(
  context: OperationsContext,
  whole: WholeOperation,
  toolThen: OperationTool | undefined,
): Awaitable<Finding> {
  const pending: Promise<Finding>[] = [];
  const finding = reported(() => {
    if (!toolThen && context.toolsComeAndGo) return ownRecordFinding(context, whole);
    const input = readStoredObject(whole.operation.argumentsJson, 'the stored arguments');
    const tool = toolThen ?? context.tools.current(whole.operation.scope.tool);
    if (!tool) return 'its tool is not registered';
    const stored = storedFinding(context, whole, tool, input);
    if (stored !== null) return stored;
    const output = outputFinding(whole, tool, input);
    if (!(output instanceof Promise)) return output;
    pending.push(output);
    return null;
  });
  const [later] = pending;
  return later ? later.then((text) => named(whole, text)) : named(whole, finding);
}
