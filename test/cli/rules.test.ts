import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { Holdfast } from '../../src/index.ts';
import { importRule } from '../../src/approvals/index.ts';
import { guardWorld, OPEN_POLICY, outcomeOf } from '../mcp/guard-world.ts';
import { assert, check, configuredFolder, holdfast, LETTER_AGENT, temporaryFolder } from '../support/index.ts';

type Document = Readonly<Record<string, unknown>>;
const ruleIds = (document: Document): unknown[] => (document['rules'] as Document[]).map((one) => one['rule_id']);

/** A data folder with one rule that came with a package, and the command on it. */
async function importedWorld(t: TestContext) {
  const dataDir = join(await temporaryFolder(t), 'data');
  const made = await Holdfast.open({ dataDir });
  const { store, calls, principal } = made.runtime;
  await store.write('test.import', (tx) =>
    importRule(tx, calls.sessions, principal, {
      scope: 'global',
      tool: 'web\u{202e}_*',
      pattern: 'https://a.test/\u{200b}**',
      decision: 'allow',
    }),
  );
  await made.close();
  const env = { HOLDFAST_DATA_DIR: dataDir };
  return { dataDir, text: (...args: string[]) => holdfast(['rules', ...args], { env }) };
}

check('a rule that one process makes holds for the next call of a run in another, until it is dropped', async (t) => {
  const { folder, json } = await configuredFolder(t, LETTER_AGENT);
  const letters = () => {
    const file = join(folder, 'letters.txt');
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  };
  const run = async () => (await json('run', 'Write to Ada')).exit;
  const wide = await json('rules', 'allow', 'po*');
  assert.deepEqual([wide.exit, wide.document['lowers_tool_ask']], [0, false]);
  assert.equal(await run(), 3, 'a rule for po* does not lower what the tool itself asks for');
  const exact = await json('rules', 'allow', 'post');
  assert.deepEqual([exact.exit, exact.document['lowers_tool_ask']], [0, true]);
  assert.deepEqual([letters(), await run(), letters() === ''], ['', 0, false]);
  const before = letters();
  const denied = await json('rules', 'deny', 'p*', '*', '--project', 'default');
  assert.deepEqual([denied.exit, denied.document['project_id']], [0, 'default']);
  const refused = await json('run', 'Write to Ada');
  assert.match(JSON.stringify(refused.document), /POLICY_DENIED/);
  assert.equal(letters(), before, 'deny beats allow');
  for (const made of [denied, exact])
    assert.equal((await json('rules', 'drop', String(made.document['rule_id']))).exit, 0);
  assert.deepEqual(ruleIds((await json('rules', 'list')).document), [wide.document['rule_id']]);
  assert.deepEqual([await run(), letters()], [3, before]);
});

check('a rule that the command makes holds for the next call of a guard that runs beside it', async (t) => {
  const world = await guardWorld(t);
  const rules = (...args: string[]) => holdfast(['rules', ...args, '--json', '--data-dir', world.dataDir]);
  assert.equal(outcomeOf(await world.call('write', { n: 1 }))?.code, undefined);
  const made = await rules('deny', 'world__write');
  assert.equal(made.exit, 0, made.stdout);
  assert.equal(outcomeOf(await world.call('write', { n: 2 }))?.code, 'POLICY_DENIED');
  assert.equal((await rules('ask', 'world__write')).exit, 0);
  assert.equal(outcomeOf(await world.call('write', { n: 3 }))?.code, 'APPROVAL_PENDING');
  // What the policy file holds, no rule lets go.
  assert.equal((await rules('allow', 'world__unheard_of')).exit, 0);
  assert.equal(outcomeOf(await world.call('unheard_of', { n: 4 }))?.code, 'APPROVAL_PENDING');
  assert.equal(world.effects().length, 1);
});

check('a rule holds what a guard in shadow mode would only report', async (t) => {
  const world = await guardWorld(t, { policy: { ...OPEN_POLICY, mode: 'shadow' } });
  assert.equal(outcomeOf(await world.call('unheard_of', { n: 1 }))?.code, undefined);
  for (const [decision, code] of [
    ['ask', 'APPROVAL_PENDING'],
    ['deny', 'POLICY_DENIED'],
  ] as const) {
    await holdfast(['rules', decision, 'world__*', '--data-dir', world.dataDir]);
    assert.equal(outcomeOf(await world.call('unheard_of', { decision }))?.code, code);
  }
});

