import fs from 'node:fs';
import { join } from 'node:path';
import { createIds, type FileSystem, nodeFileSystem, systemClock } from '../../src/core/index.ts';
import { SessionHistory, SessionPen, WorkspaceStore } from '../../src/sessions/index.ts';
import type { Store } from '../../src/store/index.ts';
import { openSessionWorld, type SessionWorld } from '../support/session-world.ts';

/** What every call after the death of the process ends in. */
export class Dead extends Error {}

/** Dies at a step of its choice; from then on nothing is done any more, as after a kill. */
export class Mortality {
  #left = Number.POSITIVE_INFINITY;
  isDead = false;

  dieAfter(steps: number): void {
    this.#left = steps;
  }

  revive(): void {
    [this.#left, this.isDead] = [Number.POSITIVE_INFINITY, false];
  }

  /** Before something that changes the world. `half` is what may be left of it. */
  step(half?: () => void): void {
    if (this.isDead) throw new Dead('dead');
    this.#left -= 1;
    if (this.#left >= 0) return;
    half?.();
    this.isDead = true;
    throw new Dead('dead');
  }
}

const CHANGES = ['fsync', 'truncate', 'rename', 'unlink', 'rmdir', 'mkdir', 'chmod'] as const;

/** The real file system, each change of which is a step; a write that is not survived is written by half. */
function mortalFiles(mortality: Mortality): FileSystem {
  const files: Record<string, unknown> = {
    ...nodeFileSystem,
    write(fd: number, bytes: Uint8Array, position?: number | null) {
      mortality.step(() => nodeFileSystem.write(fd, bytes.subarray(0, bytes.byteLength >> 1), position));
      return nodeFileSystem.write(fd, bytes, position);
    },
  };
  for (const name of CHANGES)
    files[name] = (...given: unknown[]) => {
      mortality.step();
      return (nodeFileSystem[name] as (...all: unknown[]) => unknown)(...given);
    };
  return files as unknown as FileSystem;
}

/** A store of which each commit is two steps: death before it, and death before anybody hears of it. */
function mortalStore(store: Store, mortality: Mortality): Store {
  return {
    ...store,
    read: (name, body) => {
      if (mortality.isDead) throw new Dead('dead');
      return store.read(name, body);
    },
    async write(name, body) {
      mortality.step();
      const result = await store.write(name, body);
      mortality.step();
      return result;
    },
  };
}

/** A session that works in a folder, in a process that can die and come back. */
export class MortalProject {
  readonly mortality = new Mortality();
  world: SessionWorld;
  history: SessionHistory;
  readonly directory: string;

  constructor(world: SessionWorld) {
    this.world = world;
    this.directory = join(world.file, '..', 'workspace');
    fs.mkdirSync(this.directory);
    this.history = this.#open();
  }

  static async open(): Promise<MortalProject> {
    return new MortalProject(await openSessionWorld());
  }

  #open(): SessionHistory {
    const { mortality, world, directory } = this;
    const context = { clock: systemClock, ids: createIds(systemClock), hooks: [] };
    const store = mortalStore(world.store, mortality);
    const folder = join(directory, '..', 'workspace-cas');
    const workspaces = new WorkspaceStore({ store, folder, ...context, files: mortalFiles(mortality) });
    return new SessionHistory({
      store,
      context,
      pen: new SessionPen(store, context),
      workspaces,
      directoryOf: () => directory,
    });
  }

  /** Another process on the same files. The dead one held the pen; the end of its lease is not waited for here. */
  async comeBack(): Promise<void> {
    this.mortality.revive();
    const { root } = this.world;
    this.world = { ...(await this.world.reopen()), root };
    await this.world.store.write('t', (tx) => tx.run('DELETE FROM session_tickets'));
    this.history = this.#open();
  }

  get files(): Record<string, string> {
    const names = (fs.readdirSync(this.directory, { recursive: true }) as string[]).toSorted();
    const regular = names.filter((name) => fs.statSync(join(this.directory, name)).isFile());
    return Object.fromEntries(regular.map((name) => [name, fs.readFileSync(join(this.directory, name), 'utf8')]));
  }

  /** What somebody makes of the folder meanwhile. */
  put(files: Readonly<Record<string, string>>): void {
    for (const name of fs.readdirSync(this.directory)) fs.rmSync(join(this.directory, name), { recursive: true });
    for (const [name, text] of Object.entries(files)) {
      fs.mkdirSync(join(this.directory, name, '..'), { recursive: true });
      fs.writeFileSync(join(this.directory, name), text);
    }
  }
}
