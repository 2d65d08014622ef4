/** What a bound counts. */
export type LimitUnit =
  | 'bytes'
  | 'code points'
  | 'levels'
  | 'items'
  | 'members'
  | 'values'
  | 'digits'
  | 'code units'
  | 'steps'
  | 'ms'
  | 'times'
  | 'seconds';

/** One named bound: the largest value that is still accepted, what it counts, and why it stands where it does. */
export interface Limit {
  readonly max: number;
  readonly unit: LimitUnit;
  readonly why: string;
}