check('the text says what a rule now does, where it holds, who made it and how to undo it', async (t) => {
  const { text } = await importedWorld(t);
  const allow = await text('allow', 'post');
  assert.match(
    allow.stdout,
    /^[0-9a-f]{32} {2}allow {2}post {2}on \*\* {2}everywhere {2}by owner {2}\d{4}-.+\n {2}.*also where the tool itself asks for one\./,
  );
  assert.match(allow.stdout, /Undo it with: holdfast rules drop [0-9a-f]{32}\n$/);
  const wide = await text('allow', 'web_*', 'https://a.test/**');
  assert.match(wide.stdout, /only an allow that names exactly one tool, without `\*`, lowers that/);
  assert.match(wide.stdout, /matches no call of a tool that names nothing it touches/);
  assert.match((await text('ask', 'web_*')).stdout, /wait for a person, whatever allows them/);
  const deny = await text('deny', 'post');
  assert.match(deny.stdout, /are refused, whatever allows them/);
  const [id = ''] = deny.stdout.split(' ');
  assert.equal(
    allow.stdout.startsWith(id),
    true,
    'the rule of the same place, tool and pattern says something else now',
  );
  assert.match((await text('drop', id)).stdout, /Dropped: calls are judged without it from now on/);
});

check('what an import brought is shown as such, with nothing unseen in it, and never allows', async (t) => {
  const { dataDir, text } = await importedWorld(t);
  const { exit, stdout } = await text('list');
  assert.equal(exit, 0);
  assert.match(
    stdout,
    /ask {4}web\\u\{202e\}_\* {2}on https:\/\/a\.test\/\\u\{200b\}\*\* {2}everywhere {2}by an import/,
  );
  assert.doesNotMatch(stdout, /[\u{202e}\u{200b}]/u);
  const { stdout: json } = await holdfast(['rules', 'list', '--json', '--data-dir', dataDir]);
  const [rule] = (JSON.parse(json) as { rules: Document[] }).rules;
  const { decision, tool, made_by_kind: kind, made_by: by, lowers_tool_ask: lowers } = rule ?? {};
  assert.deepEqual([decision, tool, kind, by, lowers], ['ask', 'web\u{202e}_*', 'import', null, false]);
  const pattern = await text('deny', 'post', 'a\u{202e}\u{1b}[31m\nb');
  assert.match(pattern.stdout, /on a\\u\{202e\}\\u\{1b\}\[31m\\u\{a\}b {2}/);
});

check('a list is bounded, and names its next page as it was asked for', async (t) => {
  const { text } = await importedWorld(t);
  for (const tool of ['a', 'b']) assert.equal((await text('deny', tool)).exit, 0);
  const first = await text('list', '--limit', '2');
  const [, more = ''] = /^More: holdfast rules (list --limit 2 --after [0-9a-f]{32})$/m.exec(first.stdout) ?? [];
  assert.deepEqual([first.stdout.split('\n').length, more === ''], [4, false]);
  const second = await text(...more.split(' '));
  assert.match(second.stdout, /^[0-9a-f]{32} {2}deny {3}b {2}on \*\* .*\n$/);
});

check('each refusal has its code, its exit code and what resolves it, and leaves no rule', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  const rules = async (...args: string[]) => {
    const { exit, stdout } = await holdfast(['rules', ...args, '--json', '--data-dir', dataDir]);
    return { exit, document: JSON.parse(stdout) as { error?: { code: string; resolve: string }; rules?: unknown[] } };
  };
  assert.equal((await rules('list')).document.error?.code, 'DATA_FOLDER_MISSING');
  await holdfast(['migrate', '--data-dir', dataDir]);
  for (const [args, code, exit] of [
    [['allow', 'post', '**', '--session', 'nobody'], 'SESSION_NOT_FOUND', 2],
    [['allow', 'post', '**', '--project', 'nobody'], 'PROJECT_NOT_FOUND', 1],
    [['allow', 'post', '--session', 'a', '--project', 'default'], 'INVALID_VALUE', 2],
    [['deny', 'p\u{43e}st'], 'INVALID_VALUE', 2],
    [['deny', 'post', ' '], 'INVALID_VALUE', 2],
    [['deny', 'post', 'x'.repeat(4097)], 'INVALID_VALUE', 2],
    [['deny'], 'USAGE', 2],
    [['deny', 'post', 'a', 'b'], 'USAGE', 2],
    [['list', '--limit', 'x'], 'INVALID_VALUE', 2],
    [['drop', 'nobody'], 'PERMISSION_RULE_NOT_FOUND', 2],
  ] as const) {
    const refused = await rules(...args);
    assert.deepEqual([refused.document.error?.code, refused.exit], [code, exit], args.join(' '));
    assert.notEqual(refused.document.error?.resolve ?? '', '');
  }
  assert.deepEqual((await rules('list')).document.rules, []);
});
