import { type ErrorDetails, HoldfastError } from '../../src/core/index.ts';
import { assert } from '../support/index.ts';

/** What a body was refused with: the error of ours that it threw. Red when it threw nothing or something else. */
export function refusalOf(body: () => unknown): HoldfastError {
  try {
    body();
  } catch (error) {
    if (error instanceof HoldfastError) return error;
    throw error;
  }
  throw new assert.AssertionError({ message: 'nothing was refused' });
}

/** Code and details of a refusal, for comparing. */
export function told(body: () => unknown): [code: string, details: ErrorDetails | undefined] {
  const { code, details } = refusalOf(body);
  return [code, details];
}
