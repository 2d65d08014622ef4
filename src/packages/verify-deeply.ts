import {
  type ByteSource,
  type DeepOptions,
  type DeepReport,
  deepVerify,
  type Documents,
  type SessionPackage,
} from '../archive/index.ts';
import { readAutoMode } from './import/auto-mode.ts';
import { PackageReader } from './import/reader.ts';

/** Tells the history of autonomous runs in a package again, as an import does. PACKAGE_AUTO_MODE where it is refused. */
export function replayAutoMode(pkg: SessionPackage, documents: Documents): void {
  readAutoMode(new PackageReader(pkg, documents));
}

/**
 * `deepVerify`, and the history of autonomous runs as an import takes it: every event against its digest, every run told
 * again from its events and held against what its record says, every review, assessment and repair against its two
 * events, every name against the package. Nothing is stored, and nothing of an installation is needed.
 */
export const verifyDeeply = (source: ByteSource, options: DeepOptions = {}): Promise<DeepReport> =>
  deepVerify(source, { ...options, replayAutoMode });
