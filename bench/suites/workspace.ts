import { execFile } from 'node:child_process';
import { randomFillSync } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Clock, systemClock, systemIds } from '../../src/core/index.ts';
import {
  createCheckpoint,
  openSession,
  type Principal,
  sessionsSchema,
  visibleMessages,
  WorkspaceStore,
} from '../../src/sessions/index.ts';
import { addProject, LOCAL_PRINCIPAL, type Store, STORE_SCHEMAS } from '../../src/store/index.ts';
import { openSqliteStore } from '../../src/store/sqlite/index.ts';
import { interleave } from '../measure.ts';
import type { BenchSuite } from '../suite.ts';

const FILES = 10_000;
const FILE_BYTES = 20 * 1024;
const CHECKPOINTS = 2000;
const ROUNDS = 3;
const OWNER: Principal = { tenant: 'local', subject: 'owner', roles: ['owner'] };
/** The files of this bench are older than the cache's grain by decree, as those of a real workspace mostly are. */
const later: Clock = { nowMs: () => systemClock.nowMs() + 10_000 };

function writeFiles(directory: string): void {
  const bytes = Buffer.alloc(FILE_BYTES);
  for (let i = 0; i < FILES; i += 1) {
    const folder = join(directory, `d${i % 100}`);
    if (i < 100) mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `f${i}`), randomFillSync(bytes));
  }
}

async function hashAll(directory: string): Promise<number> {
  await promisify(execFile)('sh', ['-c', 'find . -type f -print0 | xargs -0 sha256sum > /dev/null'], {
    cwd: directory,
  });
  return 1;
}

/** A store with one session on whose branch stand so many checkpoints. */
async function withCheckpoints(store: Store): Promise<() => Promise<number>> {
  const context = { clock: systemClock, ids: systemIds, hooks: [] };
  const root = await store.write('bench', async (tx) => {
    await addProject(tx, systemClock, LOCAL_PRINCIPAL, { projectId: 'bench', name: 'Bench' });
    const id = await openSession(tx, context, OWNER, { projectId: 'bench' });
    for (let i = 0; i < CHECKPOINTS; i += 1)
      await createCheckpoint(tx, context, OWNER, { rootFrameId: id, branchId: id, reason: 'bench' });
    return id;
  });
  const of = { rootFrameId: root, branchId: root };
  return async () => {
    await store.read('bench', (tx) => visibleMessages(tx, OWNER, of));
    return 1;
  };
}

/** Capturing ten thousand files of 200 MB beside `sha256sum`, capturing them again, and projecting a long branch. */
export const workspaceSuite: BenchSuite = {
  name: 'workspace',
  async run(folder) {
    const directory = join(folder, 'workspace');
    writeFiles(directory);
    const stores: Store[] = [];
    const open = async (name: string): Promise<WorkspaceStore> => {
      const store = await openSqliteStore({
        file: join(folder, `${name}.db`),
        schemas: [...STORE_SCHEMAS, sessionsSchema],
      });
      stores.push(store);
      return new WorkspaceStore({ store, folder: join(folder, name), clock: later, ids: systemIds });
    };
    const kept = await open('kept');
    await kept.capture(directory);
    const capture = async (workspace: WorkspaceStore): Promise<number> => {
      await workspace.capture(directory);
      return 1;
    };
    const project = await withCheckpoints(stores[0] as Store);
    const times = await interleave(
      [
        { name: 'sha256sum', run: () => hashAll(directory) },
        { name: 'first', run: async () => capture(await open(`first-${stores.length}`)) },
        { name: 'again', run: () => capture(kept) },
        { name: 'project', run: project },
      ],
      ROUNDS,
      { warmUp: 1 },
    );
    await Promise.all(stores.map((store) => store.close()));
    const us = (name: string): number => times.get(name)?.medianUs ?? 0;
    const ms = (name: string): string => `${(us(name) / 1000).toFixed(0)} ms`;
    return {
      rows: [
        { what: 'sha256sum', value: ms('sha256sum'), note: '10,000 files, 200 MB' },
        { what: 'first capture', value: ms('first'), note: 'read, hashed, written, synced; at most 2 times sha256sum' },
        { what: 'again, unchanged', value: ms('again'), note: 'at most 0.1 of the first capture' },
        { what: 'again of first', value: (us('again') / us('first')).toFixed(3), note: 'at most 0.1' },
        { what: 'projection', value: ms('project'), note: '2,000 checkpoints on one branch; under 100 ms' },
      ],
      figures: {
        ratios: {
          workspace_capture: us('sha256sum') / us('first'),
          workspace_capture_again: us('sha256sum') / us('again'),
          workspace_capture_again_to_first: us('first') / us('again'),
        },
      },
    };
  },
};
