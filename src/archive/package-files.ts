import { createHash } from 'node:crypto';
import { compareCodePoints } from '../core/index.ts';
import { aboutFile, type Finding, findingOf, refusal } from './finding.ts';
import { MANIFEST_NAME, type ManifestRow, type ReadManifest } from './manifest.ts';
import type { Archive } from './reader.ts';

/** What comparing a package's files with its manifest gave: each path that holds, and each thing that does not. */
export interface FilesVerdict {
  readonly verified: readonly string[];
  readonly findings: readonly Finding[];
}

/** So many files are read at a time: while one is inflated in another thread, the other is hashed here. */
const AT_A_TIME = 2;

/**
 * Reads every listed file once and compares it with the manifest; what is found stands in the order of the archive.
 * Memory stays flat.
 */
export async function verifyFiles(archive: Archive, manifest: ReadManifest): Promise<FilesVerdict> {
  const names = archive.members.map(({ name }) => name).filter((name) => name !== MANIFEST_NAME);
  const found: (Finding | undefined)[] = [];
  let next = 0;
  const readOn = async (): Promise<void> => {
    for (let at = next++; at < names.length; at = next++) {
      const name = names[at] as string;
      const row = manifest.rows.get(name);
      found[at] = row ? await fileFinding(archive, row) : aboutFile('PACKAGE_MEMBER_UNLISTED', 'unlisted file', name);
    }
  };
  await allEnded(Array.from({ length: AT_A_TIME }, readOn));
  const findings = found.filter((one) => one !== undefined);
  for (const path of manifest.rows.keys())
    if (!archive.has(path)) findings.push(aboutFile('PACKAGE_MEMBER_MISSING', 'listed, but missing', path));
  const verified = names.filter((_, at) => found[at] === undefined);
  return { verified: verified.sort(compareCodePoints), findings };
}

/** Waits for all of them, so that nobody reads any more, then throws what the first threw. */
async function allEnded(works: readonly Promise<void>[]): Promise<void> {
  for (const result of await Promise.allSettled(works)) if (result.status === 'rejected') throw result.reason;
}

async function fileFinding(archive: Archive, row: ManifestRow): Promise<Finding | undefined> {
  const seal = sealCheck(row);
  try {
    await archive.scan(row.path, seal.add);
    return seal.end();
  } catch (error) {
    return findingOf(error);
  }
}

interface SealCheck {
  readonly add: (chunk: Buffer) => void;
  readonly end: () => Finding | undefined;
}

function sealCheck(row: ManifestRow): SealCheck {
  const hash = createHash('sha256');
  let size = 0;
  return {
    add(chunk) {
      hash.update(chunk);
      size += chunk.length;
    },
    end() {
      if (hash.digest('hex') !== row.sha256) return aboutFile('PACKAGE_HASH_MISMATCH', 'hash mismatch', row.path);
      return size === row.size ? undefined : aboutFile('PACKAGE_SIZE_MISMATCH', 'size mismatch', row.path);
    },
  };
}

/** A listed file's content in chunks. It ends in a refusal when it is not what the manifest lists. */
export async function* sealedContent(archive: Archive, row: ManifestRow): AsyncGenerator<Buffer> {
  const seal = sealCheck(row);
  for await (const chunk of archive.content(row.path)) {
    seal.add(chunk);
    yield chunk;
  }
  const finding = seal.end();
  if (finding) throw refusal(finding);
}
