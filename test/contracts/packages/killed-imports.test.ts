import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readQuarantine } from '../../../src/packages/index.ts';
import { STAGE_ORDER } from '../../../src/packages/import/stages.ts';
import { listSessions } from '../../../src/sessions/index.ts';
import { assert, builtProgram, check } from '../../support/index.ts';
import { addDelivery, ROOT } from './source.ts';
import { superviseSource } from './supervised.ts';
import { openPackageWorld, OWNER, refusal } from './world.ts';

/** A package with everything in it: deliveries, two branches, sealed states, and supervised runs. */
async function wholePackage(folder: string): Promise<string> {
  await using world = await openPackageWorld();
  await superviseSource(world);
  await addDelivery(world, { publishedAt: 1235 });
  using exported = await world.packages.export(OWNER, ROOT);
  const file = join(folder, 'whole.zip');
  writeFileSync(file, exported.data());
  return file;
}

async function killedAt(folder: string, point: string, step: number, file: string): Promise<void> {
  const script = builtProgram(join(import.meta.dirname, 'children', 'import-and-die.ts'));
  const child = spawn(process.execPath, [script, folder, point, String(step), file], { stdio: 'inherit' });
  const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
  assert.equal(signal, 'SIGKILL', `${point} ${step}`);
}

const LEFT = ['projects', 'sessions', 'session_branches', 'messages', 'action_groups', 'auto_mode_runs'];
const MORE = ['auto_mode_events', 'imported_auto_records', 'cells', 'artifacts', 'artifact_versions', 'plans'];

/** A locked placeholder that says nothing of the package, cannot be trusted or exported, and goes without a trace. */
async function requirePlaceholder(folder: string, label: string): Promise<void> {
  await using world = await openPackageWorld({ folder });
  const [root = '', ...more] = await world.packages.unfinished(OWNER);
  assert.notEqual(root, '', label);
  assert.deepEqual(more, [], label);
  const quarantine = await world.store.read('test', (tx) => readQuarantine(tx, root));
  assert.equal(quarantine?.reason, 'session_package_import_in_progress', label);
  const db = world.raw();
  assert.deepEqual(
    [db.prepare('SELECT name FROM projects').get()?.['name'], db.prepare('SELECT name FROM sessions').get()?.['name']],
    ['Imported Session (quarantined)', 'Imported session'],
    label,
  );
  db.close();
  const sure = { action: 'restart_fresh', confirmed: true } as const;
  const trust = world.packages.recover(OWNER, root, sure, async () => ({ ok: true, status: 'active' }));
  assert.equal((await refusal(trust)).code, 'IMPORT_UNFINISHED', label);
  assert.equal((await refusal(world.packages.export(OWNER, root))).code, 'SESSION_NOT_EXPORTABLE', label);
  await world.packages.erase(OWNER, root);
  for (const table of [...LEFT, ...MORE]) assert.equal(world.count(table), 0, `${label}: ${table}`);
  for (const name of ['session-imports', 'workspaces']) assert.deepEqual(world.filesUnder(name), [], label);
}

check(
  'an import that is killed after any of its steps leaves a locked placeholder, which goes without a trace',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-killed-'));
    try {
      const file = await wholePackage(folder);
      const points: readonly (readonly [string, number])[] = [
        ['import-placeholder-committed', -1],
        ...STAGE_ORDER.map((_stage, step) => ['import-quarantined', step] as const),
        ['import-about-to-promote', -1],
      ];
      const waiting = [...points];
      const worker = async (): Promise<void> => {
        for (let next = waiting.shift(); next; next = waiting.shift()) {
          const [point, step] = next;
          const label = `${point} ${STAGE_ORDER[step] ?? ''}`;
          const own = join(folder, `${points.indexOf(next)}`);
          mkdirSync(own);
          await killedAt(own, point, step, file);
          await requirePlaceholder(own, label);
        }
      };
      await Promise.all([worker(), worker(), worker()]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

check('an import that is killed once it is whole is there, and locked', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-killed-'));
  try {
    const file = await wholePackage(folder);
    const own = join(folder, 'promoted');
    mkdirSync(own);
    await killedAt(own, 'import-promoted', -1, file);
    await using world = await openPackageWorld({ folder: own });
    assert.deepEqual(await world.packages.unfinished(OWNER), []);
    const { items } = await world.store.read('test', (tx) => listSessions(tx, OWNER));
    assert.equal(items.length, 1);
    const root = items[0]?.rootFrameId ?? '';
    assert.equal((await world.packages.quarantineOf(OWNER, root))?.reason, 'untrusted_session_package');
    assert.equal(world.count('auto_mode_runs'), 1);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
