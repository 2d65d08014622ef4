import { fail, type JsonObject } from '../core/index.ts';

/**
 * Whether a reviewer is the author under another name: the same profile, or the same model under the same prompt. Pure;
 * asked where the reviewer is configured, and again of what is recorded before each review.
 */
export function reviewsItself(author: JsonObject, reviewer: JsonObject): boolean {
  const same = (name: string): boolean => author[name] !== undefined && author[name] === reviewer[name];
  return same('profile_id') || (same('model_fingerprint') && same('prompt_sha256'));
}

/** AUTO_SELF_REVIEW. */
export function requireIndependent(author: JsonObject, reviewer: JsonObject): void {
  if (reviewsItself(author, reviewer))
    throw fail('AUTO_SELF_REVIEW', 'The author of a result may not review it, under this name or another.');
}
