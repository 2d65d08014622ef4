import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type ApprovalBatch,
  type BatchHome,
  batchDocument,
  cancelBatch,
  cancelRequests,
  changedFields,
  confirmationGate,
  decideBatch,
  finishCall,
  grantOf,
  latestRequest,
  openBatch,
  pendingCalls,
  readBatchDocument,
  recoverBatch,
  startCall,
} from '../../../src/approvals/index.ts';
import { canonicalJson, fail, isJsonObject, type JsonObject, sha256Hex } from '../../../src/core/index.ts';
import { approvalsOf, ask, say, use } from '../../support/approval-world.ts';
import { assert, check, contract } from '../../support/index.ts';
import { AGENT, append, openCalls, openSessionWorld, OWNER, refusal } from '../../support/session-world.ts';

type Verb = 'approve' | 'reject';

/** A waiting batch of `danger-1` (held, `value` editable) and `safe-1`, wherever it lies. */
interface WaitingBatch extends AsyncDisposable {
  read(): Promise<ApprovalBatch>;
  decide(decision: Verb, editedArguments?: JsonObject): Promise<unknown>;
  stop(): Promise<unknown>;
}

const DANGER = { value: 1, fixed: 'fixed' };
const SAFE = { label: 'after-approval' };

async function inDatabase(): Promise<WaitingBatch> {
  const world = await openSessionWorld();
  const request = await ask(world, { arguments: DANGER });
  const { groupId } = request.action;
  await append(world, {
    groupId,
    type: 'proposed',
    actionId: 'safe-1',
    toolCallId: 'safe-1',
    canonicalArguments: SAFE,
    result: { tool: 'safe_tool' },
  });
  return {
    read: async () => (await approvalsOf(world).batch(OWNER, groupId)) ?? assert.fail(),
    decide: (decision, editedArguments) =>
      approvalsOf(world).decide(OWNER, [say(request, { decision, ...(editedArguments ? { editedArguments } : {}) })]),
    stop: () => world.store.write('t', (tx) => cancelRequests(tx, world.context, AGENT, { groupId }, 'stopped')),
    [Symbol.asyncDispose]: () => world.close(),
  };
}

/** A home of one document a run, as the trace stores have it. */
function fileHome(folder: string): BatchHome & { path(traceId: string): string } {
  const path = (traceId: string): string => join(folder, `${traceId}-tool_approvals.json`);
  return {
    path,
    get: async (traceId) => readBatchDocument(readFileSync(path(traceId), 'utf8')),
    replace: async (traceId, batch) => writeFileSync(path(traceId), canonicalJson(batchDocument(batch))),
  };
}

async function inFile(): Promise<WaitingBatch & { path: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-batch-'));
  const home = fileHome(folder);
  await home.replace('trace', waiting());
  const change = async (next: (batch: ApprovalBatch) => ApprovalBatch): Promise<void> =>
    home.replace('trace', next((await home.get('trace')) ?? assert.fail()));
  return {
    path: home.path('trace'),
    read: async () => (await home.get('trace')) ?? assert.fail(),
    async decide(decision, editedArguments) {
      if (editedArguments && changedFields(DANGER, editedArguments).some((field) => field !== 'value'))
        throw fail('APPROVAL_EDIT_FORBIDDEN', 'The edit changes a field that an approver may not change.');
      const edit = editedArguments ? { arguments: editedArguments } : {};
      await change((batch) => decideBatch(batch, [{ toolCallId: 'danger-1', decision, ...edit }], 5));
    },
    stop: () => change((batch) => cancelBatch(batch, 'stopped', 5)),
    [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true }),
  };
}

const waiting = (): ApprovalBatch =>
  openBatch(
    'b',
    [
      { toolCallId: 'danger-1', toolName: 'dangerous_tool', arguments: DANGER, needsPerson: true },
      { toolCallId: 'safe-1', toolName: 'safe_tool', arguments: SAFE, needsPerson: false },
    ],
    1,
  );

