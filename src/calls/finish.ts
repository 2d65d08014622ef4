import { HoldfastError, unixSeconds, utcText } from '../core/index.ts';
import { type LedgerRun, recordObservation, settleNext, settleOperation, stillSeen } from '../effects/index.ts';
import type { PreparedRequest, Receipt, RecordAnswer, ReservedOperation } from '../operations/index.ts';
import { appendEvent, type Principal } from '../sessions/index.ts';
import type { Tx } from '../store/index.ts';
import { receiptOf, type Tool, type ToolReceipt } from '../tools/index.ts';
import type { Finding } from './classify.ts';
import type { CallsContext } from './context.ts';
import { receiptIdsOf } from './identity.ts';
import type { Look } from './observe.ts';
import type { CallOutcome, SettledBy } from './outcome.ts';
import { type ResultOf, resultEvent } from './result-event.ts';
import { settlingCommand, type SettledTool } from './settling-command.ts';

/** A writing call whose tool has been invoked, or asked; everything the second transaction needs. */
export interface Ending {
  readonly principal: Principal;
  readonly statusRef: string;
  readonly request: PreparedRequest;
  readonly tool: Tool;
  readonly input: unknown;
  readonly result: Omit<ResultOf, 'statusRef'>;
  /** The operation as this process reserved it; absent where it is read back from the store. */
  readonly reserved?: ReservedOperation;
  /** The effect that this process claimed; absent where it is read back from the store. */
  readonly effect?: { readonly run: LedgerRun; readonly effectId: string };
  /** Who found it out; null for the tool's own answer. */
  readonly settledBy: SettledBy | null;
  /** How many deliveries there were when it was found out: that nothing happened says nothing of a later one. */
  readonly deliveries: number;
}

export interface Found extends Look {
  readonly finding: Finding;
  readonly verified: boolean;
}

/**
 * The second transaction of a writing call, in the caller's transaction: receipts, outbox, outcome of the effect,
 * observations, and the `result` on the action ledger with its message. Answers the outcome that it wrote, which is
 * the one that anybody may be told. `tell` writes the result: `tellLate` where that comes after the call's own turn.
 */
export async function finish(
  tx: Tx,
  context: CallsContext,
  of: Ending,
  found: Found,
  tell: (...line: Parameters<typeof appendEvent>) => Promise<unknown> = appendEvent,
): Promise<CallOutcome> {
  const outcome = await write(tx, context, of, found);
  await tell(tx, context.sessions, of.principal, resultEvent({ ...of.result, statusRef: of.statusRef }, outcome));
  return outcome;
}

async function write(tx: Tx, context: CallsContext, of: Ending, found: Found): Promise<CallOutcome> {
  const { finding } = found;
  switch (finding.found) {
    case 'done':
      return writeDone(tx, context, of, found, finding);
    case 'not_done':
      return writeNotDone(tx, context, of, finding);
    case 'unknown':
      return writeUnknown(tx, context, of, finding);
  }
}

async function writeDone(
  tx: Tx,
  context: CallsContext,
  of: Ending,
  found: Found,
  finding: Extract<Finding, { found: 'done' }>,
): Promise<CallOutcome> {
  const kept = await keepReceipts(tx, context, of, finding.text);
  if (kept.kind !== 'succeeded') throw new NotRecorded(kept.kind);
  // Whoever came first with the very same receipt has told it, with what was seen of it.
  if (kept.before) throw new NotRecorded('settled');
  const runs = await settleEffects(tx, of, { execution: 'reported_success', impact: 'possible' });
  let { verified } = found;
  for (const run of runs) if (!(await recordSeen(tx, context, of, run, found))) verified = false;
  return { state: 'done', output: finding.output, verified, settledBy: of.settledBy };
}

/** Both receipts, the operation and its outbox row, alone: what is kept when everything else cannot be written. */
export async function recordReceipts(tx: Tx, context: CallsContext, of: Ending, outputText: string): Promise<void> {
  const { kind } = await keepReceipts(tx, context, of, outputText);
  if (kind !== 'succeeded') throw new NotRecorded(kind);
}

/** The same where a verdict may stand already: the receipt is then kept beside it, and the word says so. */
export async function keepReceipts(
  tx: Tx,
  context: CallsContext,
  of: Ending,
  outputText: string,
): Promise<RecordAnswer> {
  const now = unixSeconds(context.clock);
  const receipt = await makeReceipt(tx, context, of, outputText, now);
  const { statusRef, request } = of;
  const reserved = of.reserved ? { reserved: of.reserved } : {};
  const terms = { statusRef, expected: request, checked: receipt, keepChecked: true, now, ...reserved };
  return context.operations.record(tx, terms);
}

/** What stood in the way of an outcome: another receipt, or a receipt or verdict that was recorded first. */
export class NotRecorded extends Error {
  readonly why: 'no_receipt' | 'unchecked' | 'settled';

  constructor(why: 'no_receipt' | 'unchecked' | 'settled') {
    super(`the outcome was not recorded: ${why}`);
    this.why = why;
  }
}

