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

/** Reads every listed file once, in the order of the archive, and compares it with the manifest. Memory stays flat. */
export async function verifyFiles(archive: Archive, manifest: ReadManifest): Promise<FilesVerdict> {
  const verified: string[] = [];
  const findings: Finding[] = [];
  for (const { name } of archive.members) {
    if (name === MANIFEST_NAME) continue;
    const row = manifest.rows.get(name);
    const found = row ? await fileFinding(archive, row) : aboutFile('PACKAGE_MEMBER_UNLISTED', 'unlisted file', name);
    if (found) findings.push(found);
    else verified.push(name);
  }
  for (const path of manifest.rows.keys())
    if (!archive.has(path)) findings.push(aboutFile('PACKAGE_MEMBER_MISSING', 'listed, but missing', path));
  return { verified: verified.sort(compareCodePoints), findings };
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
