import { HoldfastError } from '../../../src/core/index.ts';
import { assert } from '../../support/index.ts';

/** Refused as a conflict, in these words. */
export async function conflict(promise: Promise<unknown>, words: RegExp): Promise<void> {
  await refusedAs(promise, 'conflict', words);
}

/** Refused as an argument that can never be right, in these words. */
export async function valueError(promise: Promise<unknown>, words: RegExp): Promise<void> {
  await refusedAs(promise, 'validation', words);
}

async function refusedAs(promise: Promise<unknown>, family: string, words: RegExp): Promise<void> {
  const error = await errorOf(promise);
  assert.ok(error instanceof HoldfastError, String(error));
  assert.equal(error.family, family, error.message);
  assert.match(error.message, words);
}

/** Refused by the database itself: ours, with the driver's error as its cause. */
export async function integrityError(promise: Promise<unknown>, words: RegExp): Promise<void> {
  const error = await errorOf(promise);
  assert.ok(error instanceof HoldfastError, String(error));
  assert.equal(error.family, 'storage_integrity');
  assertConstraint(error.cause, words);
}

/** The same around the program: the driver's own error. */
export function integrityThrown(body: () => unknown, words: RegExp): void {
  assertConstraint(thrown(body), words);
}

function assertConstraint(error: unknown, words: RegExp): void {
  const driver = error as Error & { errcode?: number };
  assert.equal((driver.errcode ?? 0) & 0xff, 19, 'a constraint of SQLite');
  assert.match(driver.message, words);
}

async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('it was not refused');
}

function thrown(body: () => unknown): unknown {
  try {
    body();
  } catch (error) {
    return error;
  }
  throw new Error('it was not refused');
}

/** What the contracts call the safe audit row. */
export function assertSafeRow(rows: readonly Record<string, unknown>[], claim: 'outcome' | 'verdict'): void {
  assert.equal(rows.length, 1);
  const [row] = rows;
  assert.deepEqual([row?.['status'], row?.['risk'], row?.['error_kind']], ['failed', 'unknown', 'integrity_failure']);
  assert.ok(!(claim in (row ?? {})));
}
