import { fail, LIMITS, requireWithin } from '../../core/index.ts';
import type { PrincipalRef, ReadTx, Row } from '../../store/index.ts';
import { assess, assessAll, assessAtCompletion, unresolvedImpact } from '../assess.ts';
import { assessmentDocument } from '../codec.ts';
import { indexHistory } from '../history.ts';
import type { Assessment, EffectClaim, Execution, Impact } from '../model.ts';
import { type EffectsSummary, summarize } from '../summary.ts';
import { checkRunId } from '../validity.ts';
import { readHistory } from './ledger.ts';
import { CLAIM_IS_THERE, PAGE_OF_CLAIMS, PAGE_OF_CLAIMS_OF_RUN } from './queries.ts';
import { recordOf } from './rows.ts';

/** One claim as a list shows it: what was claimed and what was reported, without judging it. */
export interface EffectEntry {
  readonly runId: string;
  readonly effectId: string;
  readonly actionId: string;
  readonly tool: string;
  readonly operationId: string | null;
  readonly execution: Execution;
  readonly impact: Impact | null;
}

export interface EffectPage {
  readonly effects: readonly EffectEntry[];
  /** Give it as `before` to get the next page; absent on the last. */
  readonly next?: { readonly runId: string; readonly effectId: string };
}

export interface EffectPageOptions {
  readonly runId?: string;
  readonly before?: { readonly runId: string; readonly effectId: string };
  /** At most, and unless told, `LIMITS.effectPage`. */
  readonly limit?: number;
}

/** One claim, judged twice: as it was at completion, and as it is now. */
export interface EffectVerification {
  readonly claim: EffectClaim;
  readonly atCompletion: Assessment;
  readonly now: Assessment;
  readonly unresolvedImpact: boolean;
}

export interface RunVerification {
  readonly runId: string;
  readonly summary: EffectsSummary;
  readonly effects: readonly EffectVerification[];
  /** Give it as `after` to get the next page; absent on the last. */
  readonly next?: number;
}

/** Sorts after every id that can be stored. */
const LAST = '\u{10ffff}';

/** The newest effects first, run by run. Throws `LIMIT_REACHED` for a page that is too large. */
export async function listEffects(
  tx: ReadTx,
  principal: PrincipalRef,
  options: EffectPageOptions = {},
): Promise<EffectPage> {
  const limit = pageSize(options.limit);
  const { runId, before } = options;
  const position = await positionOf(tx, principal, before && { ...before, runId: runId ?? before.runId });
  const rows =
    runId === undefined
      ? await tx.all(PAGE_OF_CLAIMS, [principal.tenantId, before?.runId ?? LAST, position, limit + 1])
      : await tx.all(PAGE_OF_CLAIMS_OF_RUN, [principal.tenantId, checkRunId(runId), position, limit + 1]);
  const effects = rows.slice(0, limit).map(entryOf);
  const last = effects.at(-1);
  if (rows.length <= limit || !last) return { effects };
  return { effects, next: { runId: last.runId, effectId: last.effectId } };
}

/**
 * The effects of one run, judged: a page in order of position, and a summary of all. A run without effects has an empty
 * page; whether there is such a run is not this room's to say. Throws `EFFECT_LEDGER_DAMAGED`.
 */
export async function verifyRun(
  tx: ReadTx,
  principal: PrincipalRef,
  of: { readonly runId: string; readonly after?: number; readonly limit?: number },
): Promise<RunVerification> {
  const limit = pageSize(of.limit);
  const history = await readHistory(tx, { tenantId: principal.tenantId, runId: of.runId });
  const index = indexHistory(history);
  const rest = history.claims.filter((claim) => claim.sequence > (of.after ?? 0));
  const effects = rest.slice(0, limit).map((claim): EffectVerification => {
    const now = assess(claim, history, index);
    const atCompletion = assessAtCompletion(claim, history);
    return { claim, atCompletion, now, unresolvedImpact: unresolvedImpact(now) };
  });
  const page = { runId: of.runId, summary: summarize(assessAll(history)), effects };
  const last = effects.at(-1);
  return rest.length > limit && last ? { ...page, next: last.claim.sequence } : page;
}

/** One effect of a run, judged. Throws `EFFECT_NOT_FOUND`, alike for what is not there and what is another's. */
export async function showEffect(
  tx: ReadTx,
  principal: PrincipalRef,
  of: { readonly runId: string; readonly effectId: string },
): Promise<EffectVerification> {
  const history = await readHistory(tx, { tenantId: principal.tenantId, runId: of.runId });
  const claim = history.claims.find((one) => one.effectId === of.effectId);
  if (!claim) throw fail('EFFECT_NOT_FOUND', 'There is no such effect.');
  const now = assess(claim, history);
  return { claim, now, atCompletion: assessAtCompletion(claim, history), unresolvedImpact: unresolvedImpact(now) };
}

/** The wire form of a verification: the two assessments as the contracts write them. */
export function verificationDocument(of: EffectVerification): Readonly<Record<string, unknown>> {
  return {
    effect_id: of.claim.effectId,
    tool: of.claim.operation.tool,
    at_completion: assessmentDocument(of.atCompletion),
    now: assessmentDocument(of.now),
    unresolved_impact: of.unresolvedImpact,
  };
}

/** Where the claim stands that a page goes on from: after all of them without one, before all where there is none. */
async function positionOf(tx: ReadTx, principal: PrincipalRef, before: EffectPageOptions['before']): Promise<number> {
  if (!before) return Number.MAX_SAFE_INTEGER;
  const row = await tx.get(CLAIM_IS_THERE, [principal.tenantId, before.runId, before.effectId]);
  return Number(row?.['sequence'] ?? 0);
}

function pageSize(asked: number = LIMITS.effectPage): number {
  requireWithin('effectPage', asked);
  if (!Number.isSafeInteger(asked) || asked < 1)
    throw fail('INVALID_VALUE', 'limit must be a whole number of at least 1.');
  return asked;
}

function entryOf(row: Row): EffectEntry {
  const { record } = recordOf({ ...row, type: 'claim' });
  const claim = record as EffectClaim;
  const running = row['running'] === 1;
  return {
    runId: row['run_id'] as string,
    effectId: claim.effectId,
    actionId: claim.actionId,
    tool: claim.operation.tool,
    operationId: row['operation_id'] as string | null,
    execution: (row['execution'] as Execution | null) ?? (running ? 'running' : 'attempted'),
    impact: (row['impact'] as Impact | null) ?? (running ? 'possible' : null),
  };
}
