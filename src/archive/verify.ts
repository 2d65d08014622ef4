import { LIMITS } from '../core/index.ts';
import type { Finding } from './finding.ts';
import { readManifest } from './manifest.ts';
import { verifyFiles } from './package-files.ts';
import { type ArchiveOptions, openArchive } from './reader.ts';
import type { ByteSource } from './source.ts';

/** What `verify` answers: exactly these keys, on every surface. */
export interface VerifyReport {
  /** Whether every listed file is there and unchanged and nothing else is. */
  readonly ok: boolean;
  /** As the manifest claims; null when it names none. */
  readonly format: string | null;
  readonly schema_version: number | null;
  readonly archive_sha256: string;
  /** Paths whose bytes have the listed size and SHA-256, in code point order. */
  readonly files_verified: readonly string[];
  /** One sentence for each thing that is wrong, names escaped; at most `LIMITS.archiveProblems`. */
  readonly problems: readonly string[];
  /** What the answer means, and what it does not. */
  readonly verifies: string;
}

const VERIFIES =
  'That the files in this archive are those its manifest lists, byte for byte, and no others. ' +
  'It does not establish who produced the package, that its contents are true, or that they are safe to use.';

/** A report, and the package's identity where its manifest is sealed rightly. */
export interface Verification {
  readonly report: VerifyReport;
  /** The manifest's digest, which is what a signature signs; null when the manifest is not what it seals. */
  readonly manifestSha256: string | null;
}

/**
 * Verifies a package alone: no store, no import, nothing written. A failed check is a problem in the report; an archive
 * that is refused whole, or has no manifest, is an error with the code of the refusal. Memory does not grow with the
 * package: the directory, the manifest and a few chunks.
 */
export async function verifyPackage(source: ByteSource, options: ArchiveOptions = {}): Promise<VerifyReport> {
  return (await verifyAlone(source, options)).report;
}

/** `verifyPackage`, for who also needs the identity that a signature is about. */
export async function verifyAlone(source: ByteSource, options: ArchiveOptions = {}): Promise<Verification> {
  const archive = await openArchive(source, options);
  const manifest = await readManifest(archive);
  const archiveSha256 = await archive.sha256();
  const { verified, findings } = await verifyFiles(archive, manifest);
  await archive.checkUnchanged();
  const problems = sentences([...manifest.findings, ...findings]);
  const report: VerifyReport = {
    ok: problems.length === 0,
    format: manifest.format,
    schema_version: manifest.schemaVersion,
    archive_sha256: archiveSha256,
    files_verified: verified,
    problems,
    verifies: VERIFIES,
  };
  return { report, manifestSha256: manifest.findings.length === 0 ? manifest.digest : null };
}

function sentences(findings: readonly Finding[]): string[] {
  const shown = findings.slice(0, LIMITS.archiveProblems).map(({ text }) => text);
  const more = findings.length - shown.length;
  if (more > 0) shown[shown.length - 1] = `and ${more + 1} more`;
  return shown;
}
