import { type ArchiveOptions, bytesSource, openArchive } from '../../../src/archive/index.ts';

/** Opens an archive and reads every member to its end: what a verifier must do before it believes anything. */
export async function readAll(bytes: Buffer, options: ArchiveOptions = {}): Promise<Map<string, Buffer>> {
  const archive = await openArchive(bytesSource(bytes), options);
  const contents = new Map<string, Buffer>();
  for (const member of archive.members) contents.set(member.name, await archive.bytes(member.name, Infinity));
  return contents;
}
