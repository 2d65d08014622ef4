import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert, check, holdfast, temporaryFolder } from '../support/index.ts';
import { guardWorld } from '../mcp/guard-world.ts';

check('effects are listed, shown and verified after a guarded write that is read back', async (t) => {
  const folder = await temporaryFolder(t);
  const root = join(folder, 'ws');
  mkdirSync(root);
  const policy = {
    version: 1,
    name: 'test',
    revision: '1',
    server: 'world',
    roots: { files: { path: root } },
    tools: {
      write: {
        effect: 'once',
        resources: [{ kind: 'filesystem', role: 'file', root: 'files', path: '/path', may_be_missing: true }],
        postconditions: [{ role: 'file', predicate: 'content_sha256', content: '/content' }],
      },
    },
    rules: [{ id: 'writes', tools: ['write'], decision: 'allow' }],
  };
  writeFileSync(join(root, 'there.txt'), 'as asked');
  const world = await guardWorld(t, { policy, dataDir: folder });
  await world.call('write', { path: 'there.txt', content: 'as asked' }, 1);
  await world.call('write', { path: 'missing.txt', content: 'never written' }, 2);
  await world.end();
  const run = async (...args: string[]) => {
    const { exit, stdout, stderr } = await holdfast(['effects', ...args, '--json', '--data-dir', world.dataDir], {
      cwd: folder,
    });
    assert.equal(stderr, '');
    return { exit, document: JSON.parse(stdout) as Record<string, unknown> };
  };
  const listed = await run('list');
  const effects = listed.document['effects'] as { run_id: string; effect_id: string; execution: string }[];
  assert.deepEqual(
    effects.map((one) => one.execution),
    ['reported_success', 'reported_success'],
  );
  const runId = effects[0]?.run_id ?? '';
  const verified = await run('verify', runId);
  assert.equal(verified.exit, 1);
  assert.deepEqual([verified.document['reported_success'], verified.document['verified']], [2, 1]);
  const verdicts = (verified.document['effects'] as { now: { verdict: string } }[]).map((one) => one.now.verdict);
  assert.deepEqual(verdicts, ['verified', 'contradicted']);
  const shown = await run('show', runId, effects[0]?.effect_id ?? '');
  assert.ok(['verified', 'contradicted'].includes((shown.document['now'] as { verdict: string }).verdict));
  assert.equal((await run('show', runId, 'nobody')).exit, 1);
  const one = await run('list', '--limit', '1');
  const next = await run('list', '--limit', '1', '--before', String(one.document['next']));
  assert.equal((next.document['effects'] as unknown[]).length, 1);
  const told = async (...words: string[]): Promise<string> => {
    const { stdout, stderr } = await holdfast([...words, '--data-dir', world.dataDir], { cwd: folder });
    assert.equal(stderr, '');
    return stdout;
  };
  assert.match(
    await told('effects', 'list'),
    new RegExp(`^${runId}/[0-9a-f]{32} +reported_success +world__write$`, 'm'),
  );
  const lines = await told('effects', 'verify', runId);
  assert.match(lines, /world__write: verified\n/);
  assert.match(lines, /world__write: contradicted\n/);
  assert.match(lines, /^2 effects: 2 reported as done, 1 verified, 0 unresolved$/m);
  assert.match(
    await told('effects', 'show', runId, effects[0]?.effect_id ?? ''),
    /world__write: (verified|contradicted)/,
  );
  assert.match(await told('runs', 'show', runId), /^ {2}2 reported as done, 1 of them verified, 0 unknown$/m);
});

check('effects that nobody has, and places that are none, are told with their code', async (t) => {
  const folder = await temporaryFolder(t);
  const world = await guardWorld(t, { dataDir: folder });
  await world.end();
  const run = (...args: string[]) => holdfast(['effects', ...args, '--data-dir', world.dataDir], { cwd: folder });
  assert.match((await run('list')).stdout, /There are no effects yet/);
  for (const [args, exit, code] of [
    [['list', '--before', 'no-place'], 2, 'INVALID_VALUE'],
    [['list', '--limit', '0'], 2, 'INVALID_VALUE'],
    [['show', 'a'.repeat(32), 'b'], 1, 'EFFECT_NOT_FOUND'],
    [['verify', 'a'.repeat(32)], 2, 'RUN_NOT_FOUND'],
  ] as const) {
    const told = await run(...args);
    assert.deepEqual([told.exit, told.stderr.includes(code)], [exit, true], told.stderr);
  }
});
