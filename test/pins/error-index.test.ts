import { ERROR_TABLE } from '../../src/core/index.ts';
import { assert, check } from '../support/index.ts';
import { textOf } from '../structure/repository-files.ts';

check('the index of errors has every code once, with its exit code and HTTP status, in order', () => {
  const index = textOf('docs/errors/README.md') ?? '';
  const rows = [...index.matchAll(/^\| \[`(\w+)`\]\((\w+)\.md\) \| (\d) \| (\d{3}) \| (yes|no) \|/gm)];
  const listed = rows.map(([, code, page, exit, http, retry]) => [code, page, Number(exit), Number(http), retry]);
  const expected = Object.entries(ERROR_TABLE)
    .map(([code, row]) => [code, code, row.exit, row.http, row.retryable ? 'yes' : 'no'])
    .toSorted((a, b) => (String(a[0]) < String(b[0]) ? -1 : 1));
  assert.deepEqual(listed, expected, 'npm run errors writes it anew');
});
