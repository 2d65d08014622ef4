// Runs the tests under node:test: everything under test/, or the files, folders or name parts given.
//   npm test · npm test -- test/contracts/operations · npm test -- --name 'OPS-17'
import { spawnSync } from 'node:child_process';
import { globSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const args = process.argv.slice(2);
const nameAt = args.indexOf('--name');
const pattern = nameAt >= 0 ? args.splice(nameAt, 2)[1] : undefined;

const files = (args.length > 0 ? args : ['test']).flatMap((place) =>
  statSync(join(root, place)).isDirectory() ? globSync(`${place}/**/*.test.ts`, { cwd: root }) : [place],
);
if (files.length === 0) {
  console.error('no test files there');
  process.exit(2);
}
mkdirSync(join(root, 'reports'), { recursive: true });
const result = spawnSync(
  process.execPath,
  [
    '--test',
    '--test-concurrency=2',
    '--test-reporter=dot',
    '--test-reporter-destination=stdout',
    '--test-reporter=junit',
    '--test-reporter-destination=reports/junit.xml',
    `--test-reporter=${join(root, 'scripts/closing-lines.ts')}`,
    '--test-reporter-destination=stdout',
    ...(pattern ? [`--test-name-pattern=${pattern}`] : []),
    ...files.sort(),
  ],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? join(root, 'node_modules/.cache/node'),
    },
  },
);
process.exit(result.status ?? 1);
