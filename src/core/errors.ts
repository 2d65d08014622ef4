import type { ErrorCodeEntry, ErrorFamily } from './error-codes/entry.ts';
import { ERROR_TABLE, type ErrorCode } from './error-table.ts';
import { endedOnce } from './sentence.ts';

/** Facts about an error that a program may read: JSON-safe, free of secrets, host paths and other tenants' identifiers. */
export type ErrorDetails = Readonly<Record<string, string | number | boolean | null>>;

export interface HoldfastErrorOptions {
  readonly cause?: unknown;
  readonly details?: ErrorDetails;
  /** The one command or step that resolves this case, where it is more exact than the table's. */
  readonly resolve?: string;
}

/** The JSON form of an error, the same on every surface: no stack, no cause. */
export interface ErrorBody {
  readonly code: ErrorCode;
  readonly message: string;
  readonly retryable: boolean;
  readonly resolve: string;
  readonly details?: ErrorDetails;
}

/**
 * The base of every error of ours. Branch on `code`, never on the message. `retryable` says whether the same request
 * may succeed later unchanged; `resolve` names the one step that resolves it. A message that was put together of
 * sentences ends once.
 */
export class HoldfastError extends Error {
  readonly code: ErrorCode;
  readonly family: ErrorFamily;
  readonly retryable: boolean;
  readonly resolve: string;
  readonly httpStatus: number;
  readonly exitCode: number;
  readonly details?: ErrorDetails;

  constructor(code: ErrorCode, message: string, options: HoldfastErrorOptions = {}) {
    super(endedOnce(message), options.cause === undefined ? undefined : { cause: options.cause });
    const entry: ErrorCodeEntry = ERROR_TABLE[code];
    this.name = new.target.name;
    this.code = code;
    this.family = entry.family;
    this.retryable = entry.retryable;
    this.resolve = options.resolve ?? entry.resolve;
    this.httpStatus = entry.http;
    this.exitCode = entry.exit;
    if (options.details) this.details = options.details;
  }

  toJSON(): ErrorBody {
    const body = { code: this.code, message: this.message, retryable: this.retryable, resolve: this.resolve };
    return this.details ? { ...body, details: this.details } : body;
  }
}

/** The request can never be right. */
export class ValidationError extends HoldfastError {}
/** The request disagrees with what is stored. */
export class ConflictError extends HoldfastError {}
/** Not now: the object is in a state that does not allow it. */
export class StateError extends HoldfastError {}
/** There is no such object, or it is not the asker's: the two are not told apart. */
export class NotFoundError extends HoldfastError {}
/** Policy, approval or right refuses it. */
export class DeniedError extends HoldfastError {}
/** The session was imported and is not trusted yet. */
export class QuarantinedError extends HoldfastError {}
/** It may or may not have happened. */
export class OutcomeUnknownError extends HoldfastError {}
/** A bound was reached; the bound's name is in `details`. */
export class LimitError extends HoldfastError {}
/** Too many requests at once. */
export class RateError extends HoldfastError {}
/** What is stored disagrees with itself. */
export class CorruptionError extends HoldfastError {}
/** A constraint or a trigger of the database refused. */
export class StorageIntegrityError extends HoldfastError {}
/** The store is busy, full, or its disk failed. */
export class StorageError extends HoldfastError {}
/** A package or archive is not what it must be. */
export class PackageError extends HoldfastError {}

const FAMILY_CLASSES = {
  validation: ValidationError,
  conflict: ConflictError,
  state: StateError,
  not_found: NotFoundError,
  denied: DeniedError,
  quarantined: QuarantinedError,
  outcome_unknown: OutcomeUnknownError,
  limit: LimitError,
  rate: RateError,
  corruption: CorruptionError,
  storage_integrity: StorageIntegrityError,
  storage: StorageError,
  package: PackageError,
} as const satisfies Record<ErrorFamily, typeof HoldfastError>;

/**
 * Makes the error of a code, in the class of the code's family.
 * `throw fail('STORE_BUSY', 'Another process is writing.', { cause })`.
 */
export function fail(code: ErrorCode, message: string, options?: HoldfastErrorOptions): HoldfastError {
  return new FAMILY_CLASSES[ERROR_TABLE[code].family](code, message, options);
}
