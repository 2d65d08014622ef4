import { linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert, check, temporaryFolder } from '../support/index.ts';
import { guardWorld, outcomeOf, textOf } from './guard-world.ts';

const policyOf = (root: string) => ({
  version: 1,
  name: 'paths',
  revision: '1',
  server: 'world',
  roots: { files: { path: root } },
  tools: {
    write: {
      effect: 'once',
      resources: [{ kind: 'filesystem', role: 'file', root: 'files', path: '/path', may_be_missing: true }],
      postconditions: [{ role: 'file', predicate: 'exists' }],
    },
  },
  rules: [{ id: 'all', tools: ['write'], decision: 'allow' }],
});

check('a path that is none, or leads elsewhere, is refused with its code, and nothing is run', async (t) => {
  const folder = await temporaryFolder(t);
  const root = join(folder, 'ws');
  mkdirSync(join(root, 'sub'), { recursive: true });
  mkdirSync(join(folder, 'elsewhere'));
  writeFileSync(join(folder, 'elsewhere', 'target.txt'), 'theirs');
  writeFileSync(join(root, 'own.txt'), 'own');
  linkSync(join(root, 'own.txt'), join(root, 'twin.txt'));
  symlinkSync(join(folder, 'elsewhere'), join(root, 'out'));
  symlinkSync(join(folder, 'elsewhere', 'target.txt'), join(root, 'file-out'));
  symlinkSync('loop', join(root, 'loop'));
  const world = await guardWorld(t, { policy: policyOf(root), dataDir: folder });
  const refused: readonly (readonly [string, string])[] = [
    ['../outside.txt', 'RESOURCE_OUTSIDE_ROOT'],
    ['sub/../../outside.txt', 'RESOURCE_OUTSIDE_ROOT'],
    ['/etc/passwd', 'RESOURCE_OUTSIDE_ROOT'],
    [`${root}-beside/file`, 'RESOURCE_OUTSIDE_ROOT'],
    ['out/new.txt', 'RESOURCE_OUTSIDE_ROOT'],
    ['file-out', 'RESOURCE_OUTSIDE_ROOT'],
    ['loop', 'LIMIT_REACHED'],
    ['a\u0000b', 'RESOURCE_INVALID'],
    ['', 'RESOURCE_INVALID'],
    ['own.txt', 'RESOURCE_SENSITIVE'],
    ['.ssh/id_rsa', 'RESOURCE_SENSITIVE'],
    ['.ＥＮＶ', 'RESOURCE_SENSITIVE'],
    ['sub/.Env', 'RESOURCE_SENSITIVE'],
    [join(world.dataDir, 'holdfast.db'), 'RESOURCE_OUTSIDE_ROOT'],
  ];
  for (const [at, [path, code]] of refused.entries()) {
    const told = await world.call('write', { path }, at);
    assert.equal(outcomeOf(told)?.outcome, 'not_started', path);
    assert.match(textOf(told), new RegExp(code), `${path}: ${textOf(told)}`);
    assert.ok(!textOf(told).includes(folder), 'no path of the machine in the message');
  }
  assert.deepEqual(world.effects(), []);
  // What looks like the parent folder and is none is a name like another.
  const odd = await world.call('write', { path: '．．/x' }, 99);
  assert.equal(outcomeOf(odd), undefined, textOf(odd));
  assert.equal(world.effects().length, 1);
});

check('text that is no text is not passed on at all', async (t) => {
  const folder = await temporaryFolder(t);
  const root = join(folder, 'ws');
  mkdirSync(root);
  const world = await guardWorld(t, { policy: policyOf(root), dataDir: folder });
  for (const path of ['"\\ud800"', '"\\udc00x"', '"a\tb"'])
    world.send(
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write","arguments":{"path":${path}}}}\n`,
    );
  for (let at = 0; at < 3; at += 1) assert.match(JSON.stringify(await world.next()), /MCP_MESSAGE_UNREADABLE/);
  assert.deepEqual(world.effects(), []);
});
