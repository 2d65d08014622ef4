export {
  canonicalJson,
  compareCodePoints,
  isCanonicalJson,
  keptJson,
  readCanonicalJson,
  sealJson,
} from './canonical-json.ts';
export {
  type Clock,
  type ClockState,
  guardClock,
  type GuardedClock,
  momentText,
  requireUnixSeconds,
  systemClock,
  unixSeconds,
  utcText,
} from './clock.ts';
export { type Deadline, deadline } from './deadline.ts';
export { digestJson, isSha256Hex, sha256Hex } from './digest.ts';
export {
  errnoOf,
  makeFolder,
  readFileWithin,
  syncFolder,
  wrapFileError,
  writeAll,
  writeFileDurably,
} from './durable-files.ts';
export { nameNewFile } from './name-new-file.ts';
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
export { FAULT_POINTS, type FaultPoint, type FaultPoints, noFaults } from './fault-points.ts';
export { type FileFacts, type FileSystem, nodeFileSystem } from './file-system.ts';
export { freezeJson } from './freeze-json.ts';
export { longestPauseBefore, pauseBefore } from './backoff.ts';
export { createIds, type Ids, isId, systemIds } from './ids.ts';
export { newSecret } from './secret.ts';
export { endedOnce, sentence } from './sentence.ts';
export { asJsonValue } from './json-domain.ts';
export { KernelLock, type KernelLockOptions } from './kernel-lock.ts';
export {
  copyInput,
  copyJson,
  isJsonObject,
  JsonNumber,
  type JsonObject,
  type JsonValue,
  plainJson,
} from './json-value.ts';
export { LIMIT_TABLE, LIMITS, type LimitName, requireWithin } from './limits.ts';
export {
  checkOptions,
  fieldsOption,
  type FieldShapes,
  flagOption,
  functionOption,
  functionsOption,
  listOption,
  nullableOption,
  objectOption,
  type OptionShape,
  recordOption,
  shapeOf,
  stringOption,
  textOption,
  wholeOption,
  wordOption,
} from './option-shapes.ts';
export { JSON_PROFILES, type JsonProfile, readStrictJson } from './strict-json.ts';
export { RowChain } from './row-chain.ts';
export { TextList, TextTable } from './text-table.ts';
export { codePointLength, codePointsWithin, isBlank, requireText, storableText, trimText } from './text.ts';
export { comparableName, isSecretKey, redact, type RedactOptions } from './redact.ts';
export { SecretNames } from './strike-out.ts';
export { containsSecret, jsonMayHoldSecret, REDACTED, redactText } from './secret-patterns.ts';
export { displayLines, displayText } from './display-text.ts';
export {
  INJECTION_RULES,
  INJECTION_WARNING,
  type InjectionRule,
  type InjectionScreening,
  screenInjection,
} from './injection-screen.ts';
export { createLog, type Log, type LogFields, type LogLevel, type LogOptions, noLog } from './log.ts';
export {
  noTelemetry,
  type SpanStart,
  stopwatch,
  type Telemetry,
  TELEMETRY_METRICS,
  type TelemetryAttributes,
  type TelemetryMetric,
  type TelemetrySpan,
} from './telemetry.ts';
