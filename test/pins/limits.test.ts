import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LIMIT_TABLE, LIMITS } from '../../src/core/index.ts';
import { assert, check } from '../support/index.ts';

const folder = join(import.meta.dirname, 'limits');
const pins = new Map(
  readdirSync(folder).flatMap((file) =>
    Object.entries(JSON.parse(readFileSync(join(folder, file), 'utf8')) as Record<string, [max: number, unit: string]>),
  ),
);

check('every bound is what the pins say', () => {
  const table = Object.entries(LIMIT_TABLE).map(([name, { max, unit }]) => [name, [max, unit]]);
  assert.deepEqual(Object.fromEntries(table), Object.fromEntries(pins));
});

check('every bound has a reason and its plain number', () => {
  for (const [name, { max, why }] of Object.entries(LIMIT_TABLE)) {
    assert.match(why, /^[A-Z0-9].{10,}[.)]$/, name);
    assert.equal(LIMITS[name as keyof typeof LIMITS], max, name);
  }
});
