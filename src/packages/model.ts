import type { AutoModePort } from './auto-mode/model.ts';
import type { Clock, FaultPoints, FileSystem, Ids } from '../core/index.ts';
import type { RecordLimits } from '../archive/index.ts';
import type { SessionContext, WorkspaceStore } from '../sessions/index.ts';
import type { Store } from '../store/index.ts';

export const PACKAGE_CONTENT_TYPE = 'application/vnd.openai4s.session+zip';

/** What the use cases of packages need of the world; put together in the composition root. */
export interface PackageContext {
  readonly store: Store;
  readonly sessions: SessionContext;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly workspaces: WorkspaceStore;
  /** A folder for each import, `session-imports/<session>`; and where packages are built. Made when needed. */
  readonly importsFolder: string;
  readonly stagingFolder: string;
  /** The folder a session works in, whether it exists or not; null for a session that works in none. */
  readonly workspaceOf: (rootFrameId: string) => Promise<string | null>;
  /** A folder of our own for an imported session to work in: made by the import, removed with the session. */
  readonly importedWorkspaceOf: (rootFrameId: string) => string;
  /** Secrets of this installation by name: their values never travel, whatever they look like. */
  readonly configuredSecrets: () => Readonly<Record<string, string>>;
  /** Tools that this installation knows, with the secret fields of their arguments: those never travel. Default: none. */
  readonly secretTools?: () => ReadonlyMap<string, readonly string[]>;
  readonly autoMode?: AutoModePort;
  readonly files: FileSystem;
  readonly faults: FaultPoints;
  /** Bounds other than the usual ones. */
  readonly limits?: RecordLimits;
}

/** The longest a package may be, and what a secret has to be to be looked for: a shorter one would be found anywhere. */
const SECRET_UNITS = 8;

export function secretValues({ configuredSecrets }: PackageContext): string[] {
  return Object.values(configuredSecrets()).filter((value) => value.length >= SECRET_UNITS);
}

/** What an import answers. */
export interface ImportResult {
  readonly ok: true;
  readonly project_id: string;
  readonly root_frame_id: string;
  readonly active_branch_id: string;
  readonly package_sha256: string;
  readonly manifest_sha256: string;
  readonly schema_version: 1;
  readonly kernel_state: 'ended';
  readonly view_only: true;
  readonly explicit_recovery_required: true;
  readonly trust_state: 'quarantined';
  readonly injection_flags: number;
  readonly identity_remap: Readonly<Record<'actions' | 'artifacts' | 'versions' | 'cells' | 'checkpoints', number>>;
}
