import { escapeForDisplay } from '../../../src/approvals/index.ts';
import { LIMITS } from '../../../src/core/index.ts';
import { approvalsOf, ask, read, say, use } from '../../support/approval-world.ts';
import { assert, check } from '../../support/index.ts';
import { openSessionWorld, OWNER, refusal, STRANGER } from '../../support/session-world.ts';

check('what would be invisible, or would move other text, is written out', () => {
  const cases: [string, string][] = [
    ['plain \u00e9\u4e2d\u{1f600}', 'plain \u00e9\u4e2d\u{1f600}'],
    ['a\u202eb', 'a\\u{202e}b'],
    ['\u2066x\u2069', '\\u{2066}x\\u{2069}'],
    ['a\nb\tc\u001b[2J', 'a\\u{a}b\\u{9}c\\u{1b}[2J'],
    ['pay\u200bpal', 'pay\\u{200b}pal'],
    ['\u{e0041}\ufeff\u2028', '\\u{e0041}\\u{feff}\\u{2028}'],
    ['\ud800', '\\u{d800}'],
  ];
  for (const [text, shown] of cases) assert.equal(escapeForDisplay(text), shown);
});

check('what is shown carries the digest of itself, and a decision on it goes through', async () => {
  await using world = await openSessionWorld();
  const request = await ask(world, { arguments: { value: 1, fixed: 'a\u202eb' } });
  const shown = await approvalsOf(world).show(OWNER, request.action.requestId);
  assert.equal(shown.argumentsText, '{"fixed":"a\\u{202e}b","value":1}');
  assert.equal(shown.document['canonical_arguments'], '{"fixed":"a\u202eb","value":1}');
  assert.deepEqual([shown.status, shown.editable, shown.approvers], ['pending', ['value'], ['role owner']]);
  await approvalsOf(world).decide(OWNER, [say(request, { digest: shown.digest })]);
  assert.equal((await approvalsOf(world).show(OWNER, request.action.requestId)).status, 'allowed');
  await use(world, request);
  assert.equal((await approvalsOf(world).show(OWNER, request.action.requestId)).status, 'used');
});

check('the digest binds everything a person relies on: any other request has another', async () => {
  await using world = await openSessionWorld();
  const changes = [
    {},
    { arguments: { value: 2, fixed: 'fixed' } },
    { tool: 'other_tool' },
    { toolRevision: 'v2' },
    { target: 'other.txt' },
    { runId: 'run-2' },
    { policyRevision: 'enforce:x@1' },
    { reason: 'another reason' },
    { editable: [] },
    { dangerous: true },
    { resourceKeys: ['file:a'] },
    { expiresAt: world.clock.nowMs() + 5 },
    { requestedBy: 'someone' },
    { approver: { roles: ['owner'], subjects: ['x'], requesterMayDecide: false } },
  ];
  const digests = new Set<string>();
  for (const [i, change] of changes.entries())
    digests.add((await ask(world, { requestId: `request-${i}`, ...change })).action.requestSha256);
  assert.equal(digests.size, changes.length);
});

check('an expired request is shown as expired before any sweep has written it down', async () => {
  await using world = await openSessionWorld();
  const request = await ask(world, { expiresAt: world.clock.nowMs() + 5 });
  world.clock.advance(5);
  assert.equal((await approvalsOf(world).show(OWNER, request.action.requestId)).status, 'expired');
  assert.equal((await read(world, request)).status.state, 'pending');
});

check('pages of what waits and of everything hold only the own tenant, without gap or repeat', async () => {
  await using world = await openSessionWorld();
  const made = [];
  for (let i = 0; i < 5; i += 1) made.push((await ask(world, { actionId: `a${i}` })).action.requestId);
  const approvals = approvalsOf(world);
  const first = await approvals.pending(OWNER, { limit: 3 });
  const rest = await approvals.pending(OWNER, { limit: 3, after: first.next ?? '' });
  assert.deepEqual(
    [...first.items, ...rest.items].map((one) => one.requestId),
    made,
  );
  assert.equal(rest.next, null);
  const all = await approvals.list(OWNER);
  assert.deepEqual(
    all.items.map((one) => one.requestId),
    made.toReversed(),
  );
  assert.deepEqual((await approvals.list(STRANGER)).items, []);
  assert.equal((await refusal(approvals.list(OWNER, { limit: 0 }))).code, 'INVALID_VALUE');
});

check('each bound of a request holds at its edge and refuses beyond it', async () => {
  await using world = await openSessionWorld();
  const text = (length: number) => ({ value: 'x'.repeat(length - '{"value":""}'.length) });
  await ask(world, { arguments: text(LIMITS.approvalArgumentsCodePoints) });
  const names = (count: number) => Array.from({ length: count }, (_, i) => `n${i}`);
  await ask(world, { editable: names(LIMITS.approvalNames) });
  const refused = [
    { arguments: text(LIMITS.approvalArgumentsCodePoints + 1) },
    { editable: names(LIMITS.approvalNames + 1) },
    { reason: 'x'.repeat(LIMITS.approvalTextCodePoints + 1) },
    { tool: '' },
    { approver: { roles: [], subjects: [], requesterMayDecide: false } },
    { expiresAt: 1.5 },
  ];
  const codes = [];
  for (const change of refused) codes.push((await refusal(ask(world, change))).code);
  assert.deepEqual(codes, [
    'LIMIT_REACHED',
    'LIMIT_REACHED',
    'INVALID_VALUE',
    'INVALID_VALUE',
    'INVALID_VALUE',
    'INVALID_VALUE',
  ]);
});
