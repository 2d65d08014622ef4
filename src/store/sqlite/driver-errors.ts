import { type ErrorCode, fail, HoldfastError } from '../../core/index.ts';

/** SQLite's primary result codes that mean something of their own here (sqlite.org/rescode.html). */
const PRIMARY = {
  busy: 5,
  locked: 6,
  readonly: 8,
  ioerr: 10,
  corrupt: 11,
  full: 13,
  cantopen: 14,
  constraint: 19,
  notadb: 26,
} as const;

const IOERR_FSYNC = 1034;
const IOERR_DIR_FSYNC = 1290;
/** What every connection shares in memory lies in a file beside the database, and that could not grow: no space is left. */
const IOERR_SHMSIZE = 4874;

const CONSTRAINTS: Readonly<Record<number, string>> = {
  275: 'check',
  787: 'foreign_key',
  1299: 'not_null',
  1555: 'primary_key',
  1811: 'trigger',
  2067: 'unique',
  2579: 'rowid',
  3091: 'datatype',
};

const CODES: Readonly<Record<number, readonly [ErrorCode, string]>> = {
  [PRIMARY.busy]: ['STORE_BUSY', 'Another process is writing to the database.'],
  [PRIMARY.locked]: ['STORE_BUSY', 'Another connection has locked the database.'],
  [PRIMARY.readonly]: ['STORE_IO', 'The database may not be written.'],
  [PRIMARY.ioerr]: ['STORE_IO', 'The disk reported an error.'],
  [PRIMARY.corrupt]: ['STORE_CORRUPT', 'The database file is damaged.'],
  [PRIMARY.full]: ['STORE_FULL', 'The disk is full.'],
  [IOERR_SHMSIZE]: ['STORE_FULL', 'The disk is full.'],
  [PRIMARY.cantopen]: ['STORE_CANNOT_OPEN', 'The database file could not be opened.'],
  [PRIMARY.notadb]: ['STORE_FOREIGN', 'The file is not a SQLite database.'],
};

interface DriverError extends Error {
  readonly code: string;
  readonly errcode?: number;
}

function isDriverError(error: unknown): error is DriverError {
  return error instanceof Error && 'code' in error;
}

/** The extended SQLite result code of a driver's error, or undefined where it is not one. */
export function resultCode(error: unknown): number | undefined {
  if (error instanceof HoldfastError) return resultCode(error.cause);
  return isDriverError(error) && error.code === 'ERR_SQLITE_ERROR' ? error.errcode : undefined;
}

function primaryOf(error: unknown): number | undefined {
  const code = resultCode(error);
  return code === undefined ? undefined : code & 0xff;
}

export function isBusy(error: unknown): boolean {
  return primaryOf(error) === PRIMARY.busy;
}

/** An input or output error: at a commit it leaves open what is on the disk. */
export function isDiskFailure(error: unknown): boolean {
  return primaryOf(error) === PRIMARY.ioerr;
}

export function isSyncFailure(error: unknown): boolean {
  const code = resultCode(error);
  return code === IOERR_FSYNC || code === IOERR_DIR_FSYNC;
}

function ofConstraint(extended: number, cause: Error): HoldfastError {
  const constraint = CONSTRAINTS[extended] ?? 'other';
  const what = constraint === 'trigger' ? 'A trigger' : `A constraint (${constraint.replace('_', ' ')})`;
  return fail('STORE_CONSTRAINT', `${what} of the database refused the write.`, { cause, details: { constraint } });
}

function ofDriver(error: DriverError): HoldfastError | undefined {
  if (error.code === 'ERR_OUT_OF_RANGE')
    return fail('STORED_NUMBER_CORRUPT', 'A stored integer is beyond 2^53.', { cause: error });
  if (error.code.startsWith('ERR_INVALID_'))
    return fail('STORE_VALUE_REFUSED', 'A value does not fit any type of SQL.', { cause: error });
  if (error.code !== 'ERR_SQLITE_ERROR') return undefined;
  const extended = error.errcode ?? 0;
  if ((extended & 0xff) === PRIMARY.constraint) return ofConstraint(extended, error);
  const [code, message] = CODES[extended] ??
    CODES[extended & 0xff] ?? ['STORE_SQL_FAILED', 'A statement could not be run.'];
  return fail(code, message, { cause: error });
}

/** The error of ours for what the driver threw, with the identical error as `cause`; anything else is left as it is. */
export function storeError(error: unknown): unknown {
  if (error instanceof HoldfastError || !isDriverError(error)) return error;
  return ofDriver(error) ?? error;
}
