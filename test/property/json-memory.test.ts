import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { assert, check } from '../support/index.ts';

const MIB_PER_INPUT_MIB = 40;
const BASE_MIB = 24;

check('a megabyte of the worst JSON is read or refused in a heap of forty times their size', () => {
  const heap = MIB_PER_INPUT_MIB + BASE_MIB;
  const child = spawnSync(
    process.execPath,
    [`--max-old-space-size=${heap}`, '--max-semi-space-size=4', join(import.meta.dirname, 'json-memory-child.ts')],
    { encoding: 'utf8', timeout: 60_000 },
  );
  assert.equal(child.status, 0, child.stderr.slice(0, 300));
  const { read = [], ...refused } = Object.groupBy(Object.entries(JSON.parse(child.stdout) as object), ([, how]) =>
    String(how),
  );
  assert.equal(read.length, 13);
  const names = Object.fromEntries(
    Object.entries(refused).map(([code, cases]) => [code, cases?.map(([name]) => name)]),
  );
  assert.deepEqual(names, {
    JSON_TOO_DEEP: ['only opening brackets', 'only opening braces'],
    JSON_SYNTAX: ['a string without end', 'only white space', 'only backslashes'],
    JSON_TOO_LARGE: ['only a number'],
  });
});
