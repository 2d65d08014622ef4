import { after } from 'node:test';
import { assert, check } from '../support/index.ts';
import { circles, ROOMS, wrongImports } from './rules/imports.ts';
import { readRepository, readSample } from './source-tree.ts';

const repository = readRepository();
after(() => repository.close());

check('no room uses one that comes after it, goes around a door, or names a concrete store', () => {
  assert.ok(repository.files.length > 10, 'the sources were read');
  assert.deepEqual(wrongImports(repository), []);
});

check('every folder of src/ is a room of the list', () => {
  const rooms = repository.files
    .map(({ path }) => /^src\/([^/]+)\//.exec(path)?.[1])
    .filter((room) => room !== undefined);
  assert.deepEqual(
    [...new Set(rooms)].filter((room) => !(ROOMS as readonly string[]).includes(room)),
    [],
  );
});

check('no files import each other in a circle at run time', () => {
  assert.deepEqual(circles(repository), []);
});

check('each wrong import of a bad sample is seen', () => {
  const sample = readSample({
    'src/core/index.ts': "import { open } from '../store/index.ts';\nexport const core = open;\n",
    'src/store/index.ts': "export const open = 1;\nexport * from './sqlite/index.ts';\n",
    'src/store/sqlite/index.ts': 'export const openSqlite = 2;\n',
    'src/store/inside.ts': "import type { Core } from '../core/model.ts';\nexport type Inside = Core;\n",
    'src/tools/index.ts': "import { openSqlite } from '../store/sqlite/index.ts';\nexport const t = openSqlite;\n",
    'src/app/index.ts': "import { openSqlite } from '../store/sqlite/index.ts';\nexport const app = openSqlite;\n",
    'src/cli/index.ts': "export const lazy = () => import('../store/sqlite/index.ts');\n",
    'src/runs/index.ts': "export type Later = import('../gateway/index.ts').Routes;\n",
    'src/gateway/index.ts':
      "export { face } from '../index.ts';\nimport '../../test/a.ts';\nexport interface Routes {}\n",
    'src/index.ts': "export const face = 1;\nexport { lazy } from './cli/index.ts';\n",
    'src/elsewhere/index.ts': "export { core } from '../core/index.ts';\n",
  });
  const seen = wrongImports(sample).toSorted();
  sample.close();
  assert.deepEqual(seen, [
    'src/cli/index.ts:1 names a concrete store',
    'src/core/index.ts:1: core may not use store',
    'src/elsewhere/index.ts:1: elsewhere is not a room',
    'src/gateway/index.ts:1 imports the public face src/index.ts',
    'src/gateway/index.ts:2 leaves src/ for test/a.ts',
    'src/index.ts:2: index.ts may not use cli',
    'src/runs/index.ts:1: runs may not use gateway',
    'src/store/inside.ts:1 goes around the door of core to src/core/model.ts',
    'src/tools/index.ts:1 names a concrete store',
  ]);
});

check('a circle of a bad sample is seen, one of types alone is not', () => {
  const sample = readSample({
    'src/core/a.ts': "import { b } from './b.ts';\nexport const a = () => b;\n",
    'src/core/b.ts': "export { c as b } from './c.ts';\n",
    'src/core/c.ts': "export const c = () => import('./a.ts');\n",
    'src/core/d.ts': "import type { E } from './e.ts';\nexport interface D { e: E }\n",
    'src/core/e.ts': "import type { D } from './d.ts';\nexport interface E { d: D }\n",
  });
  const seen = circles(sample);
  sample.close();
  assert.equal(seen.length, 1);
  assert.deepEqual(new Set(seen[0]), new Set(['src/core/a.ts', 'src/core/b.ts', 'src/core/c.ts']));
});
