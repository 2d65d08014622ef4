import { ALLOWING, MATERIAL } from './model.ts';

/** Why a review cannot end so, or null. Pure; judged before any look at what is stored. */
export function checkVerdict(
  status: string,
  verdict: string,
  findings: readonly { readonly severity: string }[],
): string | null {
  if (verdict !== 'pass') return null;
  if (status !== 'completed') return 'A non-completed review cannot pass.';
  if (findings.some((finding) => MATERIAL.has(finding.severity)))
    return 'A pass review cannot contain a material finding.';
  return null;
}

/** Why an assessment cannot end so, or null. */
export function checkAdvice(status: string, outcome: string): string | null {
  return status !== 'completed' && ALLOWING.has(outcome) ? 'An assessment that was not completed cannot allow.' : null;
}
