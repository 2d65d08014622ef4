/** Why a name of the workspace is not in a tree. It is never written, and never removed, by a restore. */
export type SkipReason =
  | 'excluded'
  | 'secret_or_excluded'
  | 'not_regular_file'
  | 'too_large'
  | 'unreadable'
  | 'changed_while_read';

export interface TreeEntry {
  /** Relative, with `/`. */
  readonly path: string;
  /** SHA-256 of the content. */
  readonly blob: string;
  readonly size: number;
  /** Permission bits, 0 to 0o777. */
  readonly mode: number;
}

export interface SkippedName {
  readonly path: string;
  readonly reason: string;
}

/** A workspace as it was: its files by path, and what was left out. Sorted by code point. */
export interface WorkspaceTree {
  readonly entries: readonly TreeEntry[];
  readonly skipped: readonly SkippedName[];
}

/** What the file system said of a file when it was captured; a restore refuses to replace what has changed since. */
export interface SeenFile {
  readonly size: number;
  readonly modifiedMs: number;
  readonly changedMs: number;
  readonly identity: string;
}

export interface Capture {
  /** SHA-256 of the canonical tree document. */
  readonly treeId: string;
  readonly tree: WorkspaceTree;
  /** False when this very tree was stored already. */
  readonly created: boolean;
  /** Files whose content was read; the rest was known by name, size and times. */
  readonly filesRead: number;
  /** What a captured file was. */
  seen(path: string): SeenFile | undefined;
  /** Which captured files another machine may not take. */
  travelling(): Travelling;
}

export interface Travelling {
  /** Names that are one name on some file systems: a package with both is refused. */
  readonly collisions: readonly (readonly string[])[];
  /** Names that a package cannot carry. */
  readonly cannotTravel: readonly string[];
}

/** How one path differs from a tree to another. */
export interface TreeChange {
  readonly path: string;
  readonly change: 'added' | 'removed' | 'changed' | 'mode';
}
