import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { canonicalJson, JSON_PROFILES, type JsonProfile, readStrictJson, sha256Hex } from '../../src/core/index.ts';
import { assert, check } from '../support/index.ts';
import { refusalOf } from './refusals.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'formats', 'canonical-json.md'), 'utf8');

/** The rows of the table whose heading begins with these words, as cells without their code marks. */
function tableOf(heading: string): string[][] {
  const rows =
    page
      .slice(page.indexOf(`| ${heading}`))
      .split('\n\n')[0]
      ?.split('\n')
      .slice(2) ?? [];
  return rows.map((row) => row.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '').replace(/^`(.*)`$/, '$1')));
}

check('the examples of the page are what the program writes', () => {
  const rows = tableOf('text |');
  assert.equal(rows.length, 7);
  for (const [text = '', canonical, digest] of rows) {
    const written = canonicalJson(readStrictJson(text, JSON_PROFILES.packages));
    assert.deepEqual([written, sha256Hex(written).slice(0, 16)], [canonical, digest]);
  }
});

check('the refusals of the page have the codes it says', () => {
  const rows = tableOf('refused |').filter((cells) => cells.length === 3);
  assert.equal(rows.length, 5);
  for (const [, text = '', code] of rows)
    assert.equal(refusalOf(() => readStrictJson(text, JSON_PROFILES.packages)).code, code, text);
});

check('the profiles of the page are those of the program', () => {
  const listed = Object.values<JsonProfile>(JSON_PROFILES).map((profile) => {
    const { name, bytes, depth, stringCodePoints, members, items, values, integers } = profile;
    assert.equal(members, items);
    return [name, bytes, depth, stringCodePoints, items, values, integers].map(String);
  });
  assert.deepEqual(tableOf('profile |'), listed);
});
