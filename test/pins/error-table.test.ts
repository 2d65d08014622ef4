import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERROR_TABLE } from '../../src/core/index.ts';
import { assert, check } from '../support/index.ts';

const root = join(import.meta.dirname, '..', '..');
const pinsFolder = join(import.meta.dirname, 'error-codes');
type Pin = readonly [family: string, http: number, exit: number, retryable: boolean];

const pins = new Map<string, Pin>(
  readdirSync(pinsFolder).flatMap((file) =>
    Object.entries(JSON.parse(readFileSync(join(pinsFolder, file), 'utf8')) as Record<string, Pin>),
  ),
);

check('the error table is what the pins say, code by code', () => {
  const table = Object.entries(ERROR_TABLE).map(([code, e]) => [code, [e.family, e.http, e.exit, e.retryable]]);
  assert.deepEqual(Object.fromEntries(table), Object.fromEntries(pins));
});

check('every code has a page that names it, its meaning and what resolves it', () => {
  for (const code of Object.keys(ERROR_TABLE)) {
    const page = readFileSync(join(root, 'docs', 'errors', `${code}.md`), 'utf8');
    assert.ok(page.startsWith(`# ${code}\n`), code);
    assert.match(page, /## What resolves it/, code);
  }
});

check('no page is left of a code that is gone', () => {
  const pages = readdirSync(join(root, 'docs', 'errors')).filter((f) => f !== 'README.md');
  assert.deepEqual(
    pages.filter((f) => !Object.hasOwn(ERROR_TABLE, f.replace(/\.md$/, ''))),
    [],
  );
});
