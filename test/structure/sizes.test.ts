import { after } from 'node:test';
import { assert, check } from '../support/index.ts';
import {
  above,
  fileSizes,
  functionSizes,
  LARGE_FILE,
  LARGEST_FILE,
  LONG_FUNCTION,
  LONGEST_FUNCTION,
  productFiles,
  shareWithin,
} from './rules/sizes.ts';
import { readRepository, readSample } from './source-tree.ts';

const repository = readRepository();
after(() => repository.close());

check('no file has more than 500 lines, and nine in ten of the product have at most 300', () => {
  assert.deepEqual(above(fileSizes(repository.files), LARGEST_FILE), []);
  assert.ok(shareWithin(fileSizes(productFiles(repository)), LARGE_FILE) >= 0.9);
});

check('no function has more than 100 lines, and nine in ten of the product have at most 35', () => {
  const sizes = functionSizes(productFiles(repository));
  assert.ok(sizes.length > 3, 'functions were found');
  assert.deepEqual(above(functionSizes(repository.files), LONGEST_FUNCTION), []);
  assert.ok(shareWithin(sizes, LONG_FUNCTION) >= 0.9);
});

check('a file and functions that are too long are seen', () => {
  const lines = (count: number): string => 'x();\n'.repeat(count);
  const sample = readSample({
    'src/core/long.ts': `function plain() {\n${lines(99)}}\nconst arrow = () => {\n${lines(98)}};\n${lines(400)}`,
    'src/core/class.ts': `class A {\n  constructor() {\n${lines(100)}  }\n  get a() {\n${lines(100)}  }\n  m() {\n${lines(100)}  }\n}\n`,
    'src/core/even.ts': lines(500),
  });
  const files = above(fileSizes(sample.files), LARGEST_FILE);
  const functions = above(functionSizes(sample.files), LONGEST_FUNCTION);
  sample.close();
  assert.deepEqual(files, ['src/core/long.ts has 601 lines']);
  assert.deepEqual(
    functions.toSorted(),
    [
      'src/core/class.ts:104 has 102 lines',
      'src/core/class.ts:2 has 102 lines',
      'src/core/class.ts:206 has 102 lines',
      'src/core/long.ts:1 has 101 lines',
    ].toSorted(),
  );
});

check('a share is a share', () => {
  const sizes = [10, 20, 30, 40].map((lines) => ({ place: '', lines }));
  assert.equal(shareWithin(sizes, 30), 0.75);
  assert.equal(shareWithin([], 30), 1);
});