for (const [home, open] of [['database', inDatabase] as const, ['file', inFile] as const]) {
  check(`${home}: a waiting batch has every call in the model's order, and one that is pending`, async () => {
    await using place = await open();
    const batch = await place.read();
    assert.equal(batch.status, 'pending');
    assert.deepEqual(
      batch.calls.map((call) => [call.toolCallId, call.toolName, call.decision, call.executionStatus]),
      [
        ['danger-1', 'dangerous_tool', 'pending', 'not_started'],
        ['safe-1', 'safe_tool', 'not_required', 'not_started'],
      ],
    );
    assert.deepEqual(
      pendingCalls(batch).map((call) => call.toolCallId),
      ['danger-1'],
    );
  });

  check(`${home}: an approved edit is what is executed`, async () => {
    await using place = await open();
    await place.decide('approve', { value: 9, fixed: 'fixed' });
    const batch = await place.read();
    assert.equal(batch.status, 'decided');
    assert.deepEqual(batch.calls[0]?.effectiveArguments, { value: 9, fixed: 'fixed' });
    assert.equal(batch.calls[0]?.decision, 'approved');
  });

  contract('RUN-49', `${home}: a decision after the decision is a conflict, 409`, async () => {
    await using place = await open();
    await place.decide('reject');
    const decided = await place.read();
    assert.deepEqual([decided.calls[0]?.decision, decided.calls[0]?.executionStatus], ['rejected', 'rejected']);
    assert.equal((await refusal(place.decide('approve'))).httpStatus, 409);
    assert.deepEqual(await place.read(), decided);
  });

  contract('RUN-50 RUN-51 RUN-52', `${home}: an edit of a fixed argument is 422 and changes nothing`, async () => {
    await using place = await open();
    const edited = place.decide('approve', { value: 1, fixed: 'tampered' });
    assert.equal((await refusal(edited)).httpStatus, 422);
    const batch = await place.read();
    assert.equal(batch.status, 'pending');
    assert.equal(pendingCalls(batch)[0]?.decision, 'pending');
  });

  check(`${home}: a stop cancels what waits`, async () => {
    await using place = await open();
    await place.stop();
    const batch = await place.read();
    assert.deepEqual([batch.status, batch.calls[0]?.decision], ['cancelled', 'cancelled']);
    assert.equal((await refusal(place.decide('approve'))).httpStatus, 409);
  });
}

contract('RUN-58', 'file: arguments that were changed in the file are corruption when the batch is read', async () => {
  await using place = await inFile();
  const text = readFileSync(place.path, 'utf8');
  writeFileSync(place.path, text.replace('"value":1', '"value":999'));
  const error = await refusal(place.read());
  assert.equal(error.code, 'APPROVAL_CORRUPT');
});

check('a stored batch that is damaged in any part is corruption; what is written comes back', () => {
  const text = canonicalJson(
    batchDocument(decideBatch(waiting(), [{ toolCallId: 'danger-1', decision: 'approve' }], 7)),
  );
  assert.equal(canonicalJson(batchDocument(readBatchDocument(text))), text);
  const wrong: [string, string][] = [
    ['"status":"decided"', '"status":"allowed"'],
    ['"decision":"approved"', '"decision":"allowed"'],
    ['"execution_status":"not_started"', '"execution_status":"maybe"'],
    ['"tool_name":"dangerous_tool"', '"tool_name":"safe_tool"'],
    ['"tool_call_id":"danger-1"', '"tool_call_id":"danger-2"'],
    ['"updated_at":"1970', '"updated_at":"x'],
    ['"batch_id":"b"', '"batch_id":""'],
    ['{"batch_id"', '[{"batch_id"'],
    ['"argument_hash":"', '"argument_hash":"0'],
  ];
  for (const [from, to] of wrong) {
    assert.ok(text.includes(from), from);
    const read = Promise.resolve().then(() => readBatchDocument(text.replace(from, to)));
    void read.catch(() => undefined);
    assert.throws(() => readBatchDocument(text.replace(from, to)), { code: 'APPROVAL_CORRUPT' }, to);
  }
  for (const broken of ['', '[]', '{broken', 'null'])
    assert.throws(() => readBatchDocument(broken), { code: 'APPROVAL_CORRUPT' });
});

check('a batch runs call by call and ends as completed, or as unknown with one of them', () => {
  const decided = decideBatch(waiting(), [{ toolCallId: 'danger-1', decision: 'approve' }], 2);
  const first = finishCall(startCall(decided, 'danger-1', 3), 'danger-1', 'executed', 4);
  assert.equal(first.status, 'executing');
  assert.equal(finishCall(startCall(first, 'safe-1', 5), 'safe-1', 'executed', 6).status, 'completed');
  assert.equal(finishCall(startCall(first, 'safe-1', 5), 'safe-1', 'execution_unknown', 6).status, 'execution_unknown');
  const required = { code: 'APPROVAL_NOT_GIVEN' };
  assert.throws(() => startCall(waiting(), 'danger-1', 3), required);
  assert.throws(() => startCall(waiting(), 'safe-1', 3), required);
  assert.throws(() => startCall(startCall(decided, 'danger-1', 3), 'danger-1', 3), required);
  assert.throws(() => startCall(decided, 'none', 3), required);
  assert.throws(() => finishCall(decided, 'danger-1', 'executed', 3), required);
  const rejected = decideBatch(waiting(), [{ toolCallId: 'danger-1', decision: 'reject' }], 2);
  assert.throws(() => startCall(rejected, 'danger-1', 3), required);
  assert.equal(finishCall(startCall(rejected, 'safe-1', 3), 'safe-1', 'executed', 4).status, 'completed');
});

