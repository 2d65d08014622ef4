import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import type { TestContext } from 'node:test';
import { Holdfast, viewOfRun } from '../../../src/app/index.ts';
import { runLines } from '../../../src/cli/run-lines.ts';
import { assert, check, installedCommand, PLAIN, temporaryFolder } from '../../support/index.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const SERVER = join(ROOT, 'test', 'fixtures', 'mcp', 'guarded-server.ts');
const COMMAND = installedCommand();
const POLICY = {
  version: 1,
  name: 'dead',
  revision: '1',
  server: 'world',
  tools: { read: { effect: 'read' } },
  rules: [{ id: 'all', tools: ['read', 'write', 'hangs'], decision: 'allow' }],
};

/** A guard with two calls under way, one done, one read, and one that waits for a person. */
async function busyGuard(t: TestContext) {
  const home = await temporaryFolder(t);
  writeFileSync(join(home, 'policy.json'), JSON.stringify(POLICY));
  const options = ['--policy', join(home, 'policy.json'), '--data-dir', join(home, 'data'), '--wait', '0'];
  const server = [process.execPath, SERVER, join(home, 'world.jsonl')];
  const child = spawn(process.execPath, [COMMAND, 'mcp', ...options, '--', ...server], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  t.after(() => child.kill('SIGKILL'));
  const gone = once(child, 'close');
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const send = (id: number, name: string): void => {
    const params = { name, arguments: { id } };
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })}\n`);
  };
  send(1, 'hangs');
  send(2, 'hangs');
  for (const [id, name] of [
    [3, 'write'],
    [4, 'ask_first'],
    [5, 'read'],
  ] as const) {
    send(id, name);
    await answers.next();
  }
  // A read is written down a moment after it was answered.
  await pause(500);
  return { dataDir: join(home, 'data'), child, gone };
}

check(
  'a guard that was killed leaves an ended run: nothing to decide, nothing to resume, unknown as unknown',
  async (t) => {
    const { dataDir, child, gone } = await busyGuard(t);
    const lines = async (holdfast: Holdfast) => {
      const { runtime } = holdfast;
      const [run] = (await runtime.runs.list(runtime.principal, { limit: 1 })).items;
      const view = await viewOfRun(runtime, runtime.principal, run?.runId ?? '');
      return { view, text: runLines(view, PLAIN).join('\n') };
    };
    const beside = await Holdfast.open({ dataDir });
    const alive = await lines(beside);
    assert.deepEqual([alive.view.status, alive.view.pending.length], ['running', 1]);
    assert.match(alive.text, /decide: holdfast approvals approve/);
    assert.doesNotMatch(alive.text, /runs resume/, 'its guard goes on by itself');
    await beside.close();
    child.kill('SIGKILL');
    await gone;
    const later = await Holdfast.open({ dataDir, clock: { nowMs: () => Date.now() + 3_600_000 } });
    t.after(() => later.close());
    const dead = await lines(later);
    assert.deepEqual([dead.view.status, dead.view.outcome, dead.view.pending], ['stopped', 'unknown', []]);
    assert.deepEqual(
      dead.view.calls.map(({ outcome }) => outcome?.state ?? null),
      ['unknown', 'unknown', 'done', null, 'done'],
    );
    assert.doesNotMatch(dead.text, /runs resume|approvals approve/);
    const { approvals, principal } = later.runtime;
    const [request] = (await approvals.list(principal)).items;
    const { requestId, digest } = await approvals.show(principal, request?.requestId ?? '');
    await assert.rejects(approvals.decide(principal, [{ requestId, digest, decision: 'approve' }]), {
      code: 'APPROVAL_ALREADY_DECIDED',
    });
    await assert.rejects(later.runtime.runs.resume(principal, dead.view.runId), { code: 'RUN_ENDED' });
    assert.equal((await later.runtime.operations.audit()).passed, true);
  },
);
