import type { RunRecord } from '../../runs/index.ts';
import { MATERIAL, type AutoFinding, type AutoRepair, type TerminalStatus } from '../model.ts';
import { type AutonomyBudgets, noRepair, noReview, type Reached, type Spent } from './budgets.ts';
import { findingsOf, reviewsOfCandidate, type Standing } from './standing.ts';

/** What is to be done next about a supervised run. */
export type Next =
  /** Nothing, until somebody decides or resumes. */
  | { readonly step: 'stand' }
  /** Its result is read and recorded as a candidate. */
  | { readonly step: 'read' }
  /** The candidate is reviewed, or a review that was begun is carried to its end. */
  | { readonly step: 'review' }
  | { readonly step: 'repair'; readonly findings: readonly AutoFinding[] }
  | { readonly step: 'carry_on_repair'; readonly repair: AutoRepair; readonly findings: readonly AutoFinding[] }
  /** Its bytes are read again, and it is verified where they are the reviewed ones. */
  | { readonly step: 'verify' }
  | {
      readonly step: 'end';
      readonly status: TerminalStatus;
      readonly reason: string;
      readonly stopReason: string | null;
    };

const end = (status: TerminalStatus, reason: string, reached: Reached | null = null): Next => ({
  step: 'end',
  status,
  reason,
  stopReason: reached && `${reached.stop}: ${reached.limit}`,
});

/** What the record says is to be done next: pure, so that after a crash it says the same. */
export function nextStep(state: RunRecord['state'], standing: Standing, budgets: AutonomyBudgets, spent: Spent): Next {
  const { status } = standing.run;
  if (status === 'running') return ofAuthor(state, standing);
  if (status === 'candidate') return ofCandidate(standing, budgets, spent);
  if (status === 'reviewing') return { step: 'review' };
  return status === 'repairing' ? ofRepair(standing) : { step: 'stand' };
}

/** Before there is a candidate: what the author came to. */
function ofAuthor(state: RunRecord['state'], { run }: Standing): Next {
  switch (state.status) {
    case 'completed':
      return run.mode === 'off' ? end('review_unavailable', 'review_off') : { step: 'read' };
    case 'failed':
      return state.code === 'OUTCOME_UNKNOWN' ? end('paused', 'outcome_unknown') : end('failed', state.code);
    case 'stopped':
      return end('cancelled', 'stopped');
    case 'running':
    case 'waiting_confirmation':
      return { step: 'stand' };
  }
}

function ofCandidate(standing: Standing, budgets: AutonomyBudgets, spent: Spent): Next {
  const newest = reviewsOfCandidate(standing).at(-1);
  const refused = noReview(budgets, spent);
  if (!newest) return refused ? end('completed_with_issues', 'not_reviewed', refused) : { step: 'review' };
  if (newest.status !== 'completed')
    return refused ? end('review_unavailable', 'reviewer_unavailable', refused) : { step: 'review' };
  const findings = findingsOf(standing, newest);
  if (newest.verdict === 'pass') {
    return isFoundWrong(standing) ? end('completed_with_issues', 'reviews_disagree') : { step: 'verify' };
  }
  if (standing.run.mode !== 'auto_fix') return end('completed_with_issues', 'findings');
  const open = findings.filter(({ status }) => status === 'open' || status === 'unaddressed');
  if (open.length === 0) return end('completed_with_issues', 'no_finding_to_repair');
  const stop = noRepair(budgets, spent);
  return stop ? end('completed_with_issues', 'findings', stop) : { step: 'repair', findings: open };
}

/**
 * A material finding of an earlier review of these same bytes stands against them, whatever a later one says, and under
 * whatever name: a repair that changed nothing makes the same result another candidate.
 */
function isFoundWrong({ run, reviews, findings }: Standing): boolean {
  const same = reviews.filter((one) => one.candidate_snapshot_sha256 === run.candidate_snapshot_sha256);
  const names = new Set(same.map((review) => review.candidate_id));
  return findings.some((finding) => names.has(finding.candidate_id) && MATERIAL.has(finding.severity));
}

function ofRepair(standing: Standing): Next {
  const repair = standing.repairs.find((one) => one.status === 'started');
  if (!repair) return { step: 'stand' };
  const findings = standing.findings.filter(({ finding_id }) => repair.finding_ids.includes(finding_id));
  return { step: 'carry_on_repair', repair, findings };
}
