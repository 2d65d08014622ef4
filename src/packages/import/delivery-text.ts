import type { JsonObject } from '../../core/index.ts';

const VERSION_URL = /\/api\/v1\/artifacts\/versions\/[^\s/?#<>[\]{}()"']+/g;
const PUNCTUATION: ReadonlySet<string | undefined> = new Set('.,;:!');

/**
 * A text in which each exact-version address that the map knows is the other one. Every address is looked at once, and
 * only as a whole path segment: what merely begins like a known one is left alone.
 */
export function replaceUrls(text: string, urls: ReadonlyMap<string, string>): string {
  return text.replaceAll(VERSION_URL, (url) => {
    const whole = urls.get(url);
    if (whole !== undefined) return whole;
    // From the end: a pattern that is anchored there is tried at every place, and the text is a stranger's.
    let end = url.length;
    while (PUNCTUATION.has(url[end - 1])) end -= 1;
    const known = urls.get(url.slice(0, end));
    return known === undefined ? url : known + url.slice(end);
  });
}

const REVIEWED: ReadonlySet<unknown> = new Set([
  'candidate',
  'verified',
  'completed_with_issues',
  'review_unavailable',
]);
const PROOFS = [
  'candidate_content_sha256',
  'reviewed_content_sha256',
  'candidate_verdict_metadata_sha256',
  'review_run_id',
] as const;

/** A message's metadata where a review was claimed: here nobody reviewed it, and it says so. */
export function withoutProof(metadata: JsonObject): JsonObject {
  const claims =
    REVIEWED.has(metadata['review_status']) ||
    metadata['gates_completion'] === true ||
    PROOFS.some((field) => Object.hasOwn(metadata, field));
  if (!claims) return metadata;
  const dropped: ReadonlySet<string> = new Set([...PROOFS, 'turn_id', 'execution_id']);
  const kept = Object.entries(metadata).filter(([key]) => !dropped.has(key));
  return {
    ...Object.fromEntries(kept),
    review_status: 'review_unavailable',
    user_truth: 'Imported · unverified',
    gates_completion: true,
    unverified: true,
  };
}
