import { createHash } from 'node:crypto';
import {
  fileSource,
  openPackage,
  preflightPackage,
  type SecretScan,
  type SessionPackage,
} from '../../archive/index.ts';
import { fail, HoldfastError } from '../../core/index.ts';
import { planImport } from '../import/plan.ts';
import { PackageReader } from '../import/reader.ts';
import type { PackageContext } from '../model.ts';
import { notExportable } from './guard.ts';
import type { StagedFiles } from './staged.ts';

/**
 * Looks at the files of a package as an importer does, up to its last record: what could not be imported is never given
 * away. The files are read where they are staged, under the digests that the manifest lists; `requirePackaged` proves
 * that the archive has these very files, so that both together are what an importer would find.
 */
export async function requireImportable(context: PackageContext, staged: StagedFiles, scan: SecretScan): Promise<void> {
  await orNotExportable(async () => {
    const { clock, ids, autoMode } = context;
    const pkg = stagedPackage(staged);
    const read = await preflightPackage(pkg, context.limits, scan);
    await planImport(new PackageReader(pkg, read), { clock, ids, autoMode, isOwn: true });
  });
}

/** Reads an archive back and compares every file in it with its manifest, which must be the given one. */
export async function requirePackaged(context: PackageContext, path: string, manifestSha256: string): Promise<string> {
  const source = await fileSource(path);
  try {
    return await orNotExportable(async () => {
      const pkg = await openPackage(source, { clock: context.clock });
      if (pkg.manifestSha256 !== manifestSha256) throw notExportable('its manifest is not what was written');
      return pkg.archiveSha256;
    });
  } finally {
    await source.close();
  }
}

async function orNotExportable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code === 'SESSION_NOT_EXPORTABLE') throw error;
    throw notExportable(error.message, error);
  }
}

/** What is looked at between two turns of the others: what they deflate comes back in about the same time. */
const TURN_BYTES = 32 * 1024;

/** The staged files as a package. Others get their turns in between: the archive is written meanwhile. */
function stagedPackage(staged: StagedFiles): SessionPackage {
  const rows = new Map(staged.rows.map((row) => [row.path, row]));
  const members = new Map(staged.members.map((member) => [member.name, member]));
  async function* content(path: string): AsyncGenerator<Buffer> {
    const hash = createHash('sha256');
    for await (const chunk of members.get(path)?.content() ?? []) {
      hash.update(chunk);
      for (let at = 0; at < chunk.length; at += TURN_BYTES) {
        yield Buffer.from(chunk.buffer, chunk.byteOffset + at, Math.min(TURN_BYTES, chunk.length - at));
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    if (hash.digest('hex') !== rows.get(path)?.sha256)
      throw fail('PACKAGE_HASH_MISMATCH', 'hash mismatch: a staged file is not what was written');
  }
  return {
    archiveSha256: '',
    manifestSha256: '',
    files: rows,
    content,
    passing: content,
    async bytes(path, max) {
      if ((rows.get(path)?.size ?? 0) > max)
        throw fail('ARCHIVE_MEMBER_TOO_LARGE', `A file of the package is larger than ${max} bytes.`);
      const chunks: Buffer[] = [];
      for await (const chunk of content(path)) chunks.push(Buffer.from(chunk));
      return Buffer.concat(chunks);
    },
  };
}
