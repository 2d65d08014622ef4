import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FileSystem, HoldfastError, nodeFileSystem } from '../../../src/core/index.ts';
import { ImportStages, readQuarantine } from '../../../src/packages/index.ts';
import { STAGE_ORDER } from '../../../src/packages/import/stages.ts';
import { appendEvent, listGroups, listMessages, openGroup, RECORD_SHAPES } from '../../../src/sessions/index.ts';
import { oracle } from '../../archive/support/packages.ts';
import { assert, check, contract } from '../../support/index.ts';
import { openPackageWorld, OWNER, type PackageWorld, refusal } from './world.ts';

const RECORD_TABLES = RECORD_SHAPES.map(({ table }) => table);

type Stage = (typeof STAGE_ORDER)[number];
const INJECTED = new Error('injected');

/** Imports with an error in the place of a stage, or right after it. */
const withFault = (world: PackageWorld, stage: Stage, seen: () => void = () => undefined) =>
  world.with({
    seams: {
      importStages: (...args) => {
        const stages = new ImportStages(...args);
        stages[stage] = async () => {
          seen();
          throw INJECTED;
        };
        return stages;
      },
    },
  });

const TABLES = ['sessions', 'session_branches', 'messages', 'action_groups', 'permission_rules', ...RECORD_TABLES];

function assertEmpty(world: PackageWorld): void {
  for (const table of ['projects', ...TABLES]) assert.equal(world.count(table), 0, table);
  for (const folder of ['session-imports', 'workspaces', 'workspace-cas/packs'])
    assert.deepEqual(world.filesUnder(folder), [], folder);
}

check('an error in any stage reaches the caller as itself and leaves nothing', async () => {
  await using world = await openPackageWorld();
  for (const stage of STAGE_ORDER) {
    await assert.rejects(withFault(world, stage).import(OWNER, oracle('d2-deliveries')), (error) => error === INJECTED);
    assertEmpty(world);
  }
});

contract('PKG-142 PKG-143 PKG-144', 'faults in artifacts, deliveries and plans take everything back', async () => {
  await using world = await openPackageWorld();
  for (const stage of ['artifacts', 'deliveries', 'plansReviewMemory'] as const) {
    await assert.rejects(withFault(world, stage).import(OWNER, oracle('b-notebook')), (error) => error === INJECTED);
    assertEmpty(world);
  }
});

contract('PKG-145', 'an error after a snapshot became durable reaches the caller; no delivery is bound', async () => {
  await using world = await openPackageWorld();
  let bound = false;
  const packages = world.with({
    seams: {
      importStages: (...args) => {
        const stages = new ImportStages(...args);
        const write = stages.snapshot.bind(stages);
        stages.snapshot = async (sha256) => {
          await write(sha256);
          throw INJECTED;
        };
        stages.deliveries = async () => {
          bound = true;
        };
        return stages;
      },
    },
  });
  await assert.rejects(packages.import(OWNER, oracle('d2-deliveries')), (error) => error === INJECTED);
  assert.equal(bound, false);
  assertEmpty(world);
});

contract(
  'PKG-146',
  'the root is one transaction: without its quarantine there is no session and no project',
  async () => {
    await using world = await openPackageWorld();
    const db = world.raw();
    db.exec(`CREATE TRIGGER no_quarantine BEFORE INSERT ON session_settings
    BEGIN SELECT RAISE(ABORT, 'quarantine write failed'); END`);
    db.close();
    const error = await refusal(world.packages.import(OWNER, oracle('a-minimal')));
    assert.match(String((error as { cause?: Error }).cause?.message), /quarantine write failed/);
    for (const table of ['projects', 'sessions', 'session_settings']) assert.equal(world.count(table), 0, table);
  },
);

contract('PKG-151 PKG-152', 'a fault after deliveries were bound removes them too', async () => {
  await using world = await openPackageWorld();
  let deliveries = 0;
  const seen = (): void => {
    deliveries = world.count('completion_deliveries');
  };
  const packages = withFault(world, 'lineage', seen);
  await assert.rejects(packages.import(OWNER, oracle('d2-deliveries')), (error) => error === INJECTED);
  assert.equal(deliveries, 2);
  assertEmpty(world);
});

contract('PKG-141', 'too much delivery work is refused before anything is written', async () => {
  await using world = await openPackageWorld({ limits: { deliveryWorkBytes: 1 } });
  const error = await refusal(world.packages.import(OWNER, oracle('d2-deliveries')));
  assert.match(error.message, /completion delivery verification work exceeds its limit/);
  assert.equal(world.count('projects'), 0);
  for (const folder of ['session-imports', 'workspaces']) assert.equal(existsSync(join(world.folder, folder)), false);
  assert.equal(world.count('workspace_contents'), 0);
});

/** Runs an import in a child that kills itself: at a fault point, and for repeated ones at a step. */
function killed(folder: string, point: string, step: number): void {
  const script = join(import.meta.dirname, 'children', 'import-and-die.ts');
  const { signal, stderr } = spawnSync(process.execPath, [script, folder, point, String(step)], { encoding: 'utf8' });
  assert.equal(signal, 'SIGKILL', stderr);
}

