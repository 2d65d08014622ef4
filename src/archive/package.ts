import { fail } from '../core/index.ts';
import { passing } from './chunk-memory.ts';
import { refusal } from './finding.ts';
import { type ManifestRow, readManifest } from './manifest.ts';
import { sealedContent, verifyFiles } from './package-files.ts';
import { printable } from './printable.ts';
import { type ArchiveOptions, openArchive } from './reader.ts';
import type { ByteSource } from './source.ts';

/** A package whose every file was compared with its manifest. Its source must stay open while it is read. */
export interface SessionPackage {
  readonly archiveSha256: string;
  /** The manifest's digest: the package's identity, whatever zlib packed it. */
  readonly manifestSha256: string;
  /** Every file but the manifest, by path. */
  readonly files: ReadonlyMap<string, ManifestRow>;
  /** A file in chunks, compared with the manifest again as it is read: believe it when the generator has ended. */
  content(path: string): AsyncGenerator<Buffer>;
  /** `content`, for who is done with a chunk when asking for the next: each is gone then, and leaves no garbage. */
  passing(path: string): AsyncGenerator<Buffer>;
  /** A whole file, compared again. Refused with ARCHIVE_MEMBER_TOO_LARGE when it is larger than `max` bytes. */
  bytes(path: string, max: number): Promise<Buffer>;
}

/**
 * Opens a package that must be right: the first thing that `verifyPackage` would report is thrown as an error instead.
 * This is where an import begins.
 */
export async function openPackage(source: ByteSource, options: ArchiveOptions = {}): Promise<SessionPackage> {
  const archive = await openArchive(source, options);
  const manifest = await readManifest(archive);
  const archiveSha256 = await archive.sha256();
  const { findings } = await verifyFiles(archive, manifest);
  await archive.checkUnchanged();
  const first = [...manifest.findings, ...findings][0];
  if (first) throw refusal(first);
  const row = (path: string): ManifestRow => {
    const found = manifest.rows.get(path);
    if (!found) throw fail('ARCHIVE_NO_MEMBER', `The package has no file '${printable(path)}'.`);
    return found;
  };
  const content = (path: string) => sealedContent(archive, row(path));
  return {
    archiveSha256,
    manifestSha256: manifest.digest ?? '',
    files: manifest.rows,
    content,
    passing: (path) => passing(content(path)),
    async bytes(path, max) {
      if (row(path).size > max)
        throw fail('ARCHIVE_MEMBER_TOO_LARGE', `'${printable(path)}' is larger than ${max} bytes.`);
      const chunks: Buffer[] = [];
      for await (const chunk of content(path)) chunks.push(chunk);
      return Buffer.concat(chunks);
    },
  };
}
