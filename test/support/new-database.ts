// Databases as their first opening leaves them, copied from one that was made before: to make one takes longer than most
// tests do. How they are made is tested in test/store and test/app.
import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DATA_FILES, HOLDFAST_SCHEMAS } from '../../src/app/index.ts';
import { migrationDigest, orderSteps } from '../../src/store/migration-digest.ts';
import type { ContextSchema } from '../../src/store/index.ts';
import { openSqliteStore } from '../../src/store/sqlite/index.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const PLACE = join(ROOT, 'reports', 'new-databases');
const KEPT_MS = 86_400_000;

let statesOfStore: readonly string[] | undefined;

/** Another text for every state of what makes a database. */
function stateOf(schemas: readonly ContextSchema[]): string {
  statesOfStore ??= globSync('src/store/**/*.ts', { cwd: ROOT })
    .sort()
    .map((path) => `${path} ${statSync(join(ROOT, path)).mtimeMs}`);
  const steps = orderSteps(schemas).map(({ context, migration }) => `${context} ${migrationDigest(migration)}`);
  const hash = createHash('sha256').update([process.versions.sqlite, ...statesOfStore, ...steps].join('\n'));
  return hash.digest('hex').slice(0, 32);
}

function removeOld(): void {
  for (const name of readdirSync(PLACE)) {
    const path = join(PLACE, name);
    // Another run of tests may remove it at the same time.
    const made = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - made > KEPT_MS) rmSync(path, { recursive: true, force: true });
  }
}

async function bytesOf(schemas: readonly ContextSchema[]): Promise<Buffer> {
  const file = join(PLACE, `${stateOf(schemas)}.db`);
  if (existsSync(file)) return readFileSync(file);
  mkdirSync(PLACE, { recursive: true });
  removeOld();
  const making = mkdtempSync(join(PLACE, 'making-'));
  await (await openSqliteStore({ file: join(making, 'new.db'), schemas })).close();
  const bytes = readFileSync(join(making, 'new.db'));
  // Where another process was first, it had the same.
  renameSync(join(making, 'new.db'), file);
  rmSync(making, { recursive: true });
  return bytes;
}

const known = new Map<readonly ContextSchema[], Buffer>();

/** Puts at `file`, which is absent, what a store of these schemas makes of an empty file. */
export async function newDatabase(file: string, schemas: readonly ContextSchema[]): Promise<void> {
  const bytes = known.get(schemas) ?? (await bytesOf(schemas));
  known.set(schemas, bytes);
  writeFileSync(file, bytes, { mode: 0o600, flag: 'wx' });
}

/** Makes `dataDir`, where it is absent, a data folder in which nothing was done yet; answers it. */
export async function newDataFolder(dataDir: string): Promise<string> {
  if (existsSync(dataDir) || !existsSync(dirname(dataDir))) return dataDir;
  mkdirSync(dataDir, { mode: 0o700 });
  await newDatabase(join(dataDir, DATA_FILES.database), HOLDFAST_SCHEMAS);
  return dataDir;
}
