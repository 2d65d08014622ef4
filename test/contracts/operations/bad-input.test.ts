import { DatabaseSync } from 'node:sqlite';
import { HoldfastError, JsonNumber, type JsonObject } from '../../../src/core/index.ts';
import {
  type DispatchFailure,
  Principal,
  requestDigest,
  statusQueryCall,
  ToolCall,
  type ToolCallFields,
} from '../../../src/operations/index.ts';
import type { SqlValue } from '../../../src/store/index.ts';
import { refundCall, T0, USER } from '../../fixtures/refund-desk/calls.ts';
import type { RefundDesk } from '../../fixtures/refund-desk/desk.ts';
import { REFUND_SPEC } from '../../fixtures/refund-desk/refund-tool.ts';
import { assert, check } from '../../support/index.ts';
import { codeOf, freshDesk, statusRefIn } from './desk.ts';

const NOTHING = { call_bindings: 0, operations: 0, outbox: 0, downstream_receipts: 0, local_receipts: 0 };

function isCoded(code?: string) {
  return (error: unknown) => error instanceof HoldfastError && (code === undefined || error.code === code);
}

function dispatch(desk: RefundDesk, principal: Principal, call: ToolCall, now: unknown = T0) {
  const approvals = [{ approvalId: 'a' }] as never;
  return desk.operations.dispatch(principal, call, { approvals, now: now as number });
}

const raw = (changes: Readonly<Record<string, unknown>>) =>
  new ToolCall({ ...(refundCall() as ToolCallFields), ...changes } as ToolCallFields);

/** What a host may give wrongly, each of which must stop before anything is stored. */
const WRONG: readonly (readonly [what: string, principal: Principal, call: ToolCall, now?: unknown])[] = [
  ['a tenant of a number', new Principal(5 as never, 'user-1'), refundCall()],
  ['a blank subject', new Principal('tenant-a', '\u001c\u0085'), refundCall()],
  [
    '33 roles',
    new Principal(
      'tenant-a',
      'user-1',
      Array.from({ length: 33 }, (_, i) => `r${i + 10}`),
    ),
    refundCall(),
  ],
  ['roles of a text', new Principal('tenant-a', 'user-1', 'ab' as never), refundCall()],
  ['roles of null', new Principal('tenant-a', 'user-1', null as never), refundCall()],
  ['no principal', null as never, refundCall()],
  ['unsorted roles', new Principal('tenant-a', 'user-1', ['b', 'a']), refundCall()],
  ['a call that is a plain record', USER, { ...(refundCall() as ToolCallFields) } as ToolCall],
  ['a call id that is absent', USER, raw({ callId: undefined })],
  ['an operation id of 256', USER, raw({ operationId: 'o'.repeat(256) })],
  ['a key with NUL', USER, raw({ idempotencyKey: '\0key' })],
  ['a key with a lone surrogate', USER, raw({ idempotencyKey: 'key\ud800' })],
  ['a provider nobody registered', USER, raw({ provider: 'acme' })],
  ['a time that is a fraction', USER, refundCall(), 1.5],
  ['a time that is true', USER, refundCall(), true],
  ['a time that is a kept number', USER, refundCall(), new JsonNumber(1)],
  ['a time past the portable end', USER, refundCall(), 253_402_300_800],
];

for (const [what, principal, call, now] of WRONG)
  check(`${what} is a coded error and stores nothing`, async (t) => {
    const { desk } = await freshDesk(t);
    await assert.rejects(dispatch(desk, principal, call, now), isCoded('INVALID_VALUE'));
    assert.deepEqual(await desk.operations.counts(), NOTHING);
  });

const REF = `status_${'0'.repeat(32)}`;
/** Each door with what plain JavaScript may hand it in place of named values. */
const DOORS: Readonly<Record<string, (desk: RefundDesk, wrong: never) => Promise<unknown>>> = {
  dispatch: ({ operations }, wrong) => operations.dispatch(USER, refundCall(), wrong),
  'approvals of dispatch': ({ operations }, wrong) =>
    operations.dispatch(USER, refundCall(), { approvals: wrong, now: T0 }),
  'an approval of dispatch': ({ operations }, wrong) =>
    operations.dispatch(USER, refundCall(), { approvals: [wrong], now: T0 }),
  process: ({ operations }, wrong) => operations.process(REF, wrong),
  takeLease: ({ operations }, wrong) => operations.takeLease(REF, wrong),
  queryStatus: ({ operations }, wrong) => operations.queryStatus(USER, refundCall(), wrong),
  settleByPerson: ({ operations }, wrong) => operations.settleByPerson(USER, REF, wrong),
  'the person of settleByPerson': ({ operations }, wrong) => operations.settleByPerson(wrong, REF, wrong),
  list: ({ operations }, wrong) => operations.list(USER, wrong),
  'the principal of list': ({ operations }, wrong) => operations.list(wrong, { now: T0 }),
  'the principal of show': ({ operations }, wrong) => operations.show(wrong, REF, T0),
  underKey: ({ operations }, wrong) => operations.underKey(wrong),
  validate: ({ operations }, wrong) => operations.validate({}, USER, wrong),
};

