import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '../../../src/store/sqlite/index.ts';
import { STORE_SUITE, type StorePlace } from '../../../src/testing/index.ts';
import { check, judged } from '../../support/index.ts';

async function makePlace(): Promise<StorePlace> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-store-'));
  return {
    open: (schemas) => openSqliteStore({ file: join(folder, 'store.db'), schemas }),
    remove: () => rm(folder, { recursive: true }),
  };
}

for (const promise of STORE_SUITE)
  check(`sqlite: ${promise.name}`, async () => {
    await promise.run(makePlace);
    judged();
  });
