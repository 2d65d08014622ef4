import fc from 'fast-check';
import { overlaps, type ResourceRef, sameLocation, touches } from '../../../src/effects/index.ts';
import { assert, check } from '../../support/index.ts';

const SNAPSHOT = '0'.repeat(64);
const part = fc.constantFrom('a', 'b', 'ab', 'a b', '*', 'é');
const path = fc.array(part, { maxLength: 4 }).map((parts) => `/${parts.join('/')}`);
const kind = fc.constantFrom('filesystem', 'owned', 'external', 'process', 'background_job');

const reference: fc.Arbitrary<ResourceRef> = fc
  .record({
    kind,
    middle: fc.array(fc.constantFrom('u', 'v'), { minLength: 1, maxLength: 2 }),
    end: fc.oneof(path, part),
  })
  .chain(({ kind, middle, end }) =>
    fc.record({
      kind: fc.constant(kind),
      role: fc.constantFrom('source', 'destination'),
      location: fc.constant([kind, ...middle, end]),
      incarnation: fc.constantFrom('', 'rev-1', 'rev-2'),
      snapshotSha256: fc.constant(SNAPSHOT),
    }),
  );

/** The rule in its plainest form, written a second time: a path overlaps what it equals, lies above or lies below. */
function expected(a: ResourceRef, b: ResourceRef): boolean {
  if (a.kind !== b.kind) return false;
  const place = (ref: ResourceRef): string => JSON.stringify(ref.location.slice(0, -1));
  const [x, y] = [a.location.at(-1) ?? '', b.location.at(-1) ?? ''];
  if (a.kind === 'owned') return place(a) === place(b) && (x === y || x === '*' || y === '*');
  if (a.kind !== 'filesystem') return place(a) === place(b) && x === y;
  const slashed = (text: string): string => `/${text.split('/').filter(Boolean).join('/')}/`.replace('//', '/');
  return place(a) === place(b) && (slashed(x).startsWith(slashed(y)) || slashed(y).startsWith(slashed(x)));
}

check('overlap is the rule of the contracts, in both directions', () => {
  fc.assert(
    fc.property(reference, reference, (a, b) => {
      assert.equal(overlaps(a, b), expected(a, b));
      assert.equal(overlaps(a, b), overlaps(b, a));
    }),
    { numRuns: 3000 },
  );
});

check('everything overlaps itself, and the same location whatever the role and the object', () => {
  fc.assert(
    fc.property(reference, fc.string(), (ref, role) => {
      const other = { ...ref, role, incarnation: 'another' };
      assert.ok(overlaps(ref, ref) && overlaps(ref, other) && sameLocation(ref, other));
    }),
  );
});

check('a claim touches what one of its references overlaps; without references it touches everything', () => {
  fc.assert(
    fc.property(fc.array(reference, { maxLength: 4 }), reference, (impactScope, resource) => {
      const hit = impactScope.length === 0 || impactScope.some((ref) => expected(ref, resource));
      assert.equal(touches({ impactScope }, resource), hit);
    }),
  );
});
