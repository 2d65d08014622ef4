import { createLog, FAULT_POINTS, fail, LIMITS, noFaults, noLog, requireWithin } from '../../src/core/index.ts';
import { armFaults, assert, check, manualClock } from '../support/index.ts';
import { told } from './refusals.ts';

function collected(level?: 'debug' | 'warn'): { lines: string[]; log: ReturnType<typeof createLog> } {
  const lines: string[] = [];
  const log = createLog({ write: (line) => lines.push(line), clock: manualClock(0), ...(level && { level }) });
  return { lines, log };
}

check('a log line is one JSON object with time, level, event and fields', () => {
  const { lines, log } = collected();
  log.info('store.opened', { rows: 3, folder: undefined });
  assert.deepEqual(lines, ['{"event":"store.opened","level":"info","rows":3,"time":"1970-01-01T00:00:00.000Z"}']);
});

check('only levels from the chosen one up are written', () => {
  const { lines, log } = collected('warn');
  log.debug('a');
  log.info('b');
  log.warn('c');
  log.error('d');
  noLog.error('e');
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { event: string }).event),
    ['c', 'd'],
  );
  const all = collected('debug');
  all.log.debug('a');
  assert.equal(all.lines.length, 1);
});

check('a log carries no secret: by name, by pattern, in keys, in the event', () => {
  const { lines, log } = collected();
  log.info('got sk-abcdefghijklmnop', {
    authorization: 'x-key',
    nested: { api_key: 'k-val', t: ['Bearer abcdefghijkl'] },
    Cookie: 'c-val',
  });
  assert.doesNotMatch(lines.join(), /abcdefgh|x-key|k-val|c-val/);
});

check('a field cannot take the place of time, level or event', () => {
  const { lines, log } = collected();
  log.warn('real', { event: 'forged', level: 'info', time: 'never' });
  assert.deepEqual(JSON.parse(lines.join()), { event: 'real', level: 'warn', time: '1970-01-01T00:00:00.000Z' });
});

check(
  'an error of ours tells code and message; a foreign one its name and errno, since its text may hold a path',
  () => {
    const { lines, log } = collected();
    log.error('x', { error: fail('STORE_BUSY', 'Another process writes.', { cause: new Error('inner') }) });
    log.error('y', { error: Object.assign(new TypeError('open /var/private'), { code: 'ENOENT' }) });
    assert.match(lines[0] ?? '', /"error":\{"code":"STORE_BUSY","message":"Another process writes."\}/);
    assert.match(lines[1] ?? '', /"error":\{"errno":"ENOENT","message":"\[REDACTED\]","name":"TypeError"\}/);
    assert.doesNotMatch(lines.join(), /inner|private|log-and-faults/);
  },
);

check('what is too long or not JSON is cut, never thrown', () => {
  const { lines, log } = collected();
  log.info('long', { text: 'x'.repeat(LIMITS.logLineBytes) });
  log.info('odd', { value: Number.NaN, other: (() => 1) as never });
  log.info(`e${'é'.repeat(500)}\ud800`);
  const read = lines.map((line) => JSON.parse(line) as { event: string; cut?: boolean });
  assert.deepEqual(
    read.map(({ cut }) => cut),
    [true, true, undefined],
  );
  assert.equal(read[2]?.event.length, 200);
});

check('nothing happens at a fault point that is not armed', () => {
  for (const point of FAULT_POINTS) assert.equal(noFaults.reach(point), undefined);
  assert.ok(Object.isFrozen(noFaults));
  assert.equal(new Set(FAULT_POINTS).size, FAULT_POINTS.length);
});

check('an armed fault acts at its point, its arrival and its step only', () => {
  const mine = new Error('mine');
  const faults = armFaults({ point: 'log-synced', at: 2, act: mine }, { point: 'migration-step', step: 3, act: mine });
  void faults.reach('log-synced');
  void faults.reach('migration-step', 2);
  assert.throws(() => faults.reach('log-synced'), mine);
  assert.throws(() => faults.reach('migration-step', 3), mine);
  void faults.reach('log-synced');
  assert.deepEqual([faults.reached('log-synced'), faults.reached('effect-sent'), faults.fired()], [3, 0, 2]);
});

check('a bound lets its edge pass and names itself beyond it', () => {
  assert.doesNotThrow(() => requireWithin('redactionDepth', 48));
  assert.deepEqual(
    told(() => requireWithin('redactionDepth', 49)),
    ['LIMIT_REACHED', { limit: 'redactionDepth', max: 48, actual: 49 }],
  );
});
