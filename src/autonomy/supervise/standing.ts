import { isJsonObject, type JsonValue } from '../../core/index.ts';
import { listGroupEvents, type Principal } from '../../sessions/index.ts';
import type { ReadTx } from '../../store/index.ts';
import type { AutonomyContext } from '../context.ts';
import { codeOf } from '../errors.ts';
import { eventsOfRun } from '../events.ts';
import type { AutoAssessment, AutoEvent, AutoFinding, AutoRepair, AutoReview, AutoRun } from '../model.ts';
import * as sql from '../queries.ts';
import { proveRun } from '../run-proof.ts';
import type { RepairTurn, Spent } from './budgets.ts';

/** The place of a turn. */
export interface TurnPlace {
  readonly rootFrameId: string;
  readonly branchId: string;
  readonly turnId: string;
}

/** Every supervision of one turn, the oldest first: the last one counts. */
export async function runsOfTurn(tx: ReadTx, { rootFrameId, branchId, turnId }: TurnPlace): Promise<AutoRun[]> {
  return (await tx.all(sql.RUNS_OF_TURN, [rootFrameId, branchId, turnId])).map(sql.RUNS.read);
}

/** A supervised run with everything that was written about it. Proved by the steps that follow, not here. */
export interface Standing {
  readonly run: AutoRun;
  readonly events: readonly AutoEvent[];
  readonly reviews: readonly AutoReview[];
  readonly findings: readonly AutoFinding[];
  readonly repairs: readonly AutoRepair[];
  readonly assessments: readonly AutoAssessment[];
}

export async function standingOf(tx: ReadTx, run: AutoRun): Promise<Standing> {
  const of = [run.run_id];
  return {
    run,
    events: await eventsOfRun(tx, run.run_id),
    reviews: (await tx.all(sql.REVIEWS_OF_RUN, of)).map(sql.REVIEWS.read),
    findings: (await tx.all(sql.FINDINGS_OF_RUN, of)).map(sql.FINDINGS.read),
    repairs: (await tx.all(sql.REPAIRS_OF_RUN, of)).map(sql.REPAIRS.read),
    assessments: (await tx.all(sql.ASSESSMENTS_OF_RUN, of)).map(sql.ASSESSMENTS.read),
  };
}

/** The reviews of the current candidate, in the order in which they were started. */
export function reviewsOfCandidate({ run, reviews, events }: Standing): AutoReview[] {
  const order = new Map(events.map((event) => [event.idempotency_key, event.event_cursor]));
  return reviews
    .filter((review) => review.candidate_id === run.candidate_id)
    .toSorted((a, b) => (order.get(a.start_idempotency_key) ?? 0) - (order.get(b.start_idempotency_key) ?? 0));
}

/** The findings of one review. */
export const findingsOf = ({ findings }: Standing, review: AutoReview): AutoFinding[] =>
  findings.filter((finding) => finding.review_run_id === review.review_run_id);

/** Tokens that reviewers were asked with and answered with. */
export interface ReviewTokens {
  readonly prompt: number;
  readonly completion: number;
}

function tokensOf(usages: readonly JsonValue[]): ReviewTokens {
  const sum = (name: string): number =>
    usages.reduce<number>((total, usage) => total + (isJsonObject(usage) ? Number(usage[name] ?? 0) : 0), 0);
  return { prompt: sum('input_tokens'), completion: sum('output_tokens') };
}

/** Of reviews and of advice alike. */
function reviewTokens(reviews: readonly AutoReview[], advice: readonly AutoAssessment[]): ReviewTokens {
  return tokensOf([
    ...reviews.map(({ usage }) => usage),
    ...advice.map(({ assessment }) => assessment?.['usage'] ?? null),
  ]);
}

