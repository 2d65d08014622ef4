import { fail } from '../core/index.ts';
import type { Store, Tx } from '../store/index.ts';
import type { SessionContext } from './ledger.ts';
import type { Principal } from './model.ts';
import {
  addArtifactVersion,
  ARTIFACT,
  type ArtifactVersion,
  findVersion,
  type NewVersion,
} from './records/artifacts.ts';
import { addRecord } from './records/record-rows.ts';
import { requireSession } from './service.ts';
import type { WorkspaceStore } from './workspace/index.ts';

export interface SessionArtifactsOptions {
  readonly store: Store;
  readonly context: SessionContext;
  readonly workspaces: WorkspaceStore;
}

/** What becomes a version of the artifact of that name, which is made where the session has none. */
export interface NewArtifactBytes
  extends Omit<NewVersion, 'artifactId' | 'sizeBytes' | 'checksum' | 'snapshotSha256' | 'available'> {
  readonly filename: string;
  readonly bytes: Uint8Array | AsyncIterable<Uint8Array>;
}

const BY_NAME = `SELECT artifact_id FROM artifacts WHERE root_frame_id = ? AND filename = ? COLLATE NOCASE`;

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** The artifacts of sessions together with the bytes of their versions. */
export class SessionArtifacts {
  readonly #options: SessionArtifactsOptions;

  constructor(options: SessionArtifactsOptions) {
    this.#options = options;
  }

  /**
   * Keeps the bytes, then records them as the newest version of the artifact of that name: a version that is there has
   * its bytes, durable and proved. At most `artifactVersionBytes` bytes: LIMIT_REACHED. SESSION_NOT_FOUND, else as
   * `addArtifactVersion`. Bytes whose version was refused go with a later collection. `within` writes in the same commit.
   */
  async add(
    principal: Principal,
    rootFrameId: string,
    asked: NewArtifactBytes,
    within?: (tx: Tx, version: ArtifactVersion) => Promise<void>,
  ): Promise<ArtifactVersion> {
    const { store, context, workspaces } = this.#options;
    const { filename: _filename, bytes, ...version } = asked;
    await store.read('sessions.artifact', (tx) => requireSession(tx, principal, rootFrameId));
    const kept = await workspaces.keepContent(bytes instanceof Uint8Array ? once(bytes) : bytes);
    return store.write('sessions.artifact', async (tx) => {
      const artifactId = await this.#artifact(tx, principal, rootFrameId, asked);
      const sealed = { sizeBytes: kept.size, checksum: kept.sha256, snapshotSha256: kept.sha256 };
      const added = await addArtifactVersion(tx, context, principal, rootFrameId, {
        ...version,
        ...sealed,
        artifactId,
      });
      await within?.(tx, added);
      return added;
    });
  }

  async #artifact(tx: Tx, principal: Principal, root: string, asked: NewArtifactBytes): Promise<string> {
    const row = await tx.get(BY_NAME, [root, asked.filename]);
    if (row) return String(row['artifact_id']);
    const { filename, contentType = null } = asked;
    return (await addRecord(tx, this.#options.context, principal, root, ARTIFACT, { filename, contentType })).id;
  }

  /**
   * A version with its bytes, chunk by chunk; their digest is proved at the end. RECORD_NOT_FOUND, ARTIFACT_BYTES_MISSING
   * for a version that came without them; WORKSPACE_PACK_CORRUPT while they are read.
   */
  async read(
    principal: Principal,
    versionId: string,
  ): Promise<{ readonly version: ArtifactVersion; readonly bytes: AsyncIterable<Uint8Array> }> {
    const { store, workspaces } = this.#options;
    const version = await store.read('sessions.artifact', (tx) => findVersion(tx, principal, versionId));
    if (!version.available || version.snapshotSha256 === null)
      throw fail('ARTIFACT_BYTES_MISSING', 'The bytes of this version are not kept here.');
    return { version, bytes: workspaces.readBlob(version.snapshotSha256) };
  }
}