check('a restart lets the undecided wait, starts the decided, and repeats nothing that had started', () => {
  assert.equal(recoverBatch(waiting(), 9).action, 'wait');
  const decided = decideBatch(waiting(), [{ toolCallId: 'danger-1', decision: 'approve' }], 2);
  assert.equal(recoverBatch(decided, 9).action, 'start');
  const unknown = recoverBatch(startCall(decided, 'danger-1', 3), 9);
  assert.equal(unknown.action, 'unknown');
  assert.deepEqual(
    [unknown.batch.status, ...unknown.batch.calls.map((call) => call.executionStatus)],
    ['execution_unknown', 'execution_unknown', 'not_started'],
  );
  assert.deepEqual(recoverBatch(unknown.batch, 10), { action: 'none', batch: unknown.batch });
});

check('a batch refuses calls it does not have, repeated ids and nothing at all', () => {
  assert.throws(() => openBatch('b', [], 1), { code: 'INVALID_VALUE' });
  assert.throws(() => decideBatch(waiting(), [], 1), { code: 'INVALID_VALUE' });
  assert.throws(() => decideBatch(waiting(), [{ toolCallId: 'x', decision: 'approve' }], 1), {
    code: 'APPROVAL_NOT_FOUND',
  });
  assert.throws(() => decideBatch(waiting(), [{ toolCallId: 'safe-1', decision: 'reject' }], 1), {
    code: 'APPROVAL_ALREADY_DECIDED',
  });
});

check('the projection shows what the ledger says of each execution, and an expired request as rejected', async () => {
  await using world = await openSessionWorld();
  const { groupId } = await openCalls(world);
  const one = await ask(world, { groupId, actionId: 'a' });
  const late = await ask(world, { groupId, actionId: 'b', expiresAt: world.clock.nowMs() + 1 });
  const batch = async () => (await approvalsOf(world).batch(OWNER, groupId)) ?? assert.fail();
  await approvalsOf(world).decide(OWNER, [say(one)]);
  world.clock.advance(1);
  await approvalsOf(world).sweep();
  assert.deepEqual(
    (await batch()).calls.map((call) => [call.decision, call.executionStatus, call.reason]),
    [
      ['approved', 'not_started', null],
      ['rejected', 'rejected', 'expired'],
    ],
  );
  assert.equal((await batch()).status, 'decided');
  await use(world, one);
  await append(world, { groupId, type: 'started', actionId: 'a', toolCallId: 'a' });
  assert.equal((await batch()).status, 'executing');
  await append(world, { groupId, type: 'result', actionId: 'a', toolCallId: 'a', result: { outcome: 'unknown' } });
  assert.deepEqual(
    [(await batch()).status, (await batch()).calls[0]?.executionStatus],
    ['execution_unknown', 'execution_unknown'],
  );
  assert.equal(late.action.groupId, groupId);
});

check('a group that proposed nothing has no batch', async () => {
  await using world = await openSessionWorld();
  const { groupId } = await openCalls(world);
  assert.equal(await approvalsOf(world).batch(OWNER, groupId), null);
});

contract('RUN-30', 'a held call without a fitting grant is denied with the text the model reads', async () => {
  await using world = await openSessionWorld();
  const request = await ask(world);
  const call = {
    traceId: 'run-1',
    toolCallId: 'danger-1',
    toolName: 'dangerous_tool',
    argumentsSha256: sha256Hex(canonicalJson(DANGER)),
  };
  assert.match(confirmationGate(null, call)?.text ?? '', /confirmation required/);
  assert.equal(grantOf(request), null);
  const [allowed] = await approvalsOf(world).decide(OWNER, [say(request)]);
  const grant = grantOf(allowed ?? assert.fail());
  assert.equal(confirmationGate(grant, call), null);
  for (const change of [{ traceId: 'x' }, { toolCallId: 'x' }, { toolName: 'x' }, { argumentsSha256: '0' }])
    assert.match(confirmationGate(grant, { ...call, ...change })?.text ?? '', /confirmation required/);
  const latest = await world.store.read('t', (tx) => latestRequest(tx, OWNER, request.action.groupId, 'danger-1'));
  assert.ok(isJsonObject(grant) && latest?.status.state === 'allowed');
});
