import { digestJson, isJsonObject, type JsonObject, type JsonValue, LIMITS } from '../../core/index.ts';
import { MATERIAL, SEVERITIES, VERDICTS } from '../model.ts';
import type { NewFinding, ReviewEnding } from '../reviews.ts';
import { type Answer, textOf } from './ask.ts';
import { artifactId } from './candidate-bytes.ts';

type Ending = Omit<ReviewEnding, 'key'>;

/** What a reviewer's answer may speak of: paths and calls of the evidence it was given. */
interface Known {
  /** The artifact of each path, and its version. */
  readonly paths: ReadonlyMap<string, { readonly id: string; readonly version: string }>;
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
    paths: new Map(files.map(({ path, sha256 }) => fileOf(wordOf(path), wordOf(sha256)))),
    calls: new Set(entries(evidence, 'actions').map((action) => wordOf(action['call_id']))),
  };
}

function fileOf(path: string, sha256: string) {
  const id = artifactId({ path });
  return [path, { id, version: `${id}@${sha256}` }] as const;
}

/**
 * A reviewer's answer as the end of its review. What it says is held to what it was shown: a finding without evidence
 * that is there makes the whole answer unreadable; a pass beside a material finding, or beside more findings than are
 * read, is no pass. Of a finding that is made twice the worse one counts. Pure.
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
    const before = findings.get(finding.fingerprint);
    if (before === undefined || rankOf(before) < rankOf(finding))
      findings.set(finding.fingerprint, { ...finding, findingId: before?.findingId ?? finding.findingId });
  }
  const found = [...findings.values()];
  const against = list.length > LIMITS.autoFindings || found.some(({ severity }) => MATERIAL.has(severity));
  const verdict = said === 'pass' && against ? 'issues' : said;
  const summary = textOf(document['summary'], LIMITS.autoSummaryCodePoints);
  return { status: 'completed', verdict, assessment: { public_summary: summary, said }, findings: found, usage };
}

const rankOf = ({ severity }: NewFinding): number => SEVERITIES.findIndex((word) => word === severity);

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
  const shown = new Set(refs.map(wordOf).filter((ref) => known.paths.has(ref) || known.calls.has(ref)));
  if (shown.size === 0) return 'A finding names no evidence that it was shown.';
  if (shown.size > LIMITS.autoListItems) return 'A finding names more evidence than can be kept.';
  const files = [...shown].flatMap((ref) => known.paths.get(ref) ?? []);
  const evidenceRefs = [...shown].map((ref) => known.paths.get(ref)?.id ?? ref);
  const [artifactIds, versionIds] = [files.map(({ id }) => id), files.map(({ version }) => version)];
  const fingerprint = digestJson({ category: category.toLowerCase(), claim, evidence: evidenceRefs.toSorted() });
  return { findingId, fingerprint, severity, category, claim, evidenceRefs, artifactIds, versionIds };
}
