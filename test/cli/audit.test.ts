import { rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { disarm } from '../support/autonomy-attacks.ts';
import { configuredFolder, LETTER_AGENT } from '../support/configured-folder.ts';
import { commandsOf } from '../support/document-commands.ts';
import { assert, check } from '../support/index.ts';

check('a signed head shows what was rewritten since, and only with its key', async (t) => {
  const { folder, holdfast, json } = await configuredFolder(t, LETTER_AGENT);
  await holdfast('run', 'Post it.');
  const [make = '', check = ''] = commandsOf('docs/autonomy.md', 'holdfast audit');
  const { exit, stdout } = await holdfast('keys', 'new', '--out', 'audit.key');
  assert.equal(exit, 0);
  writeFileSync(join(folder, 'audit.pub'), `${stdout.split('\n')[0] ?? ''}\n`);
  const made = await holdfast(...make.split(' ').slice(1));
  assert.equal(made.exit, 0, made.stderr);
  assert.equal(statSync(join(folder, 'holdfast.head')).mode & 0o077, 0);
  const passed = await holdfast(...check.split(' ').slice(1));
  assert.deepEqual([passed.exit, passed.stdout.split('\n')[0]], [0, 'The audit passed.']);
  const run = await json('run', 'Post another.');
  assert.equal(run.exit, 3);
  assert.equal((await holdfast('audit', '--head', 'holdfast.head', '--key', 'audit.key')).exit, 0);
  const without = await json('audit', '--head', 'holdfast.head');
  assert.deepEqual([without.exit, without.document.error?.code], [2, 'AUDIT_HEAD_INVALID']);
  await holdfast('keys', 'new', '--out', 'other.key');
  const other = await json('audit', '--head', 'holdfast.head', '--key', 'other.key');
  assert.deepEqual([other.exit, other.document.error?.code], [2, 'AUDIT_HEAD_INVALID']);
  const database = new DatabaseSync(join(folder, '.holdfast', 'holdfast.db'));
  disarm(database);
  database.exec("UPDATE action_groups SET usage = '{}' WHERE kind = 'native_tools'");
  database.close();
  const plain = await holdfast('audit');
  assert.equal(plain.exit, 0, 'no digest of its own covers it');
  const held = await json('audit', '--head', 'holdfast.head', '--key', 'audit.pub');
  const { head } = held.document as unknown as { readonly head: { readonly problems: readonly object[] } };
  assert.equal(held.exit, 1);
  assert.deepEqual(
    head.problems.map((problem) => ({ ...problem, session_id: undefined })),
    [{ session_id: undefined, what: 'groups', problem: 'changed', reference: null }],
  );
});

check('a head is a new file, of what passes, and either made or held against', async (t) => {
  const { folder, holdfast, json } = await configuredFolder(t, LETTER_AGENT);
  await holdfast('run', 'Post it.');
  assert.equal((await holdfast('audit', '--make-head', 'plain.head')).exit, 0);
  assert.equal((await holdfast('audit', '--head', 'plain.head')).exit, 0);
  assert.equal((await json('audit', '--make-head', 'plain.head')).exit, 2);
  const both = await json('audit', '--make-head', 'a', '--head', 'b');
  assert.deepEqual([both.exit, both.document.error?.code], [2, 'USAGE']);
  rmSync(join(folder, 'plain.head'));
  assert.equal((await json('audit', '--head', 'plain.head')).exit, 2);
});
