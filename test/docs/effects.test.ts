import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from '../structure/repository-files.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';

check('the example of docs/effects.md runs as it stands and ends verified', async (t) => {
  const home = await temporaryFolder(t);
  const page = readFileSync(join(ROOT, 'docs', 'effects.md'), 'utf8');
  const example = /^```ts\n([\s\S]*?)^```/m.exec(page)?.[1] ?? '';
  assert.match(example, /from 'holdfast\/effects'/);
  const workspace = join(home, 'workspace');
  mkdirSync(workspace);
  const given = [
    "import { writeFileSync } from 'node:fs';",
    `const dataDir = ${JSON.stringify(join(home, 'data'))};`,
    `const workspace = ${JSON.stringify(workspace)};`,
    `const runId = '${'a'.repeat(32)}';`,
    `const inputSha256 = '${'0'.repeat(64)}';`,
    "const writeReport = async () => writeFileSync(workspace + '/report.txt', 'done');",
  ];
  const door = pathToFileURL(join(ROOT, 'src', 'effects', 'index.ts')).href;
  const program = `${given.join('\n')}\n${example.replace('holdfast/effects', door)}\nexport default answer;\nawait log.close();\n`;
  const file = join(home, 'example.ts');
  writeFileSync(file, program);
  const { default: answer } = (await import(pathToFileURL(file).href)) as { default: { verdict: string } };
  assert.equal(answer.verdict, 'verified');
});
