import { execFile, execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createIds, type FaultPoint, type FaultPoints, systemClock } from '../../src/core/index.ts';
import { beginTurn, type Checkpoint, SessionHistory, SessionPen, WorkspaceStore } from '../../src/sessions/index.ts';
import type { Store } from '../../src/store/index.ts';
import { openSqliteStore } from '../../src/store/sqlite/index.ts';
import { assert, check } from '../support/index.ts';
import { AGENT, openSessionWorld, OWNER, readShown, SCHEMAS } from '../support/session-world.ts';

const FILES = 3000;
const READER = join(import.meta.dirname, '../fixtures/sessions/history-reader.ts');
/** Before the checkpoint, and after it. */
const OLD = { messages: ['one'], points: 0, trees: 0 };
const NEW = { messages: ['one'], points: 1, trees: 1 };

interface Large {
  readonly store: Store;
  readonly root: string;
  /** The command line of a reader that is another process. */
  readonly reader: readonly [string, ...string[]];
  readonly checkpoint: () => Promise<Checkpoint>;
}

interface Hooks {
  /** Called for each name the walk comes to. */
  readonly onName?: (nth: number) => void;
  readonly faults?: FaultPoints;
}

/** A session of one message that works in a folder of thousands of files. */
async function withLarge(hooks: Hooks, body: (large: Large) => Promise<void>): Promise<void> {
  await using world = await openSessionWorld();
  const { file, root } = world;
  await world.store.write('t', (tx) =>
    beginTurn(tx, world.context, AGENT, { rootFrameId: root, branchId: root, content: 'one' }),
  );
  const directory = join(file, '..', 'workspace');
  fs.mkdirSync(directory);
  for (let i = 0; i < FILES; i += 1) fs.writeFileSync(join(directory, `f${i}`), `file ${i}`);
  const faults = hooks.faults ?? { reach: () => undefined };
  const store = await openSqliteStore({ file, schemas: SCHEMAS, faults });
  try {
    const context = { clock: systemClock, ids: createIds(systemClock), hooks: [] };
    const workspaces = new WorkspaceStore({ store, folder: join(file, '..', 'workspace-cas'), ...context, faults });
    let names = 0;
    const exclude = (): boolean => {
      names += 1;
      hooks.onName?.(names);
      return false;
    };
    const pen = new SessionPen(store, context);
    const of = { store, context, pen, workspaces, scan: { exclude }, directoryOf: () => directory };
    const history = new SessionHistory(of);
    await body({
      store,
      root,
      reader: [process.execPath, READER, file, root],
      checkpoint: () => history.checkpoint(OWNER, { rootFrameId: root, branchId: root, reason: 'test' }),
    });
  } finally {
    await store.close();
  }
}

/** What another process is shown while this one stands still. */
function shownElsewhere([program, ...args]: Large['reader']): unknown {
  return JSON.parse(execFileSync(program, args, { encoding: 'utf8' }));
}

check('a reader of the same process is answered between two files of a capture', async () => {
  let walked = 0;
  const answers: { at: number; shown: unknown }[] = [];
  let read = (): void => undefined;
  const onName = (nth: number): void => {
    walked = nth;
    if (nth % 500 === 1) read();
  };
  await withLarge({ onName }, async ({ store, root, checkpoint }) => {
    read = () => void readShown(store, root).then((shown) => answers.push({ at: walked, shown }));
    await checkpoint();
    assert.equal(walked, FILES);
    const early = answers.filter(({ at }) => at < FILES);
    assert.ok(early.length >= 4, `${early.length} of ${answers.length} readers were answered before the walk ended`);
    for (const { shown } of early) assert.deepEqual(shown, OLD);
    assert.deepEqual(await readShown(store, root), NEW);
  });
});

check('a reader in another process is answered while a capture stands in the middle of its walk', async () => {
  const answers: unknown[] = [];
  let elsewhere = (): unknown => undefined;
  const onName = (nth: number): void => {
    if (nth === FILES / 2) answers.push(elsewhere());
  };
  await withLarge({ onName }, async ({ checkpoint, reader }) => {
    elsewhere = () => shownElsewhere(reader);
    await checkpoint();
    assert.deepEqual(answers, [OLD]);
    assert.deepEqual(shownElsewhere(reader), NEW);
  });
});

check('readers of both processes are answered while each step of a checkpoint holds the write lock', async () => {
  const seen: { point: FaultPoint; here: unknown; elsewhere: unknown }[] = [];
  let hold: ((point: FaultPoint) => Promise<void>) | undefined;
  const faults: FaultPoints = {
    reach: (point) => (point === 'group-begun' || point === 'group-about-to-commit' ? hold?.(point) : undefined),
  };
  await withLarge({ faults }, async ({ store, root, reader: [program, ...args], checkpoint }) => {
    hold = async (point) => {
      const here = await readShown(store, root);
      const { stdout } = await promisify(execFile)(program, args);
      seen.push({ point, here, elsewhere: JSON.parse(stdout) });
    };
    await checkpoint();
    hold = undefined;
    // The tree is looked for, then named; the checkpoint names it.
    const named = { ...OLD, trees: 1 };
    const steps = [OLD, OLD, named];
    assert.deepEqual(
      seen,
      steps.flatMap((shown) => [
        { point: 'group-begun', here: shown, elsewhere: shown },
        { point: 'group-about-to-commit', here: shown, elsewhere: shown },
      ]),
    );
    assert.deepEqual(await readShown(store, root), NEW);
  });
});

check('a reader in another process is answered while a pack of a capture is made whole', async () => {
  const answers: unknown[] = [];
  let elsewhere: (() => unknown) | undefined;
  const faults: FaultPoints = {
    reach(point) {
      if (point === 'file-temp-written' || point === 'file-renamed') answers.push(elsewhere?.());
      return undefined;
    },
  };
  await withLarge({ faults }, async ({ reader, checkpoint }) => {
    elsewhere = () => shownElsewhere(reader);
    await checkpoint();
    assert.deepEqual(answers, [OLD, OLD]);
  });
});
