import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { openHoldfastStore } from '../../src/app/index.ts';
import { createIds, LIMITS } from '../../src/core/index.ts';
import {
  createToken,
  currentRoles,
  findReply,
  hasToken,
  keepReply,
  listTokens,
  requireToken,
  revokeToken,
  rotateToken,
} from '../../src/principals/index.ts';
import { ensureTenant } from '../../src/store/index.ts';
import { assert, check, holdfast, manualClock, temporaryFolder } from '../support/index.ts';

async function world(t: TestContext) {
  const dataDir = join(await temporaryFolder(t), 'data');
  const { store, folder } = await openHoldfastStore({ dataDir, create: true });
  t.after(() => store.close());
  const clock = manualClock(1_000_000);
  const context = { clock, ids: createIds(clock) };
  await store.write('test.tenant', (tx) => ensureTenant(tx, clock, { tenantId: 'acme', name: 'Acme' }));
  const make = (more: Partial<Parameters<typeof createToken>[2]> = {}) =>
    store.write('test.new', (tx) =>
      createToken(tx, context, { tenantId: 'local', subjectId: 'owner', roles: ['admin', 'approver'], ...more }),
    );
  const whose = (text: string) => store.read('test.whose', (tx) => requireToken(tx, clock, text));
  return { store, folder, clock, context, make, whose };
}

check('a token proves its principal, and nothing of its secret is stored', async (t) => {
  const { make, whose, folder } = await world(t);
  const { token, text } = await make({ name: 'the owner’s own' });
  assert.match(text, /^hf_[0-9a-f]{32}_[A-Za-z0-9_-]{43}$/);
  assert.deepEqual(await whose(text), token);
  assert.deepEqual(token.roles, ['approver', 'admin']);
  const database = new DatabaseSync(folder.database, { readOnly: true });
  const rows = JSON.stringify(database.prepare('SELECT * FROM tokens').all());
  database.close();
  assert.ok(!rows.includes(text.slice(-43)));
});

check('a token whose time is over gets no new text, which would not be good', async (t) => {
  const { make, clock, store, context } = await world(t);
  const { token } = await make({ expiresAt: clock.nowMs() + 5 });
  const of = { tenantId: 'local', tokenId: token.tokenId };
  const rotate = () => store.write('test.rotate', (tx) => rotateToken(tx, context, of));
  assert.equal((await rotate()).token.rotatedAt, clock.nowMs());
  clock.advance(5);
  await assert.rejects(rotate(), { code: 'TOKEN_REVOKED', message: /time of the token is over/ });
});

check('whatever is wrong with a token, the refusal is the same', async (t) => {
  const { make, whose, clock, store, context } = await world(t);
  const { text, token } = await make();
  const over = await make({ expiresAt: clock.nowMs() + 5 });
  const revoked = await make();
  await store.write('test.revoke', (tx) =>
    revokeToken(tx, context, { tenantId: 'local', tokenId: revoked.token.tokenId }),
  );
  clock.advance(5);
  const other = `hf_${token.tokenId}_${'A'.repeat(43)}`;
  const unknown = `hf_${'0'.repeat(32)}_${text.slice(-43)}`;
  const messages = new Set<string>();
  for (const bad of ['', 'hf_', text.slice(0, -1), `${text}A`, other, unknown, over.text, revoked.text])
    await assert.rejects(whose(bad), (error: Error & { code: string }) => {
      messages.add(`${error.code} ${error.message}`);
      return error.code === 'TOKEN_INVALID';
    });
  assert.equal(messages.size, 1);
  assert.equal((await whose(text)).tokenId, token.tokenId);
});

check('a rotated token has a new text only; a revoked one is never good again', async (t) => {
  const { make, whose, store, context } = await world(t);
  const { text, token } = await make();
  const of = { tenantId: 'local', tokenId: token.tokenId };
  const rotated = await store.write('test.rotate', (tx) => rotateToken(tx, context, of));
  await assert.rejects(whose(text), { code: 'TOKEN_INVALID' });
  assert.equal((await whose(rotated.text)).tokenId, token.tokenId);
  await store.write('test.revoke', (tx) => revokeToken(tx, context, of));
  await assert.rejects(whose(rotated.text), { code: 'TOKEN_INVALID' });
  await assert.rejects(
    store.write('test.again', (tx) => rotateToken(tx, context, of)),
    { code: 'TOKEN_REVOKED' },
  );
  await assert.rejects(
    store.write('test.edit', (tx) => tx.run('UPDATE tokens SET revoked_at_ms = NULL')),
    { code: 'STORE_CONSTRAINT' },
  );
  assert.equal(await store.read('test.has', (tx) => hasToken(tx, context.clock, 'local')), false);
});

check("another tenant's token is not told apart from one that is not there", async (t) => {
  const { make, store, context } = await world(t);
  const { token } = await make({ tenantId: 'acme' });
  const seen: string[] = [];
  for (const tokenId of [token.tokenId, 'f'.repeat(32)])
    for (const act of [rotateToken, revokeToken])
      await assert.rejects(
        store.write('test.act', async (tx) => void (await act(tx, context, { tenantId: 'local', tokenId }))),
        (error: Error & { code: string }) => seen.push(`${error.code} ${error.message}`) > 0,
      );
  assert.deepEqual([...new Set(seen)], ['TOKEN_NOT_FOUND There is no such token.']);
  assert.deepEqual((await store.read('test.list', (tx) => listTokens(tx, 'local'))).items, []);
});