contract(
  'PKG-147 PKG-148',
  'a process that dies right after the root leaves a locked placeholder without a name',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-killed-'));
    try {
      killed(folder, 'import-placeholder-committed', -1);
      await using world = await openPackageWorld({ folder });
      const [root, ...more] = await world.packages.unfinished(OWNER);
      assert.deepEqual(more, []);
      const db = world.raw();
      assert.deepEqual(
        [
          db.prepare('SELECT name FROM sessions').get()?.['name'],
          db.prepare('SELECT name FROM projects').get()?.['name'],
        ],
        ['Imported session', 'Imported Session (quarantined)'],
      );
      db.close();
      const quarantine = await world.store.read('test', (tx) => readQuarantine(tx, root ?? ''));
      assert.deepEqual([quarantine?.state, quarantine?.reason], ['quarantined', 'session_package_import_in_progress']);
      assert.equal(existsSync(join(folder, 'session-imports')), false);
      await world.packages.erase(OWNER, root ?? '');
      assertEmpty(world);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

contract(
  'PKG-149 PKG-150',
  'a process that dies before deliveries are bound leaves placeholders for their messages',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-killed-'));
    try {
      killed(folder, 'import-quarantined', STAGE_ORDER.indexOf('artifacts'));
      await using world = await openPackageWorld({ folder });
      const [root = ''] = await world.packages.unfinished(OWNER);
      const { items } = await world.store.read('test', (tx) => listMessages(tx, OWNER, root));
      const pending = items.filter(
        ({ metadata }) => (metadata as Record<string, unknown> | null)?.['completion_delivery_import_pending'] === true,
      );
      assert.equal(pending.length, 2, 'one for each delivery of this package');
      for (const { content, metadata } of pending) {
        assert.equal(content, 'Completion delivery is pending package verification.');
        assert.equal(Object.hasOwn(metadata as object, 'completion_delivery'), false);
      }
      assert.ok(items.every(({ content }) => !content.includes('/api/v1/artifacts/versions/')));
      assert.equal(world.count('completion_deliveries'), 0);
      const error = await refusal(
        world.packages.recover(OWNER, root, { action: 'restart_fresh', confirmed: true }, async () => ({
          ok: true,
          status: 'active',
        })),
      );
      assert.equal(error.code, 'IMPORT_UNFINISHED');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

contract(
  'PKG-153 PKG-154 PKG-155 PKG-156',
  'only a confirmed fresh restart that came up ends a quarantine',
  async () => {
    await using world = await openPackageWorld();
    const { root_frame_id: root } = await world.packages.import(OWNER, oracle('a-minimal'));
    let started = 0;
    const start = (status: string) => async () => {
      started += 1;
      return { ok: true, status };
    };
    const refusedWith = async (action: 'restart_fresh' | 'restore', confirmed: boolean): Promise<void> => {
      const error = await refusal(world.packages.recover(OWNER, root, { action, confirmed }, start('active')));
      assert.ok(error instanceof HoldfastError);
      assert.equal(error.code, 'RECOVERY_REFUSED');
      assert.ok(await world.packages.quarantineOf(OWNER, root));
    };
    await refusedWith('restart_fresh', false);
    await refusedWith('restore', true);
    assert.equal(started, 0);
    const confirmed = { action: 'restart_fresh', confirmed: true } as const;
    const failed = await world.packages.recover(OWNER, root, confirmed, start('degraded'));
    assert.deepEqual(failed, { quarantine_cleared: false, trust_state: 'quarantined' });
    const place = { rootFrameId: root, branchId: root, turnId: 't', kind: 'native_tools' };
    const write = () => world.store.write('test', (tx) => openGroup(tx, world.sessions, OWNER, place));
    assert.equal((await refusal(write())).code, 'SESSION_QUARANTINED');
    const trusted = await world.packages.recover(OWNER, root, confirmed, start('active'));
    assert.deepEqual(trusted, { quarantine_cleared: true, trust_state: 'trusted' });
    assert.equal(await world.packages.quarantineOf(OWNER, root), null);
    const groups = await world.store.read('test', (tx) => listGroups(tx, OWNER, root, { limit: 500 }));
    assert.equal(groups.items.at(-1)?.kind, 'session_import_trust');
    const { id: groupId } = await write();
    await world.store.write('test', (tx) => appendEvent(tx, world.sessions, OWNER, { groupId, type: 'proposed' }));
  },
);

check('a full disk at any write of an import takes everything back', async () => {
  await using world = await openPackageWorld();
  let left = 3;
  const files: FileSystem = {
    ...nodeFileSystem,
    fsync(fd) {
      left -= 1;
      if (left < 0) throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC', syscall: 'fsync' });
      nodeFileSystem.fsync(fd);
    },
  };
  const error = await refusal(world.with({ files }).import(OWNER, oracle('b-notebook')));
  assert.match(error.message, /ENOSPC/);
  assert.equal(error.code, 'FILE_DISK_FULL');
  assertEmpty(world);
});
