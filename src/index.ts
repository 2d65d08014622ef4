/**
 * Holdfast: a durable, fail-closed runtime for AI agents that act. The library's public face: what is not exported here
 * or under another entry of package.json is not public.
 */
export {
  ConflictError,
  CorruptionError,
  DeniedError,
  ERROR_TABLE,
  type ErrorBody,
  type ErrorCode,
  type ErrorCodeEntry,
  type ErrorDetails,
  type ErrorFamily,
  HoldfastError,
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
} from './core/index.ts';
