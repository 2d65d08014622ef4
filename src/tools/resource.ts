/**
 * What a tool says about the things it may change. These are plain descriptions; `effects/` turns them into exact
 * references (a file's device and inode, a record's revision) just before the call.
 */

/** A file or folder below a root folder. `mayBeMissing` allows a target that does not exist yet. */
export interface FilesystemTarget {
  readonly kind: 'filesystem';
  readonly role: string;
  readonly root: string;
  readonly path: string;
  readonly mayBeMissing?: boolean;
}

/** A record of the host's own, such as a note or a ticket. */
export interface OwnedTarget {
  readonly kind: 'owned';
  readonly role: string;
  readonly namespace: string;
  readonly owner: string;
  readonly threadId: string;
  readonly collection: string;
  readonly recordId: string;
  readonly revision?: string;
}

/** Something behind a service that Holdfast cannot look into. */
export interface ExternalTarget {
  readonly kind: 'external';
  readonly role: string;
  readonly namespace: string;
  readonly owner?: string;
  readonly endpointId: string;
  readonly serverId: string;
  readonly toolId: string;
  readonly incarnation?: string;
}

export type ResourceTarget = FilesystemTarget | OwnedTarget | ExternalTarget;

/** What one call may change: a list of targets, or `anything` for a tool whose reach nobody can name (a shell). */
export type ResourceScope = readonly ResourceTarget[] | 'anything';

/** A required end state of the declared target with this `role`. `expected` is a SHA-256 for the content predicates. */
export interface ToolPostcondition {
  readonly role: string;
  readonly predicate: 'exists' | 'absent' | 'content_sha256' | 'content_changed';
  readonly expected?: string;
}

/**
 * What a reading, made after the call, saw of the declared target with this `role`. What a tool returns is never an
 * observation: an observation names the mechanism that looked.
 */
export interface ToolObservation {
  readonly role: string;
  readonly mechanism: 'filesystem_read' | 'owned_record_read' | 'remote_readback';
  readonly coverage: 'complete' | 'partial';
  /** Null when the reading could not tell. */
  readonly exists: boolean | null;
  readonly contentSha256?: string;
}
