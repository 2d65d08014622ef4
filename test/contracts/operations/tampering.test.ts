import { requestDigest, statusQueryCall } from '../../../src/operations/index.ts';
import type { SqlValue } from '../../../src/store/index.ts';
import { ANTHROPIC, refundCall, T0, USER } from '../../fixtures/refund-desk/calls.ts';
import type { RefundDesk } from '../../fixtures/refund-desk/desk.ts';
import { errorKind } from '../../fixtures/refund-desk/error-kinds.ts';
import { REFUND_SPEC } from '../../fixtures/refund-desk/refund-tool.ts';
import { assert, check, contract } from '../../support/index.ts';
import { freshDesk, statusRefIn } from './desk.ts';

const ZEROS = '0'.repeat(64);
const isBroken = (error: unknown) => errorKind(error) === 'persistence_contract_error';

type Failure = 'none' | 'after_intent_commit' | 'after_downstream_commit';

async function stored(desk: RefundDesk, failure: Failure, call = refundCall()): Promise<string> {
  const approvals = desk.approve(USER, call, 'valid', T0);
  return statusRefIn(await desk.operations.dispatch(USER, call, { approvals, now: T0, failure }));
}

/** Writes straight into a table, with values that its checks accept. */
async function tamper(desk: RefundDesk, table: string, values: Readonly<Record<string, SqlValue>>): Promise<void> {
  const columns = Object.keys(values).map((column) => `${column} = ?`);
  const sql = `UPDATE ${table} SET ${columns.join(', ')}`;
  const { changes } = await desk.store.write('test', (tx) => tx.run(sql, Object.values(values)));
  if (changes !== 1) throw new Error('nothing was changed');
}

function process(desk: RefundDesk, statusRef: string) {
  return desk.operations.process(statusRef, { workerId: 'worker', now: T0 + 1 });
}

function ask(desk: RefundDesk, statusRef: string) {
  const call = refundCall();
  return desk.operations.queryStatus(USER, statusQueryCall(call, statusRef), {
    statusRef,
    expectedRequestSha256: requestDigest(USER, REFUND_SPEC.contract, call.arguments),
    now: T0 + 1,
  });
}

async function assertAudit(desk: RefundDesk, fragment: string): Promise<void> {
  const audit = await desk.operations.audit();
  assert.equal(audit.passed, false);
  assert.ok(
    audit.semantic_errors.some((finding) => finding.includes(fragment)),
    audit.semantic_errors.join('; '),
  );
}

contract('OPS-143 OPS-144 OPS-145 OPS-146', 'approval evidence is recomputed before any effect', async (t) => {
  const { desk } = await freshDesk(t);
  const statusRef = await stored(desk, 'after_intent_commit');
  await tamper(desk, 'operations', { approval_digest: ZEROS });
  await assertAudit(desk, 'approval');
  await assert.rejects(process(desk, statusRef), isBroken);
  assert.equal((await desk.operations.counts()).downstream_receipts, 0);
});

contract('OPS-147 OPS-148 OPS-149 OPS-150', 'approval evidence binds provider, api and adapter', async (t) => {
  const { desk } = await freshDesk(t);
  const statusRef = await stored(desk, 'after_intent_commit', refundCall(ANTHROPIC));
  await tamper(desk, 'operations', {
    first_provider: 'openai',
    first_api_family: 'responses',
    first_adapter_revision: 'openai-responses-v1',
  });
  await assertAudit(desk, 'approval');
  await assert.rejects(process(desk, statusRef), isBroken);
  assert.equal((await desk.operations.counts()).downstream_receipts, 0);
});

contract('OPS-151 OPS-152', 'a well-formed digest in place of the right one is found', async (t) => {
  const { desk } = await freshDesk(t);
  await stored(desk, 'after_intent_commit');
  await tamper(desk, 'operations', { request_sha256: ZEROS });
  await assertAudit(desk, 'request/contract');
});

contract('OPS-153 OPS-154', 'an outbox payload about another tool is found', async (t) => {
  const { desk } = await freshDesk(t);
  await stored(desk, 'after_intent_commit');
  const digest = requestDigest(USER, REFUND_SPEC.contract, refundCall().arguments);
  const payload = `{"operation_pk":1,"request_sha256":"${digest}","schema_version":"tool-outbox-event-v1","tool":"other"}`;
  await tamper(desk, 'outbox', { payload_json: payload });
  await assertAudit(desk, 'outbox');
});

contract('OPS-155 OPS-156', 'nested stored JSON is reported, and nothing crashes', async (t) => {
  const { desk } = await freshDesk(t);
  await stored(desk, 'after_intent_commit');
  const nested = `${'['.repeat(4096)}0${']'.repeat(4096)}`;
  assert.ok(Buffer.byteLength(nested) < 65_536);
  await tamper(desk, 'outbox', { payload_json: nested });
  await assertAudit(desk, 'nesting');
});

