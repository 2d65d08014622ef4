import type * as sqlite from 'node:sqlite';
import { fail } from '../../core/index.ts';

export type Driver = typeof sqlite;

const OLDEST_NODE = [22, 18] as const;

function isTooOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1]);
}

/**
 * The built-in SQLite driver, loaded only after the version of Node was checked.
 * @throws NODE_TOO_OLD with one line that says what to do.
 */
export function loadDriver(version: string = process.versions.node): Driver {
  if (isTooOld(version))
    throw fail('NODE_TOO_OLD', `Holdfast needs Node.js 22.18 or newer; this is ${version}.`, {
      details: { node: version },
    });
  return withoutExperimentalWarning(() => process.getBuiltinModule('node:sqlite'));
}

/** Node 22 announces the module as experimental when it is loaded: silenced here and nowhere else. */
function withoutExperimentalWarning<T>(load: () => T): T {
  const emitWarning = Object.getOwnPropertyDescriptor(process, 'emitWarning');
  process.emitWarning = () => undefined;
  try {
    return load();
  } finally {
    if (emitWarning) Object.defineProperty(process, 'emitWarning', emitWarning);
  }
}
