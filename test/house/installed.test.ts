import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from '../structure/repository-files.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';

const LOOK = "import { installedPackage } from './scripts/installed.ts'; process.stdout.write(installedPackage());";
const SOURCES = {
  'package.json': `{ "name": "small", "type": "module", "engines": { "node": ">=22.18.0" },
    "exports": { ".": { "default": "./dist/index.js" } } }`,
  'src/index.ts': "export const word: string = 'first';\n",
  'src/cli/index.ts': "export { word } from '../index.ts';\n",
  'src/tools/json-schema/schema-worker.ts': 'export {};\n',
};

check('the package that tests run is that of the sources as they are, and is built once for them', async (t) => {
  const folder = await temporaryFolder(t);
  for (const path of ['scripts/bundle.ts', 'scripts/installed.ts', 'bin/holdfast.js'])
    cpSync(join(ROOT, path), join(folder, path));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  for (const [path, text] of Object.entries(SOURCES)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const installed = (): string => {
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', LOOK], {
      cwd: folder,
      encoding: 'utf8',
    });
    assert.notEqual(stdout, '', stderr);
    return stdout;
  };
  const first = installed();
  writeFileSync(join(first, 'seen'), '');
  assert.equal(installed(), first);
  assert.equal(readFileSync(join(first, 'seen'), 'utf8'), '', 'it is the same folder, not one made anew');
  writeFileSync(join(folder, 'src/index.ts'), "export const word: string = 'other';\n");
  const second = installed();
  assert.notEqual(second, first);
  const built = globSync('dist/**/*.js', { cwd: second }).map((path) => readFileSync(join(second, path), 'utf8'));
  assert.match(built.join('\n'), /"other"/);
});
