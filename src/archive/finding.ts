import { type ErrorCode, fail, HoldfastError } from '../core/index.ts';
import { printable } from './printable.ts';

/** One thing that is wrong with a package: the code it is refused with, and a sentence for people. */
export interface Finding {
  readonly code: ErrorCode;
  readonly text: string;
}

/** A finding about one file of the package: `hash mismatch: notebook.json`. */
export function aboutFile(code: ErrorCode, says: string, path: string): Finding {
  return { code, text: `${says}: ${printable(path)}` };
}

/** The refusal that a finding becomes where a package must be right. */
export function refusal(finding: Finding): HoldfastError {
  return fail(finding.code, finding.text);
}

const ABOUT_CONTENT: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'ARCHIVE_ENCRYPTED',
  'ARCHIVE_SIZE',
  'ARCHIVE_CRC',
  'ARCHIVE_STREAM_CORRUPT',
  'ARCHIVE_STREAM_TOO_LONG',
  'ARCHIVE_STREAM_TRAILING',
]);

/** What a failed reading says about a member's content; rethrows what says nothing about it (time, I/O, cancellation). */
export function findingOf(error: unknown): Finding {
  if (error instanceof HoldfastError && ABOUT_CONTENT.has(error.code)) return { code: error.code, text: error.message };
  throw error;
}