/** What the supervision has spent, by what is written of it. */
export function spentOf(
  standing: Standing,
  used: { readonly now: number; readonly authorTokens: number; readonly repairTokens: number; readonly cells: number },
): Spent {
  const { events, reviews, findings, repairs } = standing;
  const tokens = reviewTokens(reviews, standing.assessments);
  const first = events.find((event) => event.type === 'candidate_ready');
  const counts = new Map<string, number>();
  for (const { fingerprint } of findings) counts.set(fingerprint, (counts.get(fingerprint) ?? 0) + 1);
  return {
    reviewsOfCandidate: reviewsOfCandidate(standing).length,
    repairs: repairs.length,
    cells: used.cells,
    sinceCandidateMs: first ? used.now - first.created_at : 0,
    authorTokens: used.authorTokens,
    extraTokens: used.repairTokens + tokens.prompt + tokens.completion,
    repeatedFinding: Math.max(0, ...counts.values()),
  };
}

/** The turns of a repair as its ledger tells them. */
export async function turnsOf(tx: ReadTx, principal: Principal, groupIds: readonly string[]): Promise<RepairTurn[]> {
  const turns: RepairTurn[] = [];
  for (const groupId of groupIds) {
    const calls = new Map<string, string>();
    let wrote = false;
    let after: string | undefined;
    do {
      const page = await listGroupEvents(tx, principal, groupId, after === undefined ? {} : { after });
      for (const { type, toolCallId, canonicalArguments, result } of page.items) {
        const said = isJsonObject(result) ? result : {};
        if (type === 'proposed' && toolCallId !== null)
          calls.set(toolCallId, `${JSON.stringify(said['tool'])} ${JSON.stringify(canonicalArguments)}`);
        if (type !== 'result' || toolCallId === null) continue;
        calls.set(toolCallId, `${calls.get(toolCallId) ?? ''} ${JSON.stringify(said['content'] ?? null)}`);
        wrote ||= said['output_committed'] === true;
      }
      after = page.next ?? undefined;
    } while (after !== undefined);
    turns.push({ wrote, calls: [...calls.values()] });
  }
  return turns;
}

/** How a turn's newest supervision stands, proved: what people are shown of it. */
export interface SupervisionView {
  readonly autoRunId: string;
  readonly status: AutoRun['status'];
  /** Why it ended so; null while it has not. */
  readonly reason: string | null;
  /** The limit that ended it, where one did. */
  readonly stopReason: string | null;
  /** What its row claims where the proof of it failed: then `status` is `failed` and the reason `safety_boundary`. */
  readonly claimed: string | null;
  readonly reviews: number;
  readonly repairs: number;
  readonly findings: readonly AutoFinding[];
  /** The newest review's own words. */
  readonly summary: string | null;
  readonly advice: readonly AutoAssessment[];
  /** What reviews and advice cost; the repairs count in their own runs. */
  readonly tokens: ReviewTokens;
}

export async function supervisionView(
  tx: ReadTx,
  context: AutonomyContext,
  principal: Principal,
  run: AutoRun,
): Promise<SupervisionView> {
  try {
    const { reviews, findings, repairs, assessments } = await proveRun(tx, context, principal, run);
    const standing = await standingOf(tx, run);
    const newest = reviewsOfCandidate(standing).at(-1) ?? standing.reviews.at(-1);
    return {
      autoRunId: run.run_id,
      status: run.status,
      reason: run.terminal_reason,
      stopReason: run.stop_reason,
      claimed: null,
      reviews: reviews.length,
      repairs: repairs.length,
      findings,
      summary: newest?.public_summary ?? null,
      advice: assessments,
      tokens: reviewTokens(standing.reviews, assessments),
    };
  } catch (error) {
    if (codeOf(error) !== 'AUTO_PROOF_FAILED') throw error;
    return {
      autoRunId: run.run_id,
      status: 'failed',
      reason: 'safety_boundary',
      stopReason: null,
      claimed: run.status,
      reviews: 0,
      repairs: 0,
      findings: [],
      summary: null,
      advice: [],
      tokens: { prompt: 0, completion: 0 },
    };
  }
}
