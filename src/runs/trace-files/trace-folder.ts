import { dirname, join } from 'node:path';
import {
  canonicalJson,
  errnoOf,
  type FileSystem,
  type Ids,
  type JsonObject,
  LIMITS,
  readFileWithin,
  requireWithin,
  syncFolder,
  writeFileDurably,
} from '../../core/index.ts';
import { corrupt, objectOf } from '../trace/documents.ts';

const TEMPORARY = '.tmp-';
const NUMBER_DIGITS = 6;

export interface FolderContext {
  readonly files: FileSystem;
  /** Names of temporary files. */
  readonly ids: Ids;
}

/** The files of one trace. Reading follows no links; writing replaces a whole file or nothing. */
export class TraceFolder {
  readonly path: string;
  readonly #files: FileSystem;
  readonly #ids: Ids;

  constructor(path: string, context: FolderContext) {
    this.path = path;
    this.#files = context.files;
    this.#ids = context.ids;
  }

  pathOf(name: string): string {
    return join(this.path, name);
  }

  /** Whether something stands at a name. */
  exists(name: string): boolean {
    return this.#entry(name) !== undefined;
  }

  /** The bytes of a file; null where it is missing. Throws `TRACE_CORRUPT` for what is no file, or a too large one. */
  read(name: string, most: number = LIMITS.traceDocumentBytes): Uint8Array | null {
    const facts = this.#entry(name);
    if (facts === undefined) return null;
    if (facts.kind !== 'file') throw corrupt(`${roleOf(name)} is not a file`);
    const bytes = readFileWithin(this.#files, this.pathOf(name), most);
    if (bytes === undefined) throw corrupt(`${roleOf(name)} is too large`);
    return bytes;
  }

  readObject(name: string): JsonObject | null {
    const bytes = this.read(name);
    return bytes === null ? null : objectOf(bytes, roleOf(name));
  }

  writeObject(name: string, document: JsonObject): void {
    const bytes = Buffer.from(canonicalJson(document));
    requireWithin('traceDocumentBytes', bytes.byteLength);
    this.write(name, bytes);
  }

  write(name: string, bytes: Uint8Array): void {
    const path = this.pathOf(name);
    if (dirname(name) !== '.') this.#makeSubfolder(dirname(name));
    writeFileDurably(this.#files, path, join(dirname(path), `${TEMPORARY}${this.#ids.next()}`), bytes);
  }

  /** Takes back what was just written; the first error is the one to tell. */
  removeQuietly(name: string): void {
    try {
      this.#files.unlink(this.pathOf(name));
    } catch {
      // A check of the trace's integrity finds what stays.
    }
  }

  /** The numbers of the files `<number>.json` in a subfolder, in order. Throws `TRACE_CORRUPT` for any other name. */
  numbers(subfolder: string): readonly number[] {
    return this.#names(subfolder).map((name) => {
      const digits = /^(\d{6,8})\.json$/.exec(name)?.[1];
      if (digits === undefined) throw corrupt(`the folder ${subfolder} holds something else`);
      return Number(digits);
    });
  }

  /** Removes temporary files that a killed process left. Only under the trace's lock. */
  sweep(): void {
    for (const subfolder of ['.', 'messages', 'events', 'attachments'])
      for (const name of this.#allNames(subfolder))
        if (name.startsWith(TEMPORARY)) this.removeQuietly(join(subfolder, name));
  }

  #makeSubfolder(name: string): void {
    if (this.exists(name)) return;
    this.#files.mkdir(this.pathOf(name), 0o700);
    syncFolder(this.#files, this.path);
  }

  #names(subfolder: string): readonly string[] {
    return this.#allNames(subfolder).filter((name) => !name.startsWith('.'));
  }

  #allNames(subfolder: string): readonly string[] {
    try {
      return this.#files.readdir(this.pathOf(subfolder));
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return [];
      throw error;
    }
  }

  #entry(name: string) {
    try {
      return this.#files.lstat(this.pathOf(name));
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return undefined;
      throw error;
    }
  }
}

/** The name of the file of a numbered record. */
export function numberedFile(subfolder: string, number: number): string {
  return `${subfolder}/${String(number).padStart(NUMBER_DIGITS, '0')}.json`;
}

function roleOf(name: string): string {
  return `the file ${name}`;
}
