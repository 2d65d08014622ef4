import { getEventListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { deadline, freezeJson } from '../../src/core/index.ts';
import { assert, check } from '../support/index.ts';

const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;

check('a deadline is aborted by its time or by the signal before it, and says which', async () => {
  const before = new AbortController();
  const timed = deadline(before.signal, 1);
  await sleep(20);
  assert.deepEqual([timed.signal.aborted, timed.over], [true, true]);
  assert.equal((timed.signal.reason as Error).name, 'TimeoutError');
  const stopped = deadline(before.signal, 60_000);
  before.abort('enough');
  assert.deepEqual([stopped.signal.aborted, stopped.over, stopped.signal.reason], [true, false, 'enough']);
  const late = deadline(before.signal, 60_000);
  assert.deepEqual([late.signal.aborted, late.over, late.signal.reason], [true, false, 'enough']);
  for (const one of [timed, stopped, late]) one.release();
});

check('a deadline that was let go of ends nothing, and leaves nothing at the signal before it', async () => {
  const before = new AbortController();
  const one = deadline(before.signal, 5);
  assert.equal(listeners(before.signal), 1);
  one.release();
  assert.equal(listeners(before.signal), 0);
  await sleep(30);
  before.abort();
  assert.deepEqual([one.signal.aborted, one.over], [false, false]);
});

check('frozen JSON is frozen through and through', () => {
  const value = freezeJson({ a: [{ b: 1 }], c: null, d: 'x' });
  assert.throws(() => void (value.a[0] = { b: 2 }), TypeError);
  assert.throws(() => void Object.assign(value.a[0] as object, { b: 2 }), TypeError);
  assert.throws(() => void Object.assign(value, { e: 1 }), TypeError);
});
