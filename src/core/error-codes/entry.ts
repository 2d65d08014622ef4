/** The family of an error: what kind of disagreement it reports. Each family is one class in `../errors.ts`. */
export type ErrorFamily =
  | 'validation'
  | 'conflict'
  | 'state'
  | 'not_found'
  | 'denied'
  | 'quarantined'
  | 'outcome_unknown'
  | 'limit'
  | 'rate'
  | 'corruption'
  | 'storage_integrity'
  | 'storage'
  | 'package';

/**
 * What one code means on every surface. `exit` is the command's exit code: 1 refused, blocked or unknown,
 * 2 bad input or storage, 3 waiting for a decision. `resolve` is the one step that resolves it, as a person would do it.
 */
export interface ErrorCodeEntry {
  readonly family: ErrorFamily;
  readonly http: number;
  readonly exit: 1 | 2 | 3;
  readonly retryable: boolean;
  readonly resolve: string;
}