for (const [door, open] of Object.entries(DOORS))
  check(`a text, null and nothing are refused by name as what ${door} is given, and store nothing`, async (t) => {
    const { desk } = await freshDesk(t, { verdicts: true });
    for (const wrong of ['x', null, undefined])
      await assert.rejects(open(desk, wrong as never), isCoded('INVALID_VALUE'));
    assert.deepEqual(await desk.operations.counts(), NOTHING);
  });

check('what is no reference is not there, for whoever shows, reads or settles it', async (t) => {
  const { desk } = await freshDesk(t, { verdicts: true });
  const said = { verdict: 'done', reason: 'seen', now: T0 } as const;
  for (const wrong of [undefined, 5, {}, '', 'status_', `${REF}\n`, 'a\0b'] as never[]) {
    await assert.rejects(desk.operations.show(USER, wrong, T0), isCoded('OPERATION_NOT_FOUND'));
    await assert.rejects(desk.operations.stored(USER, wrong), isCoded('OPERATION_NOT_FOUND'));
    await assert.rejects(desk.operations.settleByPerson(USER, wrong, said), isCoded('OPERATION_NOT_FOUND'));
  }
});

check('text of 255 emoji is bounded by code points, and Python’s blanks are blank', async (t) => {
  const { desk } = await freshDesk(t);
  const call = refundCall({ idempotencyKey: '😀'.repeat(255), callId: '\ufeff' });
  const approvals = desk.approve(USER, call, 'valid', T0);
  assert.equal(codeOf(await desk.operations.dispatch(USER, call, { approvals, now: T0 })), 'OK');
});

/** Arguments outside the JSON domain cannot be digested, so they are thrown, whatever the tool says (K-9). */
const OUTSIDE: readonly (readonly [string, unknown])[] = [
  ['a lone surrogate', '\udc00'],
  ['NaN', Number.NaN],
  ['an infinity', Number.NEGATIVE_INFINITY],
  ['undefined', undefined],
  ['a function', () => 1],
  ['a date', new Date(0)],
  ['a symbol', Symbol('x')],
];

for (const [what, value] of OUTSIDE)
  check(`arguments that hold ${what} are a coded error and store nothing`, async (t) => {
    const { desk } = await freshDesk(t);
    const input = { order_ref: 'ORDER-7', reason: value } as JsonObject;
    await assert.rejects(dispatch(desk, USER, refundCall({ arguments: input })), isCoded());
    await assert.rejects(dispatch(desk, USER, refundCall({ name: 'nobody', arguments: input })), isCoded());
    assert.deepEqual(await desk.operations.counts(), NOTHING);
  });

async function prepared(desk: RefundDesk, failure: DispatchFailure = 'none'): Promise<string> {
  const call = refundCall();
  const approvals = desk.approve(USER, call, 'valid', T0);
  return statusRefIn(await desk.operations.dispatch(USER, call, { approvals, now: T0, failure }));
}

const H = 'f'.repeat(64);
const SECRET = 'tenant-of-somebody-else';

