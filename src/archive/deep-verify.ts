import { LIMITS } from '../core/index.ts';
import { examinePackage, type RecordLimits } from './deep/index.ts';
import { openPackage } from './package.ts';
import type { ArchiveOptions } from './reader.ts';
import type { ByteSource } from './source.ts';

export interface DeepReport {
  /** Whether the documents alone hold nothing that would keep an importer from taking the package. */
  readonly importable: boolean;
  readonly problems: readonly string[];
  /** What only an import can tell. */
  readonly not_checked: readonly string[];
}

export interface DeepOptions extends ArchiveOptions {
  readonly records?: RecordLimits;
}

const NOT_CHECKED = [
  'auto mode history: its events are replayed at import',
  'secrets of the importing installation: only shapes of secrets are known here',
] as const;

/**
 * Asks whether a package could be imported, as far as its documents alone can tell. Holds one document at a time as
 * text, and all twelve as values. The package itself must verify: the first thing that does not is thrown.
 */
export async function deepVerify(source: ByteSource, options: DeepOptions = {}): Promise<DeepReport> {
  const pkg = await openPackage(source, options);
  const { findings } = await examinePackage(pkg, options.records);
  await source.checkUnchanged();
  const problems = findings.slice(0, LIMITS.archiveProblems).map(({ text }) => text);
  return { importable: findings.length === 0, problems, not_checked: NOT_CHECKED };
}
