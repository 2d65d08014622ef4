import {
  type Clock,
  createIds,
  guardClock,
  isId,
  isSha256Hex,
  newSecret,
  requireUnixSeconds,
  sha256Hex,
  systemClock,
  systemIds,
  unixSeconds,
  utcText,
} from '../../src/core/index.ts';
import { assert, check, countingIds, manualClock } from '../support/index.ts';
import { told } from './refusals.ts';

check('seconds are whole, rounded down, and written in UTC', () => {
  assert.equal(unixSeconds(manualClock(1_784_419_200_999)), 1_784_419_200);
  assert.equal(utcText(1_784_419_200), '2026-07-19T00:00:00Z');
  assert.equal(utcText(253_402_300_799), '9999-12-31T23:59:59Z');
  assert.ok(Number.isInteger(systemClock.nowMs()));
});

check('a time is a whole second up to the year 9999', () => {
  for (const value of [0, 253_402_300_799]) assert.equal(requireUnixSeconds('now', value), value);
  for (const value of [253_402_300_800, -1, 1.5, Number.NaN, true, '1', null, 1n])
    assert.equal(told(() => requireUnixSeconds('now', value))[0], 'INVALID_VALUE');
  assert.throws(() => requireUnixSeconds('now', 253_402_300_800), /now .*UTC datetime/);
});

check('a small step back holds the clock still, and it goes on from there', () => {
  const raw = manualClock(10_000);
  const clock = guardClock(raw);
  assert.equal(clock.nowMs(), 10_000);
  raw.set(8000);
  assert.equal(clock.nowMs(), 10_000);
  assert.deepEqual(clock.state(), { state: 'steady' });
  raw.set(10_001);
  assert.equal(clock.nowMs(), 10_001);
});

check('a step back beyond two seconds refuses every reading until the clock has caught up', () => {
  const raw = manualClock(10_000);
  const clock = guardClock(raw);
  clock.nowMs();
  raw.set(7999);
  for (let i = 0; i < 2; i += 1)
    assert.deepEqual(
      told(() => clock.nowMs()),
      ['CLOCK_WENT_BACK', { by_ms: 2001 }],
    );
  assert.deepEqual(clock.state(), { state: 'went_back', lastMs: 10_000, byMs: 2001 });
  raw.set(9000);
  assert.equal(clock.nowMs(), 10_000);
});

check('a person may accept the earlier time', () => {
  const raw = manualClock(10_000);
  const clock = guardClock(raw, { toleranceMs: 0 });
  clock.nowMs();
  raw.set(9999);
  assert.throws(() => clock.nowMs(), { code: 'CLOCK_WENT_BACK', retryable: true });
  clock.accept();
  assert.equal(clock.nowMs(), 9999);
});

check('a guarded clock knows the latest time from before it was started', () => {
  const clock = guardClock(manualClock(5000), { startMs: 60_000 });
  assert.throws(() => clock.nowMs(), { code: 'CLOCK_WENT_BACK' });
});

check('identifiers are 32 lower-case hex in the layout of UUID version 7', () => {
  const id = createIds(manualClock(0x0123456789ab)).next();
  assert.match(id, /^0123456789ab7[0-9a-f]{3}[89ab][0-9a-f]{15}$/);
  assert.ok(isId(id) && isId(systemIds.next()));
  for (const value of [id.toUpperCase(), `${id}0`, id.slice(1), `${id.slice(1)}g`, `${id}\n`, null])
    assert.equal(isId(value), false);
});

function inOrder(clock: Clock, count: number, between: (i: number) => void = () => undefined): boolean {
  const ids = createIds(clock);
  let last = '';
  for (let i = 0; i < count; i += 1) {
    between(i);
    const id = ids.next();
    if (id <= last || !isId(id)) return false;
    last = id;
  }
  return true;
}

check(
  'each identifier is greater than the one before: in one millisecond, past the counter, and when the clock runs back',
  () => {
    assert.ok(inOrder(manualClock(), 20_000));
    const clock = manualClock();
    assert.ok(inOrder(clock, 5000, (i) => clock.advance(i % 3 === 0 ? -5 : 2)));
    assert.ok(inOrder(systemClock, 5000));
  },
);

check('identifiers of two makers at the same time differ', () => {
  const clock = manualClock();
  const [a, b] = [createIds(clock), createIds(clock)];
  const ids = Array.from({ length: 2000 }, (_, i) => (i % 2 === 0 ? a : b).next());
  assert.equal(new Set(ids).size, 2000);
});

check('identifiers for tests count', () => {
  const ids = countingIds();
  assert.deepEqual([ids.next(), ids.next()], [`${'0'.repeat(31)}1`, `${'0'.repeat(31)}2`]);
});

check('digests are SHA-256 in lower-case hex over the UTF-8 bytes', () => {
  const empty = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
  assert.equal(sha256Hex(''), empty);
  assert.equal(sha256Hex('é'), sha256Hex(Buffer.from('é')));
  assert.deepEqual(
    [isSha256Hex(empty), isSha256Hex(empty.toUpperCase()), isSha256Hex(`${empty}\n`), isSha256Hex(1)],
    [true, false, false, false],
  );
});

check('a secret is 256 bits of what it is filled with, and another each time', () => {
  assert.equal(
    newSecret((bytes) => bytes.fill(255)),
    `${'_'.repeat(42)}8`,
  );
  assert.match(newSecret(), /^[A-Za-z0-9_-]{43}$/);
  assert.notEqual(newSecret(), newSecret());
});
