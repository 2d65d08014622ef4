import { digestJson, isJsonObject, type JsonObject, type JsonValue, LIMITS } from '../../core/index.ts';
import { MATERIAL, SEVERITIES, VERDICTS } from '../model.ts';
import type { NewFinding, ReviewEnding } from '../reviews.ts';
import { type Answer, textOf } from './ask.ts';

type Ending = Omit<ReviewEnding, 'key'>;

/** What a reviewer's answer may speak of: paths and calls of the evidence it was given. */
interface Known {
  readonly paths: ReadonlyMap<string, string>;
  readonly calls: ReadonlySet<string>;
}

const entries = (evidence: JsonObject, name: string): JsonObject[] => {
  const list = evidence[name];
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
};

const wordOf = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '');

function knownIn(evidence: JsonObject): Known {
  const files = entries(evidence, 'artifacts');
  return {
    paths: new Map(files.map(({ path, sha256 }) => [wordOf(path), wordOf(sha256)])),
    calls: new Set(entries(evidence, 'actions').map((action) => wordOf(action['call_id']))),
  };
}

/**
 * A reviewer's answer as the end of its review. What it says is held to what it was shown: a finding without evidence
 * that is there makes the whole answer unreadable, and a pass beside a material finding is no pass. Pure.
 */
export function endingOf(answer: Answer, evidence: JsonObject, reviewRunId: string): Ending {
  if (!answer.ok) return unread(answer.ended, answer.why, answer.usage);
  const { document, usage } = answer;
  const said = VERDICTS.find((word) => word === document['verdict']);
  if (said === undefined) return unread('failed', 'It names no verdict that is known.', usage);
  const list = document['findings'] ?? [];
  if (!Array.isArray(list)) return unread('failed', 'Its findings are not a list.', usage);
  const known = knownIn(evidence);
  const findings = new Map<string, NewFinding>();
  for (const given of list.slice(0, LIMITS.autoFindings)) {
    const finding = findingOf(given, known, `${reviewRunId}-finding-${findings.size + 1}`);
    if (typeof finding === 'string') return unread('failed', finding, usage);
    if (!findings.has(finding.fingerprint)) findings.set(finding.fingerprint, finding);
  }
  const found = [...findings.values()];
  const material = found.some(({ severity }) => MATERIAL.has(severity));
  const verdict = said === 'pass' && material ? 'issues' : said;
  const summary = textOf(document['summary'], LIMITS.autoSummaryCodePoints);
  return { status: 'completed', verdict, assessment: { public_summary: summary, said }, findings: found, usage };
}

function unread(status: 'unavailable' | 'failed', why: string, usage: JsonObject): Ending {
  const verdict = status === 'failed' ? 'failed' : 'review_unavailable';
  return { status, verdict, assessment: { public_summary: why }, usage };
}

/** A finding, or why the answer cannot be read. */
function findingOf(given: JsonValue, known: Known, findingId: string): NewFinding | string {
  if (!isJsonObject(given)) return 'A finding is not an object.';
  const severity = SEVERITIES.find((word) => word === textOf(given['severity'], 20).toLowerCase());
  const claim = textOf(given['claim'], LIMITS.autoClaimCodePoints);
  const category = textOf(given['category'], LIMITS.sessionWordCodePoints) || 'result';
  if (severity === undefined || claim === '') return 'A finding has no known severity, or no claim.';
  const refs = Array.isArray(given['evidence']) ? given['evidence'] : [];
  const evidenceRefs = refs.filter(
    (ref): ref is string => typeof ref === 'string' && (known.paths.has(ref) || known.calls.has(ref)),
  );
  if (evidenceRefs.length === 0) return 'A finding names no evidence that it was shown.';
  const artifactIds = evidenceRefs.filter((ref) => known.paths.has(ref));
  const versionIds = artifactIds.map((path) => `${path}@${known.paths.get(path)}`);
  const fingerprint = digestJson({ category: category.toLowerCase(), claim, evidence: evidenceRefs.toSorted() });
  return { findingId, fingerprint, severity, category, claim, evidenceRefs, artifactIds, versionIds };
}
