import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
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

/** What a host writes down: the types of what it passes, and of what it is given. */
const SIGNATURES = `
  import * as holdfast from 'holdfast';
  import { openSqliteStore, type ContextSchema, type ReadTx, type Store, type Tx } from 'holdfast/store/sqlite';

  const principal: holdfast.Principal = { tenant: 'local', subject: 'ada', roles: ['agent'] };
  const approver: holdfast.ApproverRule = { roles: ['approver'], subjects: [], requesterMayDecide: false };
  const notices: holdfast.NoticeOptions = { command: ['notify'] };
  const decide = (call: holdfast.ProposedCall, who: holdfast.Principal): holdfast.PolicyAnswer =>
    call.tool === 'read' && who.roles.includes('agent') ? 'allow' : null;
  const onClosed = (branch: holdfast.ClosedSideBranch): void => void branch;
  export const options: holdfast.HoldfastOptions = { principal, approver, notices };
  export { decide, onClosed };

  const budgets: Partial<holdfast.RunBudgets> = { maxTokens: 1000 };
  const retries: Partial<holdfast.ModelRetries> = {};
  const costOf = (usage: holdfast.ModelUsage): number => usage.outputTokens ?? 0;
  const onCallRetry = (standing: holdfast.CallStanding): void => void standing;
  export const agent = (model: holdfast.ModelLike): holdfast.AgentOptions => ({ model, budgets, retries, costOf });
  export const adopted = (run: holdfast.Run, how: holdfast.ResumeOptions): Promise<holdfast.Run> =>
    run.resume(undefined, how);
  export const unknown = (calls: readonly holdfast.CallView[]): readonly holdfast.CallView[] =>
    calls.filter(({ outcome }) => outcome?.state === 'unknown');
  export const cut = ({ cut: why }: holdfast.RunView): holdfast.CutReason | null => why;
  export const detours = ({ sideBranches }: holdfast.RunView): readonly holdfast.SideBranchView[] => sideBranches;
  export const edited = (run: holdfast.Run, editedArguments: holdfast.JsonObject): Promise<holdfast.Run> =>
    run.approve(run.pending[0], { editedArguments });
  export const value = (it: holdfast.JsonValue): holdfast.JsonValue => it;
  export { onCallRetry };

  export function logged<I extends holdfast.ToolSchema, O extends holdfast.ToolSchema>(
    definition: holdfast.ToolDefinition<I, O>,
    log: (input: holdfast.SchemaValue<I>) => void,
  ): holdfast.Tool {
    const execute = (input: holdfast.SchemaValue<I>, call: holdfast.ToolCallContext): unknown => {
      log(input);
      const done: holdfast.ToolProgress = { done: 1 };
      call.progress(done);
      return definition.execute(input, call);
    };
    return holdfast.tool({ ...definition, execute });
  }
  export const shown: holdfast.JsonSchemaObject = { type: 'object' };
  export const limits: Partial<holdfast.ToolOutputLimits> = { maxDepth: 2 };
  export const file: holdfast.FilesystemTarget = { kind: 'filesystem', role: 'file', root: '/x', path: 'a' };
  export const row = (row: holdfast.OwnedTarget | holdfast.ExternalTarget): holdfast.ResourceTarget => row;
  export const recorded = (transcript: holdfast.Transcript): holdfast.Model => holdfast.recordedModel(transcript);
  export const rule: holdfast.RuleDecision = 'allow';

  const schema: ContextSchema = { context: 'notes', migrations: [] };
  const count = (tx: ReadTx): Promise<unknown> => tx.get('SELECT count(*) FROM notes', []);
  const add = (tx: Tx): Promise<unknown> => tx.run('INSERT INTO notes (id) VALUES (?)', ['a']);
  export const opened = async (path: string): Promise<Store> => {
    const store = await openSqliteStore({ file: path, schemas: [schema] });
    await store.write('notes.add', (tx) => add(tx));
    await store.read('notes.count', (tx) => count(tx));
    return store;
  };
`;

/** What the compiler says of these files, as a strict program outside the sources. */
async function compiled(t: TestContext, files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await temporaryFolder(t);
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const { compilerOptions } = JSON.parse(readFileSync(join(ROOT, 'tsconfig.json'), 'utf8')) as {
    compilerOptions: Record<string, unknown>;
  };
  const strict = { ...compilerOptions, noPropertyAccessFromIndexSignature: true, noUnusedLocals: false };
  const options = { compilerOptions: { ...strict, paths: entries() }, include: ['*.ts'] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(options));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const { status, stdout } = spawnSync(process.execPath, [COMPILER, '-p', folder], { encoding: 'utf8', cwd: folder });
  assert.equal(status === 0, stdout === '');
  return stdout;
}

check('every example of a document compiles as it stands in a strict program', async (t) => {
  const documents = ['README.md', ...readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`)];
  const examples: Record<string, string> = {};
  for (const document of documents.filter((name) => name.endsWith('.md')))
    for (const [at, block] of blocksOf(document).entries())
      examples[`${document.replaceAll(/\W/g, '-')}-${at}.ts`] = `${block}\nexport {};\n${GIVEN[document] ?? ''}`;
  assert.ok(Object.keys(examples).length > 10);
  assert.equal(await compiled(t, examples), '');
});

check('a host can write down the type of whatever it passes and is given', async (t) => {
  assert.equal(await compiled(t, { 'signatures.ts': SIGNATURES }), '');
});
