import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { blocksOf } from '../support/document-examples.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const COMPILER = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');

/** What the examples of a document take, as its text says it. */
const GIVEN: Readonly<Record<string, string>> = {
  'README.md': `
    type Draft = { order_ref: string; reason: 'duplicate' | 'damaged' };
    declare const billing: {
      draft(draft: Draft, how: { idempotencyKey: string }): Promise<{ id: string }>;
      find(key: string): Promise<import('holdfast').ToolStatus>;
    };
    declare const model: import('holdfast').Model;`,
  'docs/calls.md': "declare const dataDir: string; declare const asWritten: import('holdfast').Model;",
  'docs/effects.md': `
    declare const dataDir: string; declare const workspace: string; declare const runId: string;
    declare const inputSha256: string; declare function writeReport(): Promise<void>;`,
  'docs/mcp-tools.md': `
    declare const serverProgram: string; declare const workFolder: string;
    declare const model: import('holdfast').Model;`,
  'docs/runs.md': `
    declare const notes: unknown[]; declare const folder: string; declare const model: import('holdfast').Model;`,
  'docs/store.md': 'declare const file: string;',
  'docs/telemetry.md': 'declare const dataDir: string;',
  'docs/tools.md': `
    type Answer = { kind: 'drafted' | 'no_such_customer'; id: string };
    declare const letters: {
      draft(letter: object, how: { key: string; signal: AbortSignal }): Promise<Answer>;
      find(key: string): Promise<Answer | undefined>;
    };`,
};

/** The sources of each entry, so that no build is needed. */
function entries(): Record<string, string[]> {
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    exports: Record<string, string | { types: string }>;
  };
  return Object.fromEntries(
    Object.entries(exports).flatMap(([entry, to]) =>
      typeof to === 'string'
        ? []
        : [
            [
              entry.replace('.', 'holdfast'),
              [join(ROOT, to.types.replace('./dist', 'src').replace(/\.d\.ts$/, '.ts'))],
            ],
          ],
    ),
  );
}

check('every example of a document compiles as it stands in a strict program', async (t) => {
  const folder = await temporaryFolder(t);
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const { compilerOptions } = JSON.parse(readFileSync(join(ROOT, 'tsconfig.json'), 'utf8')) as {
    compilerOptions: Record<string, unknown>;
  };
  const strict = { ...compilerOptions, noPropertyAccessFromIndexSignature: true, noUnusedLocals: false };
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: { ...strict, paths: entries() }, include: ['*.ts'] }),
  );
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  const documents = ['README.md', ...readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`)];
  let examples = 0;
  for (const document of documents.filter((name) => name.endsWith('.md')))
    for (const block of blocksOf(document)) {
      examples += 1;
      writeFileSync(
        join(folder, `${document.replaceAll(/\W/g, '-')}-${examples}.ts`),
        `${block}\nexport {};\n${GIVEN[document] ?? ''}`,
      );
    }
  assert.ok(examples > 10);
  const { status, stdout } = spawnSync(process.execPath, [COMPILER, '-p', folder], { encoding: 'utf8', cwd: folder });
  assert.deepEqual([stdout.replaceAll(folder, ''), status], ['', 0]);
});