function lease(desk: RefundDesk, statusRef: string) {
  return desk.operations.takeLease(statusRef, { workerId: 'worker', now: T0 });
}

contract('OPS-157', 'stored JSON must be canonical, byte for byte', async (t) => {
  const { desk } = await freshDesk(t);
  const statusRef = await stored(desk, 'after_intent_commit');
  const row = await desk.store.read('test', (tx) => tx.get('SELECT payload_json FROM outbox'));
  const pretty = JSON.stringify(JSON.parse(String(row?.['payload_json'])), null, 2);
  await tamper(desk, 'outbox', { payload_json: pretty });
  await assert.rejects(lease(desk, statusRef), isBroken);
});

contract('OPS-158', 'a repeated key in stored JSON is refused', async (t) => {
  const { desk } = await freshDesk(t);
  const statusRef = await stored(desk, 'after_intent_commit');
  const row = await desk.store.read('test', (tx) => tx.get('SELECT payload_json FROM outbox'));
  const text = String(row?.['payload_json']).replace(
    '"schema_version":"tool-outbox-event-v1"',
    '"schema_version":"tool-outbox-event-v1","schema_version":"tool-outbox-event-v1"',
  );
  await tamper(desk, 'outbox', { payload_json: text });
  await assert.rejects(lease(desk, statusRef), isBroken);
});

contract('OPS-159', 'a downstream receipt for another request proves nothing', async (t) => {
  const { desk } = await freshDesk(t);
  const statusRef = await stored(desk, 'after_downstream_commit');
  await tamper(desk, 'downstream_receipts', { request_sha256: ZEROS });
  await assert.rejects(ask(desk, statusRef), isBroken);
  assert.equal((await desk.operations.counts()).local_receipts, 0);
});

const OTHER_RESULT = '{"draft_id":"DRAFT-1","order_ref":"ORDER-7","reason":"damaged"}';

contract('OPS-160', 'a downstream result that is not bound to the arguments proves nothing', async (t) => {
  const { desk } = await freshDesk(t);
  const statusRef = await stored(desk, 'after_downstream_commit');
  await tamper(desk, 'downstream_receipts', { result_json: OTHER_RESULT });
  await assert.rejects(ask(desk, statusRef), isBroken);
  assert.equal((await desk.operations.counts()).local_receipts, 0);
});

contract('OPS-161', 'an altered local result is never answered', async (t) => {
  const { desk } = await freshDesk(t);
  await stored(desk, 'none');
  await tamper(desk, 'local_receipts', { result_json: OTHER_RESULT });
  await assert.rejects(desk.operations.dispatch(USER, refundCall(), { approvals: [], now: T0 + 1 }), isBroken);
});

const SECRETS = ['tenant-audit-secret', 'subject-audit-secret', 'tool-audit-secret', 'idempotency-audit-secret'];

contract('OPS-162 OPS-163 OPS-164', 'an orphan receipt is named by an opaque reference only', async (t) => {
  const { desk } = await freshDesk(t);
  const columns = `tenant_id, subject_id, tool_name, idempotency_key, request_sha256, receipt_id, downstream_request_id,
    result_json, producer_revision, resource_revision, observed_at, effect_revision, committed_at`;
  await desk.store.write('test', (tx) =>
    tx.run(`INSERT INTO downstream_receipts (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, [
      ...SECRETS,
      ZEROS,
      'receipt-orphan',
      'request-orphan',
      '{}',
      'producer-orphan',
      'resource-orphan',
      '2026-07-19T00:00:00Z',
      'effect-orphan',
      1,
    ]),
  );
  const audit = await desk.operations.audit();
  assert.equal(audit.passed, false);
  assert.match(audit.semantic_errors[0] ?? '', /^AUDIT_ORPHAN_DOWNSTREAM_RECEIPT\[status_[0-9a-f]{32}\]$/);
  const text = JSON.stringify(audit);
  assert.deepEqual(
    SECRETS.filter((secret) => text.includes(secret)),
    [],
  );
});

check('a worker that finds a downstream receipt without a resource revision stops, as a query does', async (t) => {
  const { desk } = await freshDesk(t);
  const statusRef = await stored(desk, 'after_downstream_commit');
  await tamper(desk, 'downstream_receipts', { resource_revision: ' ' });
  await assert.rejects(desk.operations.process(statusRef, { workerId: 'worker', now: T0 + 30 }), isBroken);
  assert.equal((await desk.operations.counts()).local_receipts, 0);
});
