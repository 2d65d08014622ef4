import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { faultOf, type Mutant } from '../../scripts/mutants/list.ts';
import { setUp } from '../../scripts/mutants/workbench.ts';
import { ROOT } from '../structure/repository-files.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';

const FILES = {
  'src/sum.ts': 'export const sum = (a: number, b: number): number => a + b;\nexport const one = 1;\n',
  'test/sum.test.ts':
    "import assert from 'node:assert/strict';\nimport { test } from 'node:test';\nimport { sum } from '../src/sum.ts';\ntest('sum', () => assert.equal(sum(1, 2), 3));\n",
  'test/red.test.ts': "import { test } from 'node:test';\ntest('red', () => { throw new Error('red'); });\n",
  'package.json': '{ "type": "module" }',
};

/** A small tree with the real runner of tests. */
async function smallTree(t: TestContext): Promise<string> {
  const folder = await temporaryFolder(t);
  const runner = ['test.ts', 'test-processes.ts', 'closing-lines.ts'].map((name) => {
    const path = join('scripts', name);
    return [path, readFileSync(join(ROOT, path))];
  });
  for (const [path, text] of [...Object.entries(FILES), ...runner] as [string, string | Buffer][]) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  mkdirSync(join(folder, 'node_modules'));
  return folder;
}

function mutant(over: Partial<Mutant>): Mutant {
  return {
    context: 'sample',
    number: 1,
    file: 'src/sum.ts',
    find: 'a + b',
    replace: 'a - b',
    tests: ['test/sum.test.ts'],
    why: 'why',
    ...over,
  };
}

check(
  'a mutant is seen by a red test, one that nothing tests stays green, and the checkout is never touched',
  async (t) => {
    const root = await smallTree(t);
    const bench = setUp(root);
    t.after(() => bench.remove());
    assert.equal(await bench.test(['test/sum.test.ts']), 'green');
    assert.equal(await bench.test(['test/red.test.ts']), 'red');
    assert.equal(await bench.attempt(mutant({})), 'red');
    assert.equal(await bench.attempt(mutant({ find: 'one = 1', replace: 'one = 2' })), 'green');
    assert.equal(await bench.test(['test/sum.test.ts']), 'green', 'what was broken is mended');
    assert.equal(readFileSync(join(root, 'src/sum.ts'), 'utf8'), FILES['src/sum.ts']);
  },
);

check('a mutant that cannot be tried as written is a fault: absent, not unique, no such file, no syntax', async (t) => {
  const root = await smallTree(t);
  assert.equal(faultOf(root, mutant({})), undefined);
  const faults = [
    { find: 'a * b' },
    { find: 'export' },
    { find: '' },
    { file: 'src/gone.ts' },
    { tests: ['test/gone.test.ts'] },
    { tests: [] },
    { replace: 'a +' },
  ].map((over) => faultOf(root, mutant(over)));
  assert.deepEqual(faults, [
    "'find' is not in src/sum.ts",
    "'find' is 2 times in src/sum.ts",
    "'find' is not in src/sum.ts",
    'src/gone.ts does not exist',
    'test/gone.test.ts does not exist',
    'it needs file, find, replace, why and at least one test',
    'src/sum.ts does not parse any more',
  ]);
});
