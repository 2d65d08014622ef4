import type { FileSystem } from '../../core/index.ts';
import { type BlobPlace, type PackWriter, readPackIndex } from './pack.ts';

/**
 * What lies in which pack, as the indexes of the packs say. One that cannot be read keeps no other from being used: what
 * lies in it alone is missing.
 */
export class PackIndex {
  readonly #files: FileSystem;
  readonly #folder: string;
  readonly #places = new Map<string, BlobPlace>();
  readonly #known = new Set<string>();
  readonly #unreadable = new Map<string, unknown>();

  constructor(files: FileSystem, folder: string) {
    this.#files = files;
    this.#folder = folder;
  }

  has(sha: string): boolean {
    return this.#places.has(sha);
  }

  get(sha: string): BlobPlace | undefined {
    return this.#places.get(sha);
  }

  /** Packs that are named and could not be read when they were looked at last, and why. */
  get unreadable(): ReadonlyMap<string, unknown> {
    return this.#unreadable;
  }

  /** Learns of packs that others have written, and forgets those that were collected. */
  learn(there: ReadonlySet<string>): void {
    // What lay in a pack that is gone may lie in another one too: all that there are are read again.
    if ([...this.#known].some((known) => !there.has(known))) this.forget();
    this.#unreadable.clear();
    for (const id of there) if (!this.#known.has(id)) this.#read(id);
  }

  #read(id: string): void {
    try {
      for (const [sha, place] of readPackIndex(this.#files, this.#folder, id)) this.#places.set(sha, place);
      this.#known.add(id);
    } catch (error) {
      this.#unreadable.set(id, error);
    }
  }

  /** Takes what a pack holds that this process wrote. */
  add(pack: PackWriter): void {
    for (const [sha, place] of pack.places) this.#places.set(sha, place);
    this.#known.add(pack.id);
  }

  forget(): void {
    this.#known.clear();
    this.#places.clear();
  }
}
