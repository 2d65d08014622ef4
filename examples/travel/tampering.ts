// Five ways to tamper with a package, from the crudest to the one that only a signature shows.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import {
  bytesSource,
  MANIFEST_NAME,
  type ManifestRow,
  openArchive,
  sealManifest,
  writeArchive,
} from '../../src/archive/index.ts';

type Files = Map<string, Buffer>;

export interface Tampering {
  readonly what: string;
  /** The arguments of `holdfast verify`, after the file, with which it is named. */
  readonly asked: readonly string[];
  /** True where every digest is right, so that nothing but the signature tells. */
  readonly onlySigned?: true;
  /** What the report says of it. */
  readonly named: RegExp;
  readonly tamper: (bytes: Buffer) => Buffer | Promise<Buffer>;
}

export const TAMPERINGS: readonly Tampering[] = [
  {
    what: 'One bit is flipped on the way',
    asked: [],
    named: /corrupt package member: '[^']+'/,
    tamper: flipped,
  },
  {
    what: 'A sentence of the conversation is edited',
    asked: [],
    named: /hash mismatch: session\.json/,
    tamper: (bytes) =>
      repacked(bytes, (files) => edit(files, 'session.json', (text) => text.replace('is written', 'was paid'))),
  },
  {
    what: 'A file is smuggled in',
    asked: [],
    named: /unlisted[^"]*extra\.json/,
    tamper: (bytes) => repacked(bytes, (files) => void files.set('extra.json', Buffer.from('{}'))),
  },
  {
    what: 'A record is moved to a branch that is not there, and the manifest is made to fit',
    asked: ['--deep'],
    named: /references an unknown identity[^"]*branch[^"]*|branch[^"]*references an unknown identity[^"]*/,
    tamper: (bytes) =>
      resealed(bytes, (files) =>
        edit(files, 'ledger.json', (text) => text.replace(/"branch_id":"[^"]+"/, '"branch_id":"elsewhere"')),
      ),
  },
  {
    what: 'The sentence is edited, and the manifest is made to fit: every digest is right',
    asked: ['--deep', '--trusted', 'trusted.txt', '--signature', 'report.zip.sig'],
    onlySigned: true,
    named: /other_package/,
    tamper: (bytes) =>
      resealed(bytes, (files) => edit(files, 'session.json', (text) => text.replace('is written', 'was paid'))),
  },
];

/** In the middle of the first member's compressed bytes. */
function flipped(bytes: Buffer): Buffer {
  const name = bytes.readUInt16LE(26);
  const size = bytes.readUInt32LE(18);
  const damaged = Buffer.from(bytes);
  const at = 30 + name + bytes.readUInt16LE(28) + (size >> 1);
  damaged[at] = (damaged[at] ?? 0) ^ 0x10;
  return damaged;
}

async function filesOf(bytes: Buffer): Promise<Files> {
  const archive = await openArchive(bytesSource(bytes));
  const files: Files = new Map();
  for (const { name } of archive.members) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of archive.content(name)) chunks.push(chunk);
    files.set(name, Buffer.concat(chunks));
  }
  return files;
}

async function packed(files: Files): Promise<Buffer> {
  const members = [...files].map(([name, content]) => ({ name, content: () => [content] }));
  const chunks: Buffer[] = [];
  for await (const chunk of writeArchive(members)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function edit(files: Files, name: string, change: (text: string) => string): void {
  const text = files.get(name)?.toString() ?? '';
  const edited = change(text);
  if (edited === text) throw new Error(`${name} has nothing to edit`);
  files.set(name, Buffer.from(edited));
}

async function repacked(bytes: Buffer, change: (files: Files) => void): Promise<Buffer> {
  const files = await filesOf(bytes);
  change(files);
  return packed(files);
}

/** What someone does who knows the format: every digest is made again. */
async function resealed(bytes: Buffer, change: (files: Files) => void): Promise<Buffer> {
  const files = await filesOf(bytes);
  change(files);
  files.delete(MANIFEST_NAME);
  const rows = [...files].map(
    ([path, content]): ManifestRow => ({
      path,
      size: content.length,
      sha256: createHash('sha256').update(content).digest('hex'),
    }),
  );
  files.set(MANIFEST_NAME, Buffer.from(sealManifest(rows).text));
  return packed(files);
}

export async function writeTampered(good: string, bad: string, { tamper }: Tampering): Promise<void> {
  writeFileSync(bad, await tamper(readFileSync(good)));
}
