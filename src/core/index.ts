export type { ErrorCodeEntry, ErrorFamily } from './error-codes/entry.ts';
export { ERROR_TABLE, type ErrorCode } from './error-table.ts';
export {
  ConflictError,
  CorruptionError,
  DeniedError,
  type ErrorBody,
  type ErrorDetails,
  fail,
  HoldfastError,
  type HoldfastErrorOptions,
  LimitError,
  NotFoundError,
  OutcomeUnknownError,
  PackageError,
  QuarantinedError,
  RateError,
  StateError,
  StorageError,
  StorageIntegrityError,
  ValidationError,
} from './errors.ts';