async function makeReceipt(
  tx: Tx,
  context: CallsContext,
  of: Ending,
  outputText: string,
  now: number,
): Promise<Receipt> {
  const told = readReceipt(of, outputText);
  return {
    ...(await idsOf(tx, context, of, told)),
    resultJson: outputText,
    producerRevision: of.request.contract.producer,
    resourceRevision: told.resourceRevision ?? 'not-told',
    observedAt: utcText(told.observedAt ?? now),
  };
}

/**
 * The ids that the tool tells, or our own: also where another operation has one of them, since what a tool that finds
 * things in place tells is the record of whichever call made it. The output stands all the same.
 */
async function idsOf(
  tx: Tx,
  { operations }: CallsContext,
  { request, statusRef }: Ending,
  { receiptId, downstreamRequestId }: ToolReceipt,
): Promise<Pick<Receipt, 'receiptId' | 'downstreamRequestId'>> {
  const own = receiptIdsOf(request.call.operationId, statusRef);
  if (receiptId === undefined && downstreamRequestId === undefined) return own;
  const told = {
    receiptId: receiptId ?? own.receiptId,
    downstreamRequestId: downstreamRequestId ?? own.downstreamRequestId,
  };
  const taken = await operations.takenIds(tx, request.scope, told);
  return {
    receiptId: taken.receiptId ? own.receiptId : told.receiptId,
    downstreamRequestId: taken.downstreamRequestId ? own.downstreamRequestId : told.downstreamRequestId,
  };
}

/** A receipt that cannot be read is left out: the output stands without it. */
function readReceipt(of: Ending, outputText: string): ToolReceipt {
  if (of.tool.receipt === null) return {};
  try {
    return receiptOf(of.tool, JSON.parse(outputText), of.input);
  } catch (error) {
    if (error instanceof HoldfastError) return {};
    throw error;
  }
}

async function writeNotDone(
  tx: Tx,
  context: CallsContext,
  of: Ending,
  finding: Extract<Finding, { found: 'not_done' }>,
): Promise<CallOutcome> {
  const { code, reason } = finding;
  const verdict = {
    verdict: 'not_done',
    source: of.settledBy === 'status_query' ? 'status_query' : 'tool',
    decidedBy: of.tool.name,
    reason,
    decidedAt: unixSeconds(context.clock),
  } as const;
  await context.operations.settle(tx, of.statusRef, of.principal.tenant, verdict, of.deliveries);
  await settleEffects(tx, of, { execution: 'not_executed', impact: 'none' });
  return { state: 'not_done', code, reason, settledBy: of.settledBy };
}

/** That one call does not know takes nothing back of what a receipt or a verdict has said meanwhile. */
async function writeUnknown(
  tx: Tx,
  context: CallsContext,
  of: Ending,
  finding: Extract<Finding, { found: 'unknown' }>,
): Promise<CallOutcome> {
  if (await context.operations.isOver(tx, of.statusRef)) throw new NotRecorded('settled');
  return unknownOutcome(of, finding.code, finding.reason);
}

type EffectEnd =
  | { readonly execution: 'reported_success'; readonly impact: 'possible' }
  | { readonly execution: 'not_executed'; readonly impact: 'none' };

/** Writes how the effect of a call ended: where this process claimed it, else for whatever claimed it. Gives the runs. */
export async function settleEffects(
  tx: Tx,
  of: Pick<Ending, 'principal' | 'statusRef' | 'effect'>,
  end: EffectEnd,
): Promise<readonly LedgerRun[]> {
  const { principal, statusRef, effect } = of;
  if (effect && (await settleNext(tx, effect.run, { ...end, effectId: effect.effectId }))) return [effect.run];
  const runs = await settleOperation(tx, { tenantId: principal.tenant, operationId: statusRef }, end);
  return effect ? [effect.run] : runs;
}

/** Writes down what was seen; false where something of it was left out: another call came between, or it finds no room. */
async function recordSeen(
  tx: Tx,
  context: CallsContext,
  of: Ending,
  run: LedgerRun,
  { seen, since }: Look,
): Promise<boolean> {
  const { ids } = context.sessions;
  const start = since.find((one) => one.run.runId === run.runId);
  const still = start ? await stillSeen(tx, start, seen) : seen;
  let kept = 0;
  for (const one of still) {
    const observation = { ...one, observationId: ids.next(), sourceActionId: of.result.callId };
    if (await isKept(recordObservation(tx, run, observation))) kept += 1;
  }
  return kept === seen.length;
}

/** What was seen and is refused before it is written is no reason to lose what the call did. */
async function isKept(recording: ReturnType<typeof recordObservation>): Promise<boolean> {
  try {
    return (await recording) !== null;
  } catch (error) {
    if (error instanceof HoldfastError && (error.family === 'limit' || error.family === 'validation')) return false;
    throw error;
  }
}

/** `tool`: null where it is not known here. */
export function unknownOutcome(
  { statusRef, tool }: { readonly statusRef: string | null; readonly tool: SettledTool | null },
  code: string,
  reason: string,
): CallOutcome {
  return { state: 'unknown', code, reason, statusRef, resolve: settlingCommand(statusRef, tool) };
}
