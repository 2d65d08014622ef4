import { unresolvedImpact } from './assess.ts';
import type { Assessment, Verdict } from './model.ts';

/** What is known of a run's effects, with what was only reported kept apart from what was read back. */
export interface EffectsSummary {
  readonly effects: number;
  /** The tool said that it succeeded. */
  readonly reportedSuccess: number;
  /** The tool said so, and a fresh reading after it shows the claimed end state. */
  readonly verified: number;
  /** Something may have changed, and no fresh reading has settled it. */
  readonly unresolved: number;
  readonly byVerdict: Readonly<Record<Verdict, number>>;
}

export function summarize(assessments: readonly Assessment[]): EffectsSummary {
  const byVerdict: Record<Verdict, number> = {
    not_executed: 0,
    pending: 0,
    verified: 0,
    state_observed: 0,
    unverified: 0,
    contradicted: 0,
    failed: 0,
  };
  for (const { verdict } of assessments) byVerdict[verdict] += 1;
  return {
    effects: assessments.length,
    reportedSuccess: assessments.filter(({ execution }) => execution === 'reported_success').length,
    verified: byVerdict.verified,
    unresolved: assessments.filter(unresolvedImpact).length,
    byVerdict,
  };
}
