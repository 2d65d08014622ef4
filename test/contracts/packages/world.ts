import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { approvalSessionHooks, approvalsSchema } from '../../../src/approvals/index.ts';
import { autonomyHooks, autonomySchema } from '../../../src/autonomy/index.ts';
import { createIds, type FaultPoints, type FileSystem, nodeFileSystem, noFaults } from '../../../src/core/index.ts';
import {
  type AutoModePort,
  autonomyPort,
  type PackageContext,
  type PackageSeams,
  packagesSchema,
  SessionPackages,
} from '../../../src/packages/index.ts';
import { type SessionContext, sessionsSchema, WorkspaceStore } from '../../../src/sessions/index.ts';
import { type Store, STORE_SCHEMAS } from '../../../src/store/index.ts';
import { openSqliteStore } from '../../../src/store/sqlite/index.ts';
import { type ManualClock, manualClock } from '../../support/clock.ts';
import { newDatabase } from '../../support/new-database.ts';

export { OWNER, refusal, STRANGER } from '../../support/session-world.ts';

export const PACKAGE_SCHEMAS = [...STORE_SCHEMAS, sessionsSchema, approvalsSchema, autonomySchema, packagesSchema];

export interface PackageWorldOptions {
  readonly folder?: string;
  readonly secrets?: Readonly<Record<string, string>>;
  /** What keeps autonomous runs instead of the usual tables; null for nothing. */
  readonly autoMode?: AutoModePort | null;
  readonly seams?: PackageSeams;
  readonly limits?: PackageContext['limits'];
  readonly faults?: FaultPoints;
  readonly files?: FileSystem;
}

/** One installation: a store, a workspace store and folders of its own, with nothing in them. */
export interface PackageWorld {
  readonly folder: string;
  readonly store: Store;
  readonly clock: ManualClock;
  readonly sessions: SessionContext;
  readonly workspaces: WorkspaceStore;
  readonly packages: SessionPackages;
  readonly context: PackageContext;
  /** The same installation with other seams or bounds. */
  with(options: PackageWorldOptions): SessionPackages;
  workspaceOf(root: string): string;
  raw(): DatabaseSync;
  count(table: string): number;
  /** Files under a folder of the installation, relative. */
  filesUnder(name: string): string[];
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function openPackageWorld(options: PackageWorldOptions = {}): Promise<PackageWorld> {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'holdfast-packages-'));
  const file = join(folder, 'holdfast.db');
  const clock = manualClock();
  const ids = createIds(clock);
  const sessions: SessionContext = { clock, ids, hooks: [approvalSessionHooks, autonomyHooks] };
  if (options.folder === undefined) await newDatabase(file, PACKAGE_SCHEMAS);
  const store = await openSqliteStore({ file, schemas: PACKAGE_SCHEMAS });
  const workspaces = new WorkspaceStore({ store, folder: join(folder, 'workspace-cas'), clock, ids });
  const workspaceOf = (root: string): string => join(folder, 'workspaces', root);
  const contextOf = (own: PackageWorldOptions): PackageContext => ({
    store,
    sessions,
    clock,
    ids,
    workspaces,
    importsFolder: join(folder, 'session-imports'),
    stagingFolder: join(folder, 'package-staging'),
    workspaceOf: async (root) => workspaceOf(root),
    importedWorkspaceOf: workspaceOf,
    configuredSecrets: () => own.secrets ?? {},
    files: own.files ?? nodeFileSystem,
    faults: own.faults ?? noFaults,
    ...(own.autoMode === null ? {} : { autoMode: own.autoMode ?? autonomyPort(sessions) }),
    ...(own.limits ? { limits: own.limits } : {}),
  });
  const packagesOf = (own: PackageWorldOptions) => new SessionPackages(contextOf(own), own.seams);
  const raw = (): DatabaseSync => new DatabaseSync(file);
  const close = async (): Promise<void> => {
    await store.close();
    if (options.folder === undefined) rmSync(folder, { recursive: true, force: true });
  };
  return {
    folder,
    store,
    clock,
    sessions,
    workspaces,
    packages: packagesOf(options),
    context: contextOf(options),
    with: (own) => packagesOf({ ...options, ...own }),
    workspaceOf,
    raw,
    count(table) {
      const db = raw();
      try {
        return Number(db.prepare(`SELECT COUNT(*) AS rows FROM ${table}`).get()?.['rows']);
      } finally {
        db.close();
      }
    },
    filesUnder: (name) => filesUnder(join(folder, name)),
    close,
    [Symbol.asyncDispose]: close,
  };
}

export function filesUnder(folder: string): string[] {
  mkdirSync(folder, { recursive: true });
  const names = readdirSync(folder, { recursive: true }) as string[];
  return names.filter((name) => statSync(join(folder, name)).isFile()).sort();
}
