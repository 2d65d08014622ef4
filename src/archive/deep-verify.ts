import { HoldfastError, LIMITS } from '../core/index.ts';
import { examinePackage, type RecordLimits } from './deep/index.ts';
import type { Documents } from './documents.ts';
import { openPackage, type SessionPackage } from './package.ts';
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
  /**
   * Tells the history of autonomous runs again, as an import does, and throws what it refuses. Called when nothing else
   * was found and the package has such a history. Without it that history is not looked at, and the report says so.
   */
  readonly replayAutoMode?: (pkg: SessionPackage, documents: Documents) => void | Promise<void>;
}

const AUTO_MODE_LEFT = 'auto mode history: its events are replayed at import';
const FIELDS_LEFT = 'fields: what stands in those of a record that nothing else refers to is read at import';
const SECRETS_LEFT = 'secrets of the importing installation: only shapes of secrets are known here';

/**
 * Asks whether a package could be imported, as far as its documents alone can tell. Holds one document at a time as
 * text, and all twelve as values (the ledger's and the messages' records as outlines). The package itself must verify:
 * the first thing that does not is thrown.
 */
export async function deepVerify(source: ByteSource, options: DeepOptions = {}): Promise<DeepReport> {
  const pkg = await openPackage(source, options);
  const { documents, findings } = await examinePackage(pkg, options.records);
  const { replayAutoMode: replay } = options;
  const problems = findings.slice(0, LIMITS.archiveProblems).map(({ text }) => text);
  if (replay && problems.length === 0 && tellsOfAutoMode(documents))
    problems.push(...(await refusalsOf(() => replay(pkg, documents))));
  await source.checkUnchanged();
  const left = [...(replay ? [] : [AUTO_MODE_LEFT]), FIELDS_LEFT, SECRETS_LEFT];
  return { importable: problems.length === 0, problems, not_checked: left };
}

const tellsOfAutoMode = (documents: Documents): boolean =>
  (documents.get('review.json')?.['auto_mode'] ?? null) !== null;

/** What is refused is a problem of the package; whatever else goes wrong is not. */
async function refusalsOf(work: () => void | Promise<void>): Promise<string[]> {
  try {
    await work();
    return [];
  } catch (error) {
    if (error instanceof HoldfastError) return [error.message];
    throw error;
  }
}
