import fs from 'node:fs';
import { join } from 'node:path';
import {
  createIds,
  type FaultPoints,
  type FileSystem,
  nodeFileSystem,
  noFaults,
  systemClock,
} from '../../src/core/index.ts';
import {
  beginRestore,
  beginTurn,
  type Checkpoint,
  requireSession,
  SessionHistory,
  SessionPen,
  visibleMessages,
  WorkspaceStore,
} from '../../src/sessions/index.ts';
import { AGENT, openSessionWorld, OWNER, type SessionWorld } from './session-world.ts';

/** A session with a folder that it works in. */
export interface Project {
  readonly world: SessionWorld;
  readonly history: SessionHistory;
  readonly workspaces: WorkspaceStore;
  readonly directory: string;
}

/** Where a test comes between. */
export interface Seams {
  readonly files?: (directory: string) => Partial<FileSystem>;
  readonly faults?: (directory: string) => FaultPoints;
  /** Asked each time that the session's folder is. */
  readonly directoryOf?: (directory: string) => string | null | Promise<string | null>;
}

export async function withProject(body: (project: Project) => Promise<void>, seams: Seams = {}): Promise<void> {
  await using world = await openSessionWorld();
  const base = join(world.file, '..');
  const directory = join(base, 'workspace');
  fs.mkdirSync(directory);
  const context = { clock: systemClock, ids: createIds(systemClock), hooks: [] };
  const { store } = world;
  const files = { ...nodeFileSystem, ...seams.files?.(directory) };
  const workspaces = new WorkspaceStore({ store, folder: join(base, 'workspace-cas'), files, ...context });
  const pen = new SessionPen(store, context);
  const faults = seams.faults?.(directory) ?? noFaults;
  const directoryOf = () => (seams.directoryOf ? seams.directoryOf(directory) : directory);
  const history = new SessionHistory({ store, context, pen, workspaces, directoryOf, faults });
  await body({ world, history, workspaces, directory });
}

export const put = ({ directory }: Project, files: Record<string, string>): void => {
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(join(directory, name, '..'), { recursive: true });
    fs.writeFileSync(join(directory, name), text);
  }
};

/** The regular files of the workspace and what is in them. */
export function files({ directory }: Project): Record<string, string> {
  const names = (fs.readdirSync(directory, { recursive: true }) as string[]).toSorted();
  const regular = names.filter((name) => fs.statSync(join(directory, name)).isFile());
  return Object.fromEntries(regular.map((name) => [name, fs.readFileSync(join(directory, name), 'utf8')]));
}

export const say = ({ world }: Project, content: string, branchId = world.root) =>
  world.store.write('t', (tx) => beginTurn(tx, world.context, AGENT, { rootFrameId: world.root, branchId, content }));

export const point = ({ world, history }: Project, branchId = world.root): Promise<Checkpoint> =>
  history.checkpoint(OWNER, { rootFrameId: world.root, branchId, reason: 'test' });

/** The messages that the active branch shows. */
export async function shown({ world }: Project): Promise<string[]> {
  const { activeBranchId } = await world.store.read('t', (tx) => requireSession(tx, OWNER, world.root));
  const of = { rootFrameId: world.root, branchId: activeBranchId };
  const page = await world.store.read('t', (tx) => visibleMessages(tx, OWNER, of));
  return page.items.map((message) => message.content);
}

export const OLD = { 'a.txt': 'old', 'b/c.txt': 'old', 'only-old': 'x' };
export const NEW = { 'a.txt': 'new', 'b/c.txt': 'newer', 'only-new/d': 'y' };

/** A session with a checkpoint on `OLD`, and work after it that made it `NEW`. */
export async function withWork(project: Project): Promise<Checkpoint> {
  put(project, OLD);
  await say(project, 'one');
  const target = await point(project);
  put(project, NEW);
  fs.rmSync(join(project.directory, 'only-old'));
  await say(project, 'two');
  return target;
}

/** A revert that was begun with what is in the folder now, and whose process is gone. */
export async function beginRevert({ world, workspaces, directory }: Project, target: Checkpoint): Promise<void> {
  const { treeId: undoTreeId } = await workspaces.capture(directory);
  const targetCheckpointId = target.checkpointId;
  const restore = { rootFrameId: world.root, kind: 'revert', targetCheckpointId, undoTreeId } as const;
  await world.store.write('t', (tx) => beginRestore(tx, world.context, OWNER, restore));
}
