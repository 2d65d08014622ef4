import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { HOLDFAST_SCHEMAS, openHoldfastStore } from '../../src/app/index.ts';
import type { ContextSchema } from '../../src/store/index.ts';
import { ROOT } from '../structure/repository-files.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';

function isSchema(value: unknown): value is ContextSchema {
  return typeof value === 'object' && value !== null && 'context' in value && 'migrations' in value;
}

check('the composed store holds the tables of every room that offers some at its door', async () => {
  // What `testing/` offers is for stores under test, not for the composed one.
  const rooms = readdirSync(join(ROOT, 'src')).filter(
    (room) => room !== 'testing' && existsSync(join(ROOT, 'src', room, 'index.ts')),
  );
  const doors = await Promise.all(
    rooms.map(async (room) => (await import(`../../src/${room}/index.ts`)) as Record<string, unknown>),
  );
  const offered = new Set(doors.flatMap((door) => Object.values(door)).filter(isSchema));
  assert.ok(offered.size >= 3);
  const missing = [...offered].filter((schema) => !HOLDFAST_SCHEMAS.includes(schema));
  assert.deepEqual(
    missing.map(({ context }) => context),
    [],
  );
});

check('the composed store opens, keeps what is written, and opens again', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  const first = await openHoldfastStore({ dataDir, create: true });
  await first.store.write('test.add', (tx) => tx.run("INSERT INTO projects VALUES ('p', 'local', 'P', 0)"));
  await first.store.close();
  const again = await openHoldfastStore({ dataDir, create: false });
  const row = await again.store.read('test.get', (tx) => tx.get('SELECT name FROM projects'));
  await again.store.close();
  assert.equal(row?.['name'], 'P');
});