/** One well-shaped wrong value for every column, and whether the audit can see it. */
const COLUMNS: Readonly<Record<string, Readonly<Record<string, readonly [SqlValue, boolean]>>>> = {
  // What a binding says cannot be told from its own row; a repeat that meets another one is refused, see below.
  call_bindings: {
    tenant_id: [SECRET, false],
    subject_id: [SECRET, false],
    provider: ['google', false],
    api_family: ['messages', false],
    response_id: [SECRET, false],
    call_id: [SECRET, false],
    fingerprint_sha256: [H, false],
    created_at: [T0 + 1, false],
  },
  operations: {
    tenant_id: [SECRET, true],
    subject_id: [SECRET, true],
    tool_name: ['get_order', true],
    idempotency_key: [SECRET, true],
    request_sha256: [H, true],
    arguments_json: ['{"order_ref":"ORDER-7","reason":"other"}', true],
    input_schema_revision: ['x', true],
    output_schema_revision: ['x', true],
    effect_revision: ['x', true],
    handler_revision: ['x', true],
    producer_revision: ['x', true],
    policy_revision: ['x', true],
    approval_id: ['another-approval', false],
    approver_id: ['intruder', true],
    approval_digest: [H, true],
    approval_expires_at: [T0 + 9_999, false],
    approved_at: [T0 - 1, true],
    first_operation_id: ['x', true],
    first_call_id: ['x', true],
    first_response_id: ['x', true],
    first_provider: ['google', true],
    first_api_family: ['messages', true],
    first_adapter_revision: ['x', true],
    status_ref: [`status_${'f'.repeat(32)}`, true],
    state: ['processing', true],
    created_at: [T0 - 1, true],
    updated_at: [T0 + 1, false],
    completed_at: [T0 + 1, false],
  },
  outbox: {
    event_id: ['outbox_x', true],
    payload_json: ['{}', true],
    state: ['pending', true],
    lease_owner: ['somebody-else', false],
    lease_until: [2n ** 63n - 1n, true],
    attempt_count: [9, false],
    created_at: [T0 - 1, false],
    updated_at: [T0 + 1, false],
  },
  downstream_receipts: {
    tenant_id: [SECRET, true],
    subject_id: [SECRET, true],
    tool_name: ['x', true],
    idempotency_key: [SECRET, true],
    request_sha256: [H, true],
    receipt_id: ['x', true],
    downstream_request_id: ['x', true],
    result_json: ['{"draft_id":"DRAFT-1","order_ref":"ORDER-7","reason":"damaged"}', true],
    producer_revision: ['x', true],
    resource_revision: ['x', true],
    observed_at: ['2026-07-19T00:00:60Z', true],
    effect_revision: ['x', true],
    committed_at: [T0 + 1, false],
  },
  local_receipts: {
    receipt_id: ['x', true],
    downstream_request_id: ['x', true],
    request_sha256: [H, true],
    result_json: ['not json', true],
    producer_revision: ['x', true],
    resource_revision: [' ', true],
    observed_at: ['yesterday', true],
    effect_revision: ['x', true],
    reconciled_at: [T0 + 1, false],
  },
};

/** Everything that reads the row: each answers, or throws a coded error without another tenant's words. */
async function readEverything(desk: RefundDesk, statusRef: string): Promise<string[]> {
  const call = refundCall();
  const query = {
    statusRef,
    expectedRequestSha256: requestDigest(USER, REFUND_SPEC.contract, call.arguments),
    now: T0 + 90,
  };
  const readings = [
    () => desk.operations.dispatch(USER, call, { approvals: [], now: T0 + 90 }),
    () => desk.operations.queryStatus(USER, statusQueryCall(call, statusRef), query),
    () => desk.operations.process(statusRef, { workerId: 'worker', now: T0 + 90 }),
    () => desk.operations.audit(),
  ];
  const told: string[] = [];
  for (const reading of readings) {
    try {
      told.push(JSON.stringify(await reading()));
    } catch (error) {
      assert.ok(error instanceof HoldfastError, String(error));
      told.push(JSON.stringify(error.toJSON()));
    }
  }
  return told;
}

for (const [table, columns] of Object.entries(COLUMNS))
  for (const [column, [value, isSeen]] of Object.entries(columns))
    check(`a changed ${table}.${column} is ${isSeen ? 'found by the audit' : 'not bound by any digest'}`, async (t) => {
      const { desk } = await freshDesk(t);
      // Only what is being delivered has a lease.
      const statusRef = await prepared(desk, column.startsWith('lease_') ? 'after_claim' : 'none');
      const lease = column === 'state' && table === 'outbox' ? ', lease_owner = NULL, lease_until = NULL' : '';
      const { changes } = await desk.store.write('test', (tx) =>
        tx.run(`UPDATE ${table} SET ${column} = ?${lease}`, [value]),
      );
      assert.equal(changes, 1);
      assert.equal((await desk.operations.audit()).passed, !isSeen);
      const told = await readEverything(desk, statusRef);
      assert.ok(!told.join('\n').includes(SECRET));
    });

