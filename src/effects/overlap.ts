import type { EffectClaim, ResourceRef } from './model.ts';

/** Same kind and same location: role, incarnation and snapshot digest play no part. */
export function sameLocation(a: ResourceRef, b: ResourceRef): boolean {
  return a.kind === b.kind && equalTexts(a.location, b.location);
}

/** Whether touching one may touch the other (OVER-1 to OVER-4). */
export function overlaps(a: ResourceRef, b: ResourceRef): boolean {
  if (a.kind !== b.kind) return false;
  switch (a.kind) {
    case 'filesystem':
      return samePlace(a, b) && nested(last(a), last(b));
    case 'owned':
      return samePlace(a, b) && (last(a) === last(b) || last(a) === '*' || last(b) === '*');
    case 'process':
    case 'process_launch':
    case 'background_job':
    case 'external':
    case 'browser_session':
      return equalTexts(a.location, b.location);
  }
}

/** Whether the claim may have changed the resource: unknown scope touches everything; dependencies do not count. */
export function touches(claim: Pick<EffectClaim, 'impactScope'>, resource: ResourceRef): boolean {
  return claim.impactScope.length === 0 || claim.impactScope.some((ref) => overlaps(ref, resource));
}

/** Resources that overlap are in one group; those of different groups never overlap. */
export function overlapGroup(ref: ResourceRef): string {
  const nested = ref.kind === 'filesystem' || ref.kind === 'owned';
  return JSON.stringify(nested ? ref.location.slice(0, -1) : ref.location);
}

/** Field by field, role included: the equality of references (VAL-7). */
export function equalRefs(a: ResourceRef, b: ResourceRef): boolean {
  return (
    a.role === b.role && a.incarnation === b.incarnation && a.snapshotSha256 === b.snapshotSha256 && sameLocation(a, b)
  );
}

function equalTexts(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((part, i) => part === b[i]);
}

function samePlace(a: ResourceRef, b: ResourceRef): boolean {
  return equalTexts(a.location.slice(0, -1), b.location.slice(0, -1));
}

function last(ref: ResourceRef): string {
  return ref.location.at(-1) ?? '';
}

/** Equal paths, or one above the other, part by part: `/a` is above `/a/b`, not above `/ab`. */
function nested(a: string, b: string): boolean {
  const [one, other] = [parts(a), parts(b)];
  const shared = Math.min(one.length, other.length);
  return one.slice(0, shared).every((part, i) => part === other[i]);
}

function parts(path: string): string[] {
  return path.split('/').filter((part) => part !== '');
}
