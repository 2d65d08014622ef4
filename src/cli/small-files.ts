import { closeSync, fsyncSync, openSync, readSync, rmSync, statSync } from 'node:fs';
import { fail, HoldfastError, LIMITS, nodeFileSystem, readFileWithin, wrapFileError } from '../core/index.ts';
import { flushName, writeAll } from './whole-file.ts';

/** Reads a small file that a command was pointed to; `what` names it in messages, never its path. */
export function readSmallBytes(what: string, path: string): Uint8Array {
  const max = LIMITS.keyFileBytes;
  const bytes = attempt(what, () =>
    isPipe(path) ? readPipeWithin(path, max) : readFileWithin(nodeFileSystem, path, max),
  );
  if (!bytes) throw fail('LIMIT_REACHED', `${what} is larger than ${max} bytes.`, { details: { max } });
  return bytes;
}

/** What a shell hands over in place of a file (`/dev/stdin`, `<(…)`) has no size to read. */
function isPipe(path: string): boolean {
  const facts = statSync(path);
  return facts.isFIFO() || facts.isCharacterDevice();
}

/** Everything up to the end, or undefined where it is more than so many bytes. */
function readPipeWithin(path: string, max: number): Uint8Array | undefined {
  const bytes = Buffer.alloc(max + 1);
  const fd = openSync(path, 'r');
  try {
    let done = 0;
    for (let got = -1; got !== 0 && done <= max; done += got)
      got = readSync(fd, bytes, done, bytes.length - done, null);
    return done > max ? undefined : bytes.subarray(0, done);
  } finally {
    closeSync(fd);
  }
}

/** The same as text, for what is compared or checked as a whole: bytes that are no UTF-8 become replacement characters. */
export function readSmallFile(what: string, path: string): string {
  return Buffer.from(readSmallBytes(what, path)).toString('utf8');
}

/** Reads a guard's policy; where there is none, FILE_MISSING names the command that writes one. */
export function readPolicyFile(path: string): string {
  try {
    return readSmallFile('the policy file', path);
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== 'FILE_MISSING') throw error;
    const resolve = 'Name the policy with --policy, or write one to begin with: holdfast mcp init -- COMMAND';
    throw fail(error.code, error.message, { cause: error, resolve });
  }
}

/** Reads a private key's file. One that others may read is refused: the key may be known already. */
export function readKeyFile(path: string): string {
  const facts = attempt('the key file', () => statSync(path));
  if (!facts.isFile()) return readSmallFile('the key file', path);
  const { mode } = facts;
  // Windows has no such bits.
  if (process.platform !== 'win32' && (mode & 0o077) !== 0)
    throw fail('SIGNING_KEY_INVALID', 'The key file may be read by others than its owner.');
  return readSmallFile('the key file', path);
}

/** Writes a new file that only its owner may read, whole or not at all; one that is there already is never overwritten. */
export function writeNewFile(what: string, path: string, text: string): void {
  attempt(what, () => {
    const fd = openSync(path, 'wx', 0o600);
    try {
      writeAll(fd, Buffer.from(text));
      fsyncSync(fd);
    } catch (error) {
      rmSync(path, { force: true });
      throw error;
    } finally {
      closeSync(fd);
    }
    flushName(nodeFileSystem, path);
  });
}

function attempt<T>(what: string, step: () => T): T {
  try {
    return step();
  } catch (error) {
    throw wrapFileError(error, what);
  }
}