/** The numbers of rows: foreign keys hold what they join, and nothing reads the one that joins nothing. */
const ROW_NUMBERS = [
  'downstream_receipts.downstream_pk',
  'local_receipts.operation_pk',
  'operations.operation_pk',
  'outbox.operation_pk',
];

check('no column of the contracts’ tables is left out above', async (t) => {
  const { desk } = await freshDesk(t);
  const found = await desk.store.read('test', (tx) =>
    tx.all(`SELECT m.name || '.' || c.name AS name FROM sqlite_schema m, pragma_table_info(m.name) c
      WHERE m.type = 'table' AND m.name <> 'runtime_metadata' ORDER BY 1`),
  );
  const tried = Object.entries(COLUMNS).flatMap(([table, columns]) =>
    Object.keys(columns).map((column) => `${table}.${column}`),
  );
  assert.deepEqual([...tried, ...ROW_NUMBERS].sort(), found.map((row) => String(row['name'])).sort());
});

check('the audit reports numbers that no reader can hold, whichever row they number, and goes on (I-9)', async (t) => {
  const { desk, file } = await freshDesk(t);
  const statusRef = await prepared(desk);
  const database = new DatabaseSync(file, { enableForeignKeyConstraints: false });
  for (const [table, key] of [
    ['outbox', 2n ** 63n - 1n],
    ['local_receipts', -(2n ** 60n)],
  ] as const)
    database.prepare(`UPDATE ${table} SET operation_pk = ?`).run(key);
  database.prepare('UPDATE operations SET completed_at = ?').run(2n ** 53n);
  database.close();
  const audit = await desk.operations.audit();
  assert.equal(audit.foreign_key_violations.length, 2);
  assert.deepEqual(audit.semantic_errors, [
    `operation ${statusRef}: a stored number is beyond 2^53`,
    'outbox row 9223372036854775807 belongs to no operation',
    'local receipt -1152921504606846976 belongs to no operation',
  ]);
});

check('the audit looks at operations whose number is below zero too', async (t) => {
  const { desk, file } = await freshDesk(t);
  const statusRef = await prepared(desk);
  const database = new DatabaseSync(file, { enableForeignKeyConstraints: false });
  for (const table of ['operations', 'outbox', 'local_receipts'])
    database.prepare(`UPDATE ${table} SET operation_pk = -1`).run();
  database.close();
  const [finding] = (await desk.operations.audit()).semantic_errors;
  assert.ok(finding?.startsWith(`operation ${statusRef}: `), finding);
});

check('a repeat whose binding says something else is refused, and has no second effect', async (t) => {
  const { desk } = await freshDesk(t);
  await prepared(desk);
  await desk.store.write('test', (tx) => tx.run('UPDATE call_bindings SET fingerprint_sha256 = ?', [H]));
  const call = refundCall();
  const approvals = desk.approve(USER, call, 'valid', T0);
  const repeated = await desk.operations.dispatch(USER, call, { approvals, now: T0 + 1 });
  assert.equal(codeOf(repeated), 'CALL_ID_CONFLICT');
  assert.equal((await desk.operations.counts()).downstream_receipts, 1);
});

for (const text of [
  '',
  '{',
  '{"a":1,}',
  "{'a':1}",
  '{"a":NaN}',
  '{"a":1e400}',
  '[]',
  'null',
  '"x"',
  '{"a":01}',
  '\ufeff{}',
  ' {}',
  '{"\\ud800":1}',
])
  check(
    `stored arguments ${JSON.stringify(text)} are refused by every reader, and reported by the audit`,
    async (t) => {
      const { desk } = await freshDesk(t);
      const call = refundCall();
      const approvals = desk.approve(USER, call, 'valid', T0);
      const options = { approvals, now: T0, failure: 'after_intent_commit' } as const;
      const statusRef = statusRefIn(await desk.operations.dispatch(USER, call, options));
      await desk.store.write('test', (tx) => tx.run('UPDATE operations SET arguments_json = ?', [text]));
      await assert.rejects(
        desk.operations.process(statusRef, { workerId: 'worker', now: T0 }),
        isCoded('OPERATION_RECORD_BROKEN'),
      );
      const audit = await desk.operations.audit();
      assert.equal(audit.semantic_errors.length, 1);
      assert.equal((await desk.operations.counts()).downstream_receipts, 0);
    },
  );
