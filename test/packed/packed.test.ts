import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { runCurlLines, served } from '../gateway/served.ts';
import { commandsOf } from '../support/document-commands.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';
import { ROOT } from '../structure/repository-files.ts';
import { brokenLinks } from '../structure/rules/documents.ts';
import { compile, entries, exitOf, install, manifest, node, pack } from './package-under-test.ts';

let home = '';
let archive = '';
let consumer = '';
let installed = '';

before(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-packed-')));
  archive = pack(home);
  consumer = install(home, archive);
  installed = join(consumer, 'node_modules', 'holdfast');
});
after(() => rmSync(home, { recursive: true, force: true }));

function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

check('the package holds the build, the command and the documents, and no sources or tests', () => {
  const names = filesOf(installed).map((path) => path.slice(installed.length + 1));
  assert.ok(names.includes('LICENSE') && names.includes('bin/holdfast.js') && names.includes('dist/index.js'));
  assert.deepEqual(
    names.filter(
      (name) =>
        !/^(bin|dist)\/|^docs\/.*\.md$|^(LICENSE|(README|CHANGELOG|CONTRIBUTING|SECURITY)\.md|package\.json)$/.test(
          name,
        ),
    ),
    [],
  );
  assert.deepEqual(
    names.filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts')),
    [],
  );
});

check('every link of a packed document leads to something in the package', () => {
  const inPackage = filesOf(installed).map((path) => path.slice(installed.length + 1));
  const documents = inPackage
    .filter((path) => path.endsWith('.md'))
    .map((path) => ({ path, text: readFileSync(join(installed, path), 'utf8') }));
  assert.ok(documents.some(({ path }) => path === 'docs/guard.md'));
  assert.deepEqual(
    brokenLinks(documents, (path) => existsSync(join(installed, path))),
    [],
  );
});

check('every entry can be imported from plain JavaScript, and nothing else can', () => {
  writeFileSync(
    join(consumer, 'all.mjs'),
    `for (const entry of ${JSON.stringify(entries)}) {
      const names = Object.keys(await import(entry));
      if (names.length === 0) throw new Error(entry + ' exports nothing');
    }
    const closed = await import('holdfast/dist/core/index.js').then(() => 'open', (error) => error.code);
    console.log(closed);`,
  );
  assert.equal(node(consumer, 'all.mjs'), 'ERR_PACKAGE_PATH_NOT_EXPORTED\n');
});

check('a strict TypeScript program compiles against every entry, library declarations checked', () => {
  symlinkSync(join(ROOT, 'node_modules', '@types'), join(consumer, 'node_modules', '@types'));
  writeFileSync(
    join(consumer, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: {
        target: 'ES2024',
        lib: ['ES2024', 'ESNext.Disposable'],
        module: 'NodeNext',
        types: ['node'],
        strict: true,
        exactOptionalPropertyTypes: true,
        noUncheckedIndexedAccess: true,
        skipLibCheck: false,
        noEmit: true,
      },
      files: ['all.ts'],
    }),
  );
  const imports = entries.map((entry, index) => `import * as entry${index} from '${entry}';\nvoid entry${index};`);
  const program = `
    import { HoldfastError, type ErrorCode } from 'holdfast';
    const code: ErrorCode = 'STORE_BUSY';
    export function isBusy(error: unknown): boolean {
      return error instanceof HoldfastError && error.code === code && error.retryable;
    }
    // @ts-expect-error: a code that is not in the table is no code
    export const wrong: ErrorCode = 'NO_SUCH_CODE';
  `;
  writeFileSync(join(consumer, 'all.ts'), [...imports, program].join('\n'));
  compile(consumer, '-p', '.');
  assert.ok(entries.length > 0);
});

check('declarations and code import only Node.js and what the package depends on', () => {
  // `holdfast init` writes a file that imports the package itself.
  const allowed = new Set(['holdfast', ...Object.keys(manifest.dependencies)]);
  const optional = Object.keys(manifest.peerDependencies).join('|');
  const named = filesOf(join(installed, 'dist')).flatMap((path) => {
    // An optional peer is loaded where it is asked for; no declaration and no static import knows it.
    const code = path.endsWith('.js') ? new RegExp(`\\bimport\\(["'](?:${optional})["']\\)`, 'g') : /(?!)/g;
    const text = readFileSync(path, 'utf8')
      .replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
      .replace(code, '');
    const names = [...text.matchAll(/(?:\bfrom\s|\bimport\s|\bimport\()["']([^"'.][^"']*)["']/g)].map(
      ([, name = '']) => name,
    );
    return names.map((name) =>
      name
        .split('/')
        .slice(0, name.startsWith('@') ? 2 : 1)
        .join('/'),
    );
  });
  assert.ok(named.includes('commander'), 'imports were found');
  const strangers = new Set(named.filter((name) => !name.startsWith('node:') && !allowed.has(name)));
  assert.deepEqual([...strangers], []);
});

check('the installed command runs: its version, a data folder, a look at it', () => {
  const command = join(installed, 'bin', 'holdfast.js');
  assert.equal(node(consumer, command, '--version'), `${manifest.version}\n`);
  node(consumer, command, 'migrate');
  const report = JSON.parse(node(consumer, command, 'doctor', '--json')) as { state: string };
  assert.notEqual(report.state, 'fail');
});

check('init, and the run that its last line says, work in a folder where the package is installed', () => {
  const command = join(installed, 'bin', 'holdfast.js');
  const said = node(consumer, command, 'init');
  const [, task = ''] = /^Try it: holdfast run "([^"]+)"$/m.exec(said) ?? [];
  const waiting = exitOf(consumer, command, 'run', task);
  assert.equal(waiting.exit, 3, waiting.text);
  const [, approve = ''] = /decide: holdfast (.*)/.exec(waiting.text) ?? [];
  const [, resume = ''] = /then: holdfast (.*)/.exec(waiting.text) ?? [];
  node(consumer, command, ...approve.split(' '));
  assert.match(node(consumer, command, ...resume.split(' ')), /add_note .*Remember the milk[\s\S]*done \(reported\)/);
});

check('a newcomer installs the package, does what README.md says over HTTP, and sees a run finish', async (t) => {
  const folder = install(realpathSync(await temporaryFolder(t)), archive);
  const command = join(folder, 'node_modules', 'holdfast', 'bin', 'holdfast.js');
  const said = commandsOf('README.md', 'npx');
  assert.ok(said.includes('npx holdfast init') && said.includes('npx holdfast serve'));
  const made = spawnSync(process.execPath, [command, 'init'], { cwd: folder, encoding: 'utf8' });
  assert.equal(made.status, 0, made.stderr);
  const gateway = await served(t, folder, command);
  const answers = await runCurlLines('README.md', gateway);
  assert.match(answers.at(-1) ?? '', /"outcome":"done".*"tool":"add_note"/);
  assert.equal(await gateway.stop(), 0);
});
