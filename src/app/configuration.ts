import { fail } from '../core/index.ts';

/** Where Holdfast keeps what it stores, when nothing else is said: in the folder it is started in. */
export const DEFAULT_DATA_DIR = '.holdfast';

/** What the runtime is told from outside. */
export interface Configuration {
  /** The data folder, as it was named. */
  readonly dataDir: string;
}

export interface ConfigurationSources {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What the command line says; it comes before the environment. */
  readonly dataDir?: string | undefined;
  /** What the configuration file says; it comes after the environment. */
  readonly configured?: string | undefined;
}

/**
 * Reads the configuration: the command line over `HOLDFAST_DATA_DIR` over the configuration file over the
 * default `.holdfast`.
 * A name that is blank or holds NUL is refused (`INVALID_VALUE`) rather than passed over.
 */
export function readConfiguration({ env, dataDir, configured }: ConfigurationSources): Configuration {
  const named = dataDir ?? env['HOLDFAST_DATA_DIR'] ?? configured ?? DEFAULT_DATA_DIR;
  if (named.trim() === '' || named.includes('\0'))
    throw fail('INVALID_VALUE', 'The name of the data folder is blank or holds a NUL.');
  return { dataDir: named };
}
