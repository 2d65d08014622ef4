import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bytesSource, diffPackages, inspectPackage } from '../../src/archive/index.ts';
import type { JsonObject } from '../../src/core/index.ts';
import { assert, check, holdfast, temporaryFolder } from '../support/index.ts';
import { at, edited, editDocument, filesOf, oracle, ORACLE_FOLDER, pack, resealed } from './support/packages.ts';

const inspect = (bytes: Buffer, messages?: number) =>
  inspectPackage(bytesSource(bytes), messages === undefined ? {} : { messages });
const list = (document: JsonObject, key: string): JsonObject[] => document[key] as JsonObject[];

check('what is inside: session, conversation, calls, artifacts, history, workspace, sizes', async () => {
  const found = await inspect(oracle('b-notebook'));
  assert.equal(found.verified, true);
  assert.deepEqual(found.session, {
    name: 'Gauge fit',
    project: 'River gauge survey',
    task: 'Fit the gauge table',
    model: 'example-model-1',
    created_at: '2025-10-09T08:53:20.014Z',
  });
  assert.equal(found.conversation.messages, 3);
  assert.equal(found.conversation.last[0]?.text, 'Please fit y against x in the attached table.');
  assert.equal(found.cells, 6);
  assert.deepEqual(found.artifacts.map(({ name, versions }) => `${name} ${versions}`).sort(), [
    'fit.png 3',
    'gauges-clean.csv 2',
    'gauges.csv 1',
    'report.md 2',
  ]);
  assert.equal(found.workspace.files, 4);
  assert.deepEqual(found.workspace.largest[0], { path: 'fit.png', bytes: 908 });
  assert.equal(found.sizes.files, 24);
  assert.match(found.warnings.join('\n'), /permission rules allow[\s\S]*capabilities are on[\s\S]*instruct an agent/);
  assert.equal((await inspect(oracle('b-notebook'), 1)).conversation.last.length, 1);
  const tools = (await inspect(oracle('e-native-tools'))).calls.tools;
  assert.deepEqual(tools[0], { name: 'session_status', times: 2 });
  const branches = (await inspect(oracle('c2-active-child'))).history.branches;
  assert.equal(branches.filter(({ active }) => active).length, 1);
});

/** What a terminal would obey, or a reader would be misled by. */
const NASTY = 'a\u001b]0;title\u0007b\u202ec\u200bd\u009be\u2028f\rg';
const UNSEEN = /[\p{Cf}\p{Zl}\p{Zp}\u0080-\u009f\u007f]/u;

check('no text of the package reaches a terminal or a reader unescaped', async (t) => {
  const files = await filesOf('b-notebook');
  editDocument(files, 'session.json', (document) => {
    for (const message of list(document, 'messages')) Object.assign(message, { content: NASTY, role: NASTY });
    at(document['frame'])['name'] = NASTY;
    at(document['project'])['name'] = NASTY;
  });
  editDocument(files, 'artifacts.json', (document) =>
    list(document, 'artifacts').forEach((a) => (a['filename'] = NASTY)),
  );
  editDocument(files, 'snapshots.json', (document) => list(document, 'branches').forEach((b) => (b['name'] = NASTY)));
  const file = join(await temporaryFolder(t), 'p.zip');
  writeFileSync(file, resealed(files));
  const texts = await Promise.all([
    holdfast(['inspect', file]),
    holdfast(['inspect', file, '--json']),
    holdfast(['diff', file, join(ORACLE_FOLDER, 'b-notebook.zip')]),
  ]);
  for (const { stdout } of texts) {
    assert.ok(stdout.length > 100);
    assert.doesNotMatch(stdout, UNSEEN);
    assert.doesNotMatch(stdout.replaceAll('\n', ''), /\p{Cc}/u);
  }
  assert.match(texts[0].stdout, /invisible or direction-changing/);
});

check('a package that does not verify is shown with what does not hold, and exit code 1', async (t) => {
  const files = await filesOf('a-minimal');
  files.set('notebook.json', Buffer.from('not json'));
  files.delete('plans.json');
  const found = await inspect(pack(files));
  assert.equal(found.verified, false);
  const warnings = found.warnings.join('\n');
  assert.match(warnings, /hash mismatch: notebook\.json/);
  assert.match(warnings, /notebook\.json is missing or not one strict JSON object/);
  assert.match(warnings, /listed, but missing: plans\.json/);
  assert.equal(found.conversation.messages, 2);
  const file = join(await temporaryFolder(t), 'p.zip');
  writeFileSync(file, pack(files));
  const shown = await holdfast(['inspect', file, '--messages', '1']);
  assert.equal(shown.exit, 1);
  assert.match(shown.stdout, /DOES NOT VERIFY[\s\S]*a stranger’s word/);
  assert.equal((await holdfast(['inspect', file, '--messages', 'many'])).exit, 2);
});

check('documents of wrong shapes are shown as far as they go', async () => {
  const files = await filesOf('b-notebook');
  for (const name of ['session.json', 'ledger.json', 'snapshots.json', 'artifacts.json', 'permissions.json'])
    editDocument(files, name, (document) => {
      for (const key of Object.keys(document))
        document[key] = [null, 7, 'x', [], { events: 3, versions: {}, metadata: 1 }];
    });
  const found = await inspect(resealed(files));
  assert.equal(found.verified, true);
  assert.equal(found.conversation.messages, 1);
});

check('packages of one session mean the same whatever packed them, and otherwise the difference is named', async () => {
  const diff = (a: Buffer, b: Buffer) => diffPackages(bytesSource(a), bytesSource(b));
  const original = oracle('b-notebook');
  const repacked = pack(await filesOf('b-notebook'));
  assert.ok(!repacked.equals(original));
  assert.deepEqual(await diff(original, repacked), { same: true, problems: { a: [], b: [] }, differences: [] });
  const changed = await edited('b-notebook', 'session.json', (document) => {
    const [first] = list(document, 'messages');
    Object.assign(first as JsonObject, { content: 'Something else', metadata: { note: 1 } });
    list(document, 'messages').pop();
    at(document['project'])['name'] = 'Another';
  });
  const { same, differences } = await diff(original, changed);
  assert.equal(same, false);
  const messages = differences.find(({ what }) => what === 'messages');
  assert.deepEqual(messages?.removed, ['m-6cc1e6816397']);
  assert.deepEqual(messages?.changed, [
    { id: 'm-8843fb8361d6', fields: ['content', 'metadata.attachments', 'metadata.note'] },
  ]);
  const settings = differences.find(({ what }) => what === 'document settings');
  assert.deepEqual(settings?.changed, [{ id: 'session.json', fields: ['project.name'] }]);
  assert.equal(
    (await diff(original, oracle('a-minimal'))).differences.some(({ what }) => what === 'workspace files'),
    true,
  );
});

check('a package with a problem never means the same', async (t) => {
  const files = await filesOf('a-minimal');
  const folder = await temporaryFolder(t);
  const path = (name: string, bytes: Buffer) => {
    writeFileSync(join(folder, name), bytes);
    return join(folder, name);
  };
  const good = path('good.zip', pack(files));
  files.set('extra', Buffer.from('x'));
  const bad = path('bad.zip', pack(files));
  assert.equal((await holdfast(['diff', good, good])).exit, 0);
  const shown = await holdfast(['diff', good, bad]);
  assert.equal(shown.exit, 1);
  assert.match(shown.stdout, /problem of the second package: unlisted file: extra/);
});
