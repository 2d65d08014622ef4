import { after } from 'node:test';
import { assert, check } from '../support/index.ts';
import { repositoryTexts } from './repository-files.ts';
import { anyTypes, clocksAndDice, forbiddenWords } from './rules/habits.ts';
import { toolInvocations } from './rules/tool-calls.ts';
import { readRepository, readSample } from './source-tree.ts';

const repository = readRepository();
after(() => repository.close());

check('only core/ reads the wall clock or rolls dice', () => {
  assert.deepEqual(clocksAndDice(repository), []);
});

check('nothing is typed any', () => {
  assert.deepEqual(anyTypes(repository), []);
});

check('no file holds work left undone, a silenced check, a fixture in the product, or a place on a machine', () => {
  assert.deepEqual(forbiddenWords(repositoryTexts()), []);
});

check('only calls/ invokes a tool', () => {
  assert.deepEqual(toolInvocations(repository), []);
});

check('clocks, dice and any of a bad sample are seen, and dates that are given are not', () => {
  const sample = readSample({
    'src/core/clock.ts': 'export const now = () => Date.now();\n',
    'src/runs/bad.ts': [
      'export const a = Date.now();',
      'export const b = new Date();',
      'export const c = performance.now();',
      'export const d = Math.random();',
      'export const e = globalThis.Date.now;',
      'export const f = crypto.randomUUID();',
      'export const g = randomBytes(8);',
      'export const h: any = new Date(0);',
      'export const i = Date.UTC(2020, 1);',
    ].join('\n'),
  });
  const lines = clocksAndDice(sample).map((problem) => Number(/:(\d+)/.exec(problem)?.[1]));
  const any = anyTypes(sample);
  sample.close();
  assert.deepEqual(lines, [1, 2, 3, 4, 5, 6, 7]);
  assert.deepEqual(any, ['src/runs/bad.ts:8 says any']);
});

check('forbidden words of bad samples are seen where they are forbidden', () => {
  const words = [
    ['src/a.ts', `// TO${'DO'}: later`],
    ['src/a.ts', `// @ts-ig${'nore'}`],
    ['test/a.ts', `// oxlint-dis${'able'} x`],
    ['src/a.ts', `const ref${'und'}s = 1;`],
    ['docs/a.md', `see /${'work'}/main`],
    ['docs/a.md', `see (/${'root'}/x)`],
    ['docs/a.md', `see /${'home'}/someone`],
    ['a.json', `https://regis${'try'}.example.org/x`],
    ['package-lock.json', '"resolved": "http://x"'],
  ] as const;
  for (const [path, text] of words) assert.equal(forbiddenWords([{ path, text }]).length, 1, text);
  const fine = [
    ['test/a.ts', `ref${'und'} ORDER-${'7'} /${'home'}/someone`],
    ['docs/a.md', `/workspace/a x/${'root'}/b {root}/${'root'}/c`],
  ] as const;
  for (const [path, text] of fine) assert.deepEqual(forbiddenWords([{ path, text }]), [], text);
});

check('each way of getting at a tool in a bad sample is seen, and what merely has the same name is not', () => {
  const sample = readSample({
    'src/tools/index.ts': [
      'export interface Tool { execute: () => void; status?: () => void; observe?: () => void }',
      'export const wrap = (tool: Tool): Tool => ({ execute: () => tool.execute() });',
      'export const run = (tool: Tool): void => tool.execute();',
    ].join('\n'),
    'src/calls/index.ts':
      "import type { Tool } from '../tools/index.ts';\nexport const go = (t: Tool): void => t.execute();\n",
    'src/runs/index.ts': [
      "import type { Tool } from '../tools/index.ts';",
      'export const a = (t: Tool): void => t.execute();',
      "export const b = (t: Tool): void => t['execute']();",
      'export const c = ({ execute }: Tool): void => execute();',
      'export const d = (t: { tool: Tool }): unknown => t.tool.status;',
      'export const e = (t: Tool): void => t.observe?.();',
      'export const f = (log: { observe(): void; status: number }): unknown => (log.observe(), log.status);',
    ].join('\n'),
  });
  const places = toolInvocations(sample).map((problem) => problem.split(' ')[0]);
  sample.close();
  assert.deepEqual(places, [
    'src/tools/index.ts:3',
    'src/runs/index.ts:2',
    'src/runs/index.ts:3',
    'src/runs/index.ts:4',
    'src/runs/index.ts:5',
    'src/runs/index.ts:6',
  ]);
});
