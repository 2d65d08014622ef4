import { join, sep } from 'node:path';
import type { FaultPoints } from '../core/index.ts';
import {
  SessionArtifacts,
  type SessionContext,
  SessionHistory,
  SessionPen,
  workspaceOf,
  WorkspaceStore,
} from '../sessions/index.ts';
import type { Store } from '../store/index.ts';
import { DATA_FILES } from './data-folder.ts';

/** The history of the sessions of one data folder, with the folders they work in. */
export interface Histories {
  readonly history: SessionHistory;
  readonly workspaces: WorkspaceStore;
  readonly pen: SessionPen;
  /** The folder that a session works in, or null. */
  readonly directoryOf: (rootFrameId: string) => Promise<string | null>;
  /** Artifacts with the bytes of their versions. */
  readonly artifacts: SessionArtifacts;
}

/** Puts it together. `given` says which folder a session works in; where it says nothing, what was bound to it does. */
export function openHistories(of: {
  readonly store: Store;
  readonly dataDir: string;
  readonly context: SessionContext;
  readonly given: ((rootFrameId: string) => string | null) | undefined;
  readonly faults: FaultPoints;
}): Histories {
  const { store, dataDir, context, given, faults } = of;
  const { clock, ids } = context;
  const workspaces = new WorkspaceStore({ store, folder: join(dataDir, DATA_FILES.workspaces), clock, ids, faults });
  const pen = new SessionPen(store, context);
  const directoryOf = async (rootFrameId: string): Promise<string | null> => {
    const named = given?.(rootFrameId) ?? null;
    if (named !== null) return named;
    const bound = await store.read('app.workspace', (tx) => workspaceOf(tx, rootFrameId));
    return bound === null ? null : inThisFolder(dataDir, rootFrameId, bound);
  };
  const history = new SessionHistory({ store, context, pen, workspaces, directoryOf, faults });
  const artifacts = new SessionArtifacts({ store, context, workspaces });
  return { history, workspaces, pen, directoryOf, artifacts };
}

/** The folder that an imported session works in unless it was bound to another one. */
export const importedWorkspace = (dataDir: string, rootFrameId: string): string =>
  join(dataDir, DATA_FILES.imports, rootFrameId, 'workspace');

/** An import's own folder lies in the data folder, wherever that was moved or copied to since. */
function inThisFolder(dataDir: string, rootFrameId: string, bound: string): string {
  const isOwn = bound.endsWith(importedWorkspace(sep, rootFrameId));
  return isOwn ? importedWorkspace(dataDir, rootFrameId) : bound;
}
