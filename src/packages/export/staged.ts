import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { ManifestRow, NewMember } from '../../archive/index.ts';
import { canonicalJson, compareCodePoints, type FileSystem, type JsonValue, writeAll } from '../../core/index.ts';
import { fileChunks } from '../import/files.ts';
import type { SafeText } from './safe-text.ts';

/** What is written to a file at once. */
const BUFFER_BYTES = 256 * 1024;
/** A unit of a text becomes at most so many bytes. */
const UNIT_BYTES = 3;

/** A list of a document whose records are read one by one, so that no document is ever in memory whole. */
export type StagedList = AsyncIterable<JsonValue | RecordPage | RecordTexts | StagedRecord>;
export type DocumentMembers = Readonly<Record<string, JsonValue | StagedList>>;

/** Records, one after the other: a list of many is not asked for each of them. */
export class RecordPage {
  readonly records: readonly JsonValue[];

  constructor(records: readonly JsonValue[]) {
    this.records = records;
  }
}

/** Records, one after the other, as the canonical texts that they have already. */
export class RecordTexts {
  readonly texts: readonly string[];

  constructor(texts: readonly string[]) {
    this.texts = texts;
  }
}

/** A record of which a member is a list that is read while it is written. */
export class StagedRecord {
  readonly members: DocumentMembers;

  constructor(members: DocumentMembers) {
    this.members = members;
  }
}

const isStream = (value: JsonValue | StagedList): value is StagedList =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value;

/** The files of a package that is being built, in a folder of their own: name, size and digest of each. */
export class StagedFiles {
  readonly #files: FileSystem;
  readonly #folder: string;
  readonly #rows: ManifestRow[] = [];
  readonly #members: NewMember[] = [];

  readonly #safe: SafeText;

  constructor(files: FileSystem, folder: string, safe: SafeText) {
    this.#files = files;
    this.#folder = folder;
    this.#safe = safe;
  }

  get rows(): readonly ManifestRow[] {
    return this.#rows;
  }

  get members(): readonly NewMember[] {
    return this.#members;
  }

  /** A member whose content lies elsewhere and has this digest. */
  add(row: ManifestRow, content: NewMember['content']): void {
    this.#rows.push(row);
    this.#members.push({ name: row.path, size: row.size, content });
  }

  addText(path: string, text: Uint8Array | string): void {
    const bytes = Buffer.from(text);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    this.add({ path, size: bytes.length, sha256 }, () => [bytes]);
  }

  /** A canonical document without secrets. Written by synchronous calls: it may be read from within a transaction. */
  async addDocument(name: string, members: DocumentMembers): Promise<void> {
    const path = join(this.#folder, name);
    const out = new DocumentFile(this.#files, path);
    try {
      await writeMembers(out, members, this.#safe, 0);
      out.flush();
    } finally {
      out.close();
    }
    this.add({ path: name, ...out.sealed() }, () => fileChunks(this.#files, path, Buffer.allocUnsafe(BUFFER_BYTES)));
  }
}

/**
 * `depth` is how deep the values lie in what redaction looks at as one: 0 for values of the document and for records of
 * its lists.
 */
async function writeMembers(out: DocumentFile, members: DocumentMembers, safe: SafeText, depth: number): Promise<void> {
  let mark = '{';
  for (const key of Object.keys(members).sort(compareCodePoints)) {
    out.text(`${mark}${canonicalJson(key)}:`);
    mark = ',';
    const value = members[key] as JsonValue | StagedList;
    if (isStream(value)) await writeList(out, value, safe, depth === 0 ? 0 : depth + 1);
    else out.text(safe.of(value, depth));
  }
  out.text('}');
}

async function writeList(out: DocumentFile, list: StagedList, safe: SafeText, depth: number): Promise<void> {
  let mark = '[';
  const begin = (): void => {
    out.text(mark);
    mark = ',';
  };
  const put = (text: string): void => {
    begin();
    out.text(text);
  };
  for await (const item of list) {
    if (item instanceof RecordTexts) for (const text of item.texts) put(safe.ofText(text, depth));
    else if (item instanceof RecordPage) for (const record of item.records) put(safe.of(record, depth));
    else if (item instanceof StagedRecord) {
      begin();
      await writeMembers(out, item.members, safe, depth + 1);
    } else put(safe.of(item, depth));
  }
  out.text(mark === '[' ? '[]' : ']');
}

class DocumentFile {
  readonly #files: FileSystem;
  readonly #fd: number;
  readonly #hash = createHash('sha256');
  readonly #buffer = Buffer.allocUnsafe(BUFFER_BYTES);
  #buffered = 0;
  #size = 0;

  constructor(files: FileSystem, path: string) {
    this.#files = files;
    this.#fd = files.open(path, 'wx', 0o600);
  }

  text(text: string): void {
    if (text.length * UNIT_BYTES > BUFFER_BYTES - this.#buffered) this.flush();
    if (text.length * UNIT_BYTES > BUFFER_BYTES) this.#put(Buffer.from(text));
    else this.#buffered += this.#buffer.write(text, this.#buffered);
  }

  /** Writes down what was put in so far. */
  flush(): void {
    this.#put(this.#buffer.subarray(0, this.#buffered));
    this.#buffered = 0;
  }

  #put(bytes: Uint8Array): void {
    this.#hash.update(bytes);
    this.#size += bytes.length;
    writeAll(this.#files, this.#fd, bytes);
  }

  close(): void {
    this.#files.close(this.#fd);
  }

  sealed(): Pick<ManifestRow, 'size' | 'sha256'> {
    return { size: this.#size, sha256: this.#hash.digest('hex') };
  }
}