check('tokens are listed in pages without a gap or a repeat, within the bound', async (t) => {
  const { make, store } = await world(t);
  for (let made = 0; made < 5; made += 1) await make();
  const names: string[] = [];
  let after: string | undefined;
  do {
    const page = await store.read('test.list', (tx) =>
      listTokens(tx, 'local', { limit: 2, ...(after ? { after } : {}) }),
    );
    names.push(...page.items.map(({ tokenId }) => tokenId));
    after = page.next ?? undefined;
  } while (after !== undefined);
  assert.equal(new Set(names).size, 5);
  assert.deepEqual(names, names.toSorted());
  await assert.rejects(
    store.read('test.list', (tx) => listTokens(tx, 'local', { limit: LIMITS.tokenPageEntries + 1 })),
    { code: 'LIMIT_REACHED' },
  );
});

check('roles that are not known, doubled or absent, and blank or long texts, are refused', async (t) => {
  const { make, clock } = await world(t);
  const wrong = [
    { roles: [] },
    { roles: ['agent', 'agent'] as const },
    { roles: ['root' as 'agent'] },
    { subjectId: ' ' },
    { name: 'x'.repeat(LIMITS.tokenNameCodePoints + 1) },
    { subjectId: 'x'.repeat(LIMITS.tokenSubjectCodePoints + 1) },
    { expiresAt: clock.nowMs() },
  ];
  for (const more of wrong) await assert.rejects(make(more), { code: 'INVALID_VALUE' });
  assert.equal((await make({ subjectId: 'x'.repeat(LIMITS.tokenSubjectCodePoints) })).token.roles.length, 2);
});

check('a kept reply is given again byte for byte, to the same request of the same principal only', async (t) => {
  const { store, clock } = await world(t);
  const request = {
    principal: { tenantId: 'local', subjectId: 'owner' },
    key: 'k-1',
    requestSha256: 'a'.repeat(64),
  };
  const reply = { status: 201, text: '{"run_id":"1"}' };
  const keep = () => store.write('test.keep', (tx) => keepReply(tx, clock, request, reply));
  const find = (more: object = {}) => store.read('test.find', (tx) => findReply(tx, { ...request, ...more }));
  assert.equal(await find(), null);
  assert.equal(await keep(), true);
  assert.equal(await keep(), false);
  assert.deepEqual(await find(), reply);
  assert.equal(await find({ principal: { tenantId: 'acme', subjectId: 'owner' } }), null);
  await assert.rejects(find({ requestSha256: 'b'.repeat(64) }), { code: 'IDEMPOTENCY_CONFLICT' });
  clock.advance(LIMITS.keptReplyMs + 1);
  await store.write('test.next', (tx) => keepReply(tx, clock, { ...request, key: 'k-2' }, reply));
  assert.equal(await find(), null);
});

check('a reply that was changed outside is not given out', async (t) => {
  const { store, clock, folder } = await world(t);
  const request = { principal: { tenantId: 'local', subjectId: 'o' }, key: 'k', requestSha256: 'a'.repeat(64) };
  await store.write('test.keep', (tx) => keepReply(tx, clock, request, { status: 201, text: '{}' }));
  const database = new DatabaseSync(folder.database);
  database.exec(`DROP TRIGGER kept_reply_never_changes; UPDATE kept_replies SET reply = '{"run_id":"2"}'`);
  database.close();
  await assert.rejects(
    store.read('test.find', (tx) => findReply(tx, request)),
    { code: 'REPLY_CORRUPT' },
  );
});

check('the command makes, lists, rotates and revokes tokens, and shows each text once', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  const run = async (...args: string[]) => {
    const { stdout, exit } = await holdfast(['tokens', ...args, '--data-dir', dataDir, '--json']);
    return { exit, document: JSON.parse(stdout) as Record<string, string> };
  };
  await holdfast(['migrate', '--data-dir', dataDir]);
  const made = await run('new', '--subject', 'bot', '--role', 'agent', '--days', '3', '--tenant', 'acme');
  assert.equal(made.exit, 0);
  const listed = await run('list', '--tenant', 'acme');
  const { token, ...shown } = made.document;
  assert.deepEqual(listed.document['tokens'], [shown]);
  const rotated = await run('rotate', made.document['token_id'] ?? '', '--tenant', 'acme');
  assert.notEqual(rotated.document['token'], token);
  const other = await run('revoke', made.document['token_id'] ?? '');
  assert.equal(other.exit, 2);
  const revoked = await run('revoke', made.document['token_id'] ?? '', '--tenant', 'acme');
  assert.ok(Number(revoked.document['revoked_at']) > 0);
});

check('what a subject may do now is what its good tokens give it together, in its own tenant', async (t) => {
  const { make, store, clock, context } = await world(t);
  const rolesOf = (subjectId: string, tenantId = 'local') =>
    store.read('test.roles', (tx) => currentRoles(tx, clock, { tenantId, subjectId }));
  assert.equal(await rolesOf('robin'), null);
  const agent = await make({ subjectId: 'robin', roles: ['agent'] });
  await make({ subjectId: 'robin', roles: ['admin'], expiresAt: clock.nowMs() + 5 });
  await make({ subjectId: 'robin', tenantId: 'acme', roles: ['approver'] });
  assert.deepEqual(await rolesOf('robin'), ['agent', 'admin']);
  clock.advance(6);
  assert.deepEqual(await rolesOf('robin'), ['agent']);
  const of = { tenantId: 'local', tokenId: agent.token.tokenId };
  await store.write('test.revoke', (tx) => revokeToken(tx, context, of));
  assert.deepEqual(await rolesOf('robin'), []);
  assert.deepEqual(await rolesOf('robin', 'acme'), ['approver']);
});
