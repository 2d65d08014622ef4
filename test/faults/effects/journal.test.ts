import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type FileSystem, nodeFileSystem } from '../../../src/core/index.ts';
import { loadJournal, openJournal } from '../../../src/effects/index.ts';
import { claim, note, RUN, temporaryFolder } from '../../contracts/effects/fixture.ts';
import { linesOf } from '../../contracts/effects/homes.ts';
import { assert, check } from '../../support/index.ts';

const CHILD = join(import.meta.dirname, 'journal-child.ts');

function start(t: TestContext, args: readonly string[], shell?: string): ChildProcess {
  const command = [process.execPath, '--disable-warning=ExperimentalWarning', CHILD, ...args];
  const [first = '', ...rest] =
    shell === undefined ? command : ['bash', '-c', `${shell}; exec "$@"`, 'bash', ...command];
  const child = spawn(first, rest, { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  return child;
}

async function finish(child: ChildProcess): Promise<{ lines: string[]; signal: unknown }> {
  const [output, [, signal]] = await Promise.all([text(child.stdout ?? Readable.from([])), once(child, 'exit')]);
  return { lines: output.split('\n').filter(Boolean), signal };
}

const fileError = (code: string) => Object.assign(new Error('injected'), { code, syscall: 'test' });

check('the lock of a process that was killed is free at once; one that lives is waited for, then told', async (t) => {
  const directory = join(temporaryFolder(t), 'fx');
  const log = openJournal(RUN, { directory, lockWaitMs: 30 });
  t.after(() => log.close());
  await claim(log, note(), 'e1');
  const holder = start(t, [directory, 'x', '0', 'hold']);
  await once(holder.stdout ?? holder, 'data');
  await assert.rejects(claim(log, note(), 'e2'), { code: 'EFFECT_JOURNAL_BUSY', retryable: true });
  await log.outcome({ effectId: 'e1', execution: 'reported_success', impact: 'possible' });
  assert.equal(log.degraded, true);
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  assert.equal((await claim(log, note(), 'e3')).sequence, 3);
});

check('processes that write together lose nothing and share one order', async (t) => {
  const directory = join(temporaryFolder(t), 'fx');
  const children = ['a', 'b', 'c'].map((prefix) => start(t, [directory, prefix, '25']));
  const told = (await Promise.all(children.map(finish))).flatMap(({ lines }) => lines.map(Number));
  assert.deepEqual(
    told.toSorted((a, b) => a - b),
    Array.from({ length: 75 }, (_, i) => i + 1),
  );
  const log = await loadJournal(RUN, { directory });
  assert.equal((await log.history()).claims.length, 75);
});

for (const point of ['log-appended', 'log-synced'])
  check(`killed at ${point}: what was told is there, what was not may be, and recovery interrupts it`, async (t) => {
    const directory = join(temporaryFolder(t), 'fx');
    const { lines, signal } = await finish(start(t, [directory, 'e', '3', point]));
    assert.equal(signal, 'SIGKILL');
    assert.deepEqual(lines, ['1', '2']);
    const log = await loadJournal(RUN, { directory });
    t.after(() => log.close());
    const found = (await log.history()).claims.length;
    assert.ok(found === 2 || found === 3);
    assert.equal((await log.recoverInterrupted()).length, found);
    assert.ok((await log.assessments()).every((answer) => answer.execution === 'interrupted'));
  });

check('on a disk with a real limit a claim that does not fit is refused and leaves whole lines', async (t) => {
  const directory = join(temporaryFolder(t), 'fx');
  const { lines } = await finish(start(t, [directory, 'e', '6'], "trap '' XFSZ; ulimit -f 2"));
  const made = lines.filter((line) => /^\d+$/.test(line));
  assert.ok(made.length > 0 && made.length < 6, lines.join(' '));
  assert.deepEqual(new Set(lines.slice(made.length)), new Set(['EFFECT_NOT_DURABLE']));
  assert.equal(linesOf(join(directory, `${RUN}.jsonl`)).length, made.length);
  const log = await loadJournal(RUN, { directory });
  assert.equal((await log.history()).claims.length, made.length);
});

check('in a folder that cannot be written a claim is refused', async () => {
  const log = openJournal(RUN, { directory: '/proc/holdfast-effects' });
  await assert.rejects(claim(log, note()), { code: 'EFFECT_NOT_DURABLE' });
  assert.deepEqual((await log.history()).claims, []);
});

check('a write that stops half way is cut back to the last whole line', async (t) => {
  const directory = join(temporaryFolder(t), 'fx');
  let left = Number.POSITIVE_INFINITY;
  const files: FileSystem = {
    ...nodeFileSystem,
    write(fd, bytes, position) {
      if (left <= 0) throw fileError('ENOSPC');
      const done = nodeFileSystem.write(fd, bytes.subarray(0, Math.min(left, bytes.byteLength)), position);
      left -= done;
      return done;
    },
  };
  const log = openJournal(RUN, { directory, files });
  t.after(() => log.close());
  await claim(log, note(), 'e1');
  const before = readFileSync(log.path ?? '');
  left = 100;
  await assert.rejects(claim(log, note(), 'e2'), { code: 'EFFECT_NOT_DURABLE' });
  assert.deepEqual(readFileSync(log.path ?? ''), before);
  left = Number.POSITIVE_INFINITY;
  assert.equal((await claim(log, note(), 'e2')).sequence, 2, 'the disk has room again');
});

check('after a forcing to disk that failed, this log takes no more claims; the tool must not run', async (t) => {
  const directory = join(temporaryFolder(t), 'fx');
  let fails = false;
  const fdatasync = (fd: number): void => {
    if (fails) throw fileError('EIO');
    nodeFileSystem.fdatasync(fd);
  };
  const log = openJournal(RUN, { directory, files: { ...nodeFileSystem, fdatasync } });
  t.after(() => log.close());
  await claim(log, note(), 'e1');
  fails = true;
  const both = await Promise.allSettled([claim(log, note(), 'e2'), claim(log, note(), 'e3')]);
  assert.deepEqual(
    both.map((one) => one.status),
    ['rejected', 'rejected'],
  );
  assert.equal(linesOf(log.path ?? '').length, 1);
  fails = false;
  await assert.rejects(claim(log, note(), 'e4'), { code: 'EFFECT_NOT_DURABLE' });
  assert.deepEqual(
    (await log.history()).claims.map((one) => one.effectId),
    ['e1'],
  );
});
