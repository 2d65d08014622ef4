import { bytesHoldSecret, isSecretPath } from '../../archive/index.ts';
import { canonicalJson, LIMITS, REDACTED, redactText } from '../../core/index.ts';
import {
  type SkippedName,
  type TreeEntry,
  treeIdOf,
  type WorkspaceStore,
  type WorkspaceTree,
} from '../../sessions/index.ts';
import { notExportable } from './guard.ts';

export const EMPTY_TREE: WorkspaceTree = { entries: [], skipped: [] };
export const EMPTY_TREE_ID = treeIdOf(EMPTY_TREE);

const FILTERED = 'session_package_secret_filter';

/** The workspace trees of a package: those of the source without what may not travel, and the bytes they need. */
export class PackagedTrees {
  readonly #workspaces: WorkspaceStore;
  readonly #known: readonly string[];
  /** What is looked at of a content at a time. */
  readonly #buffer = Buffer.allocUnsafe(256 * 1024);
  readonly #secret = new Map<string, boolean>();
  readonly #trees = new Map<string, { readonly treeId: string; readonly text: string }>();
  readonly blobs = new Map<string, number>();
  #entries = 0;

  constructor(workspaces: WorkspaceStore, knownSecrets: readonly string[]) {
    this.#workspaces = workspaces;
    this.#known = knownSecrets;
  }

  /** From the trees of the source to those of the package. */
  get map(): Record<string, string> {
    return Object.fromEntries([...this.#trees].map(([source, { treeId }]) => [source, treeId]));
  }

  /** The documents, each once. */
  get documents(): ReadonlyMap<string, string> {
    return new Map([...this.#trees.values()].map(({ treeId, text }) => [treeId, text]));
  }

  /** Takes a tree of the source; one that is not given is read from the store. */
  async take(sourceTreeId: string, given?: WorkspaceTree): Promise<void> {
    if (this.#trees.has(sourceTreeId)) return;
    const source = given ?? (await this.#workspaces.readTree(sourceTreeId));
    this.#entries += source.entries.length;
    if (this.#entries > LIMITS.packageWorkspaceEntries) throw notExportable('it has too many workspace entries');
    const tree = await this.#filtered(source);
    const treeId = treeIdOf(tree);
    const document = {
      version: 1,
      entries: tree.entries.map(plain),
      skipped: tree.skipped.map(plain),
      tree_id: treeId,
    };
    this.#trees.set(sourceTreeId, { treeId, text: canonicalJson(document) });
    for (const { blob, size } of tree.entries) this.blobs.set(blob, size);
  }

  async #filtered({ entries, skipped }: WorkspaceTree): Promise<WorkspaceTree> {
    const kept: TreeEntry[] = [];
    const left = new Map<string, SkippedName>();
    const leave = (path: string, reason: string): void => {
      const shown = redactText(path) === path ? path : REDACTED;
      if (!left.has(shown)) left.set(shown, { path: shown, reason });
    };
    for (const { path, reason } of skipped) leave(path, reason);
    for (const { path, blob, size, mode } of entries) {
      const hidden = isSecretPath(path) || redactText(path) !== path || (await this.#holdsSecret(blob));
      if (hidden) leave(path, FILTERED);
      // A file that nobody may read would be refused elsewhere: its owner may.
      else kept.push({ path, blob, size, mode: mode === 0 ? 0o600 : mode });
    }
    const order = (a: { path: string }, b: { path: string }): number =>
      Buffer.compare(Buffer.from(a.path), Buffer.from(b.path));
    return { entries: kept.toSorted(order), skipped: [...left.values()].toSorted(order) };
  }

  /** Looked at once for each content, whole. */
  async #holdsSecret(blob: string): Promise<boolean> {
    const known = this.#secret.get(blob);
    if (known !== undefined) return known;
    const holds = await bytesHoldSecret(this.#workspaces.readBlob(blob, this.#buffer), this.#known);
    this.#secret.set(blob, holds);
    return holds;
  }
}

const plain = <T extends object>(item: T): { [key in keyof T]: T[key] } => ({ ...item });
