// Writes docs/errors/README.md from the error table: npm run errors
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERROR_TABLE } from '../src/core/index.ts';

const rows = Object.entries(ERROR_TABLE)
  .toSorted(([a], [b]) => (a < b ? -1 : 1))
  .map(([code, row]) => {
    const retry = row.retryable ? 'yes' : 'no';
    return `| [\`${code}\`](${code}.md) | ${row.exit} | ${row.http} | ${retry} | ${row.family} | ${row.resolve} |`;
  });

const page = `# Errors

Every error that Holdfast answers with has a code that stays the same. Branch on the code, never on the message. *Exit*
is the command's exit code (1 refused, blocked or unknown; 2 bad input or storage; 3 waiting for a decision), *HTTP* the
gateway's status, and *retry* says whether the same request may succeed later, unchanged.

| code | exit | HTTP | retry | family | what resolves it |
| --- | --- | --- | --- | --- | --- |
${rows.join('\n')}
`;

writeFileSync(join(import.meta.dirname, '..', 'docs', 'errors', 'README.md'), page);
