import { mkdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TestContext } from 'node:test';
import { auditEverything } from '../../src/app/index.ts';
import { outcomeOfStored, recoverCall, settleByPerson, settleByStatus } from '../../src/calls/index.ts';
import { loadStored } from '../../src/calls/stored.ts';
import { verifyRun } from '../../src/effects/index.ts';
import { NotDone } from '../../src/index.ts';
import { disarm } from '../support/autonomy-attacks.ts';
import { assert, check, manualClock, temporaryFolder } from '../support/index.ts';
import { callsThenDone, noteTool, openDesk } from './desk.ts';

type Given = Parameters<typeof noteTool>[0];

/** A run whose one call was sent and got no answer, with a clock that a test moves. */
async function interrupted(t: TestContext, given: Given, options: { readonly approvalExpiresMs?: number } = {}) {
  const clock = manualClock(Date.now());
  // Long, so that moving the clock does not end the process's own lease.
  const { holdfast } = await openDesk(t, { clock, instanceLeaseMs: 600_000, ...options });
  let sent = 0;
  const lost = () => {
    sent += 1;
    if (sent === 1) throw new Error('connection reset');
    return { ok: true };
  };
  const tool = noteTool({ execute: lost, ...given });
  const run = await holdfast.agent({ model: callsThenDone([{}]), tools: [tool] }).run('go');
  while (run.pending.length > 0) await run.approve(run.pending[0]);
  const statusRef = run.view.calls[0]?.statusRef ?? '';
  const { runtime } = holdfast;
  const recovery = { filesystem: runtime.filesystem, signal: new AbortController().signal, redeliver: true };
  const recover = () => recoverCall(runtime.calls, runtime.principal, statusRef, recovery);
  return { clock, run, holdfast, runtime, statusRef, recover, sent: () => sent };
}

check('a `once` call is never delivered again, however long ago it was', async (t) => {
  const { clock, recover, sent } = await interrupted(t, { effect: 'once' });
  clock.advance(500_000);
  assert.equal((await recover()).outcome.state, 'unknown');
  assert.equal(sent(), 1);
});

check('an `idempotent` call is delivered again under the same key, but only once its lease is over', async (t) => {
  const keys: string[] = [];
  const { clock, recover } = await interrupted(t, {
    effect: 'idempotent',
    execute: (_input, call) => {
      keys.push(call.idempotencyKey);
      if (keys.length === 1) throw new Error('connection reset');
      return { ok: true };
    },
  });
  assert.equal((await recover()).outcome.state, 'unknown');
  assert.equal(keys.length, 1);
  clock.advance(60_000);
  assert.equal((await recover()).outcome.state, 'done');
  assert.equal(keys.length, 2);
  assert.equal(new Set(keys).size, 1);
});

check('a call that a standing rule denies by now is not delivered again until that is dropped', async (t) => {
  const { clock, recover, holdfast, sent } = await interrupted(t, { effect: 'idempotent' });
  clock.advance(60_000);
  const rule = await holdfast.rules.put({ decision: 'deny', tool: 'take_note', pattern: '**' });
  const { outcome } = await recover();
  assert.equal(outcome.state, 'unknown');
  assert.match(outcome.reason, /^It was not delivered again: Denied by policy:rule\./);
  assert.equal(sent(), 1);
  await holdfast.rules.drop(rule.ruleId);
  assert.equal((await recover()).outcome.state, 'done');
});

check(
  'a call whose files cannot be named any more is not taken up: it keeps no lease, and is delivered once they can',
  async (t) => {
    const root = join(await temporaryFolder(t), 'notes');
    mkdirSync(root);
    const { clock, recover, runtime, sent, statusRef } = await interrupted(t, {
      effect: 'idempotent',
      resources: () => [{ kind: 'filesystem', role: 'note', root, path: 'a.txt', mayBeMissing: true }],
    });
    const deliveries = async (): Promise<unknown> => {
      const { outbox } = (await loadStored(runtime.calls, runtime.principal, statusRef)).whole;
      return [sent(), outbox?.attempts, (outbox?.leaseUntil ?? 0) * 1000 > clock.nowMs()];
    };
    rmdirSync(root);
    clock.advance(60_000);
    const { outcome } = await recover();
    assert.match('reason' in outcome ? outcome.reason : outcome.state, /was not delivered again: The root is not/);
    assert.deepEqual(await deliveries(), [1, 1, false]);
    mkdirSync(root);
    assert.equal((await recover()).outcome.state, 'done');
    assert.deepEqual(await deliveries(), [2, 2, false]);
  },
);

const CHANGED: readonly (readonly [what: string, sql: string])[] = [
  ['arguments', `UPDATE operations SET arguments_json = '{"note":"silk"}'`],
  ['key', `UPDATE operations SET idempotency_key = 'another'`],
  ['approval', `UPDATE operations SET approval_digest = '${'f'.repeat(64)}'`],
  ['state', `UPDATE operations SET state = 'succeeded', completed_at = updated_at`],
];

for (const [what, sql] of CHANGED)
  check(`a call whose stored ${what} somebody changed is neither told, delivered again nor settled`, async (t) => {
    const { clock, recover, runtime, sent, statusRef } = await interrupted(t, { effect: 'idempotent' });
    clock.advance(60_000);
    await runtime.store.write('test', (tx) => tx.run(sql));
    await assert.rejects(outcomeOfStored(runtime.calls, runtime.principal, statusRef), {
      code: 'OPERATION_RECORD_BROKEN',
    });
    await assert.rejects(loadStored(runtime.calls, runtime.principal, statusRef), { code: 'OPERATION_RECORD_BROKEN' });
    await assert.rejects(recover(), { code: 'OPERATION_RECORD_BROKEN' });
    await assert.rejects(settleByStatus(runtime.calls, runtime.principal, statusRef, runtime.filesystem), {
      code: 'OPERATION_RECORD_BROKEN',
    });
    assert.equal(sent(), 1);
    const said = { verdict: 'not_done', reason: 'seen' } as const;
    await assert.rejects(settleByPerson(runtime.calls, runtime.principal, statusRef, said), {
      code: 'OPERATION_RECORD_BROKEN',
    });
    assert.deepEqual(await runtime.store.read('test', (tx) => tx.all('SELECT * FROM operation_verdicts')), []);
  });

check(
  'a `reconcilable` call is asked first, and delivered again only when it is final that it did not happen',
  async (t) => {
    const { clock, recover, sent } = await interrupted(t, {
      effect: 'reconcilable',
      settlesWithinMs: 60_000,
      status: () => ({ state: 'not_happened' }),
    });
    clock.advance(45_000);
    assert.equal((await recover()).outcome.state, 'unknown');
    assert.equal(sent(), 1);
    clock.advance(60_000);
    assert.equal((await recover()).outcome.state, 'done');
    assert.equal(sent(), 2);
  },
);

for (const [what, second, onError] of [
  ['says NotDone', new NotDone('the server is not connected'), 'unknown'],
  ['throws where onError says not_done', new Error('refused'), 'not_done'],
] as const)
  check(`a repeated delivery that ${what} does not make the first one undone: it stays unknown`, async (t) => {
    let world = 0;
    let sent = 0;
    const { clock, run, recover } = await interrupted(t, {
      effect: 'idempotent',
      onError,
      timeoutMs: 50,
      execute: () => {
        sent += 1;
        if (sent > 1) throw second;
        world += 1;
        return new Promise(() => undefined);
      },
    });
    clock.advance(60_000);
    const { outcome } = await recover();
    assert.deepEqual([world, sent, outcome.state], [1, 2, 'unknown']);
    assert.match('reason' in outcome ? outcome.reason : '', /what was sent before may have/);
    assert.equal((await run.refresh()).view.calls[0]?.outcome?.state, 'unknown');
  });

check(
  'a call that can be asked is settled as not done after its approval has expired, and not delivered again',
  async (t) => {
    const { clock, recover, sent } = await interrupted(
      t,
      { effect: 'reconcilable', needsApproval: true, settlesWithinMs: 0, status: () => ({ state: 'not_happened' }) },
      { approvalExpiresMs: 90_000 },
    );
    clock.advance(120_000);
    assert.equal((await recover()).outcome.state, 'not_done');
    assert.equal(sent(), 1);
  },
);

check('no delivery happens after the approval has expired: it is asked again', async (t) => {
  const { clock, recover, sent } = await interrupted(
    t,
    { effect: 'idempotent', needsApproval: true },
    { approvalExpiresMs: 90_000 },
  );
  clock.advance(120_000);
  assert.equal((await recover()).outcome.state, 'unknown');
  assert.equal(sent(), 1);
});

for (const who of ['whoever asks for it', 'whoever takes its run up'] as const)
  check(`${who}: an answer to what was asked too early is not final, however late it comes`, async (t) => {
    let onItsWay = (): void => undefined;
    const { clock, recover, runtime, sent, statusRef } = await interrupted(t, {
      effect: 'reconcilable',
      settlesWithinMs: 60_000,
      status: () => {
        onItsWay();
        return { state: 'not_happened' };
      },
    });
    const ask =
      who === 'whoever asks for it'
        ? () => settleByStatus(runtime.calls, runtime.principal, statusRef, runtime.filesystem)
        : async () => (await recover()).outcome;
    onItsWay = () => clock.advance(60_000);
    clock.advance(45_000);
    assert.equal((await ask()).state, 'unknown');
    assert.equal(sent(), 1);
    onItsWay = () => undefined;
    assert.notEqual((await ask()).state, 'unknown');
  });

check('`not_happened` settles nothing before its time, and is final for the key afterwards', async (t) => {
  const { clock, runtime, statusRef } = await interrupted(t, {
    effect: 'reconcilable',
    settlesWithinMs: 60_000,
    status: () => ({ state: 'not_happened' }),
  });
  clock.advance(45_000);
  assert.equal(
    (await settleByStatus(runtime.calls, runtime.principal, statusRef, runtime.filesystem)).state,
    'unknown',
  );
  clock.advance(60_000);
  const settled = await settleByStatus(runtime.calls, runtime.principal, statusRef, runtime.filesystem);
  assert.equal(settled.state, 'not_done');
  assert.equal('settledBy' in settled && settled.settledBy, 'status_query');
});

for (const [way, effect, lost] of [
  ['is delivered again', 'idempotent', undefined],
  ['is found out about by asking', 'reconcilable', 1],
  ['is found out about by whoever asks for it', 'reconcilable', 2],
] as const)
  check(`a call that ${way} is read back then, and verified by what is seen`, async (t) => {
    let asked = 0;
    const { clock, run, runtime, statusRef, recover } = await interrupted(t, {
      effect,
      resources: () => [
        {
          kind: 'external',
          role: 'note',
          namespace: 'notes',
          endpointId: 'here',
          serverId: 'notes',
          toolId: 'take_note',
        },
      ],
      postconditions: () => [{ role: 'note', predicate: 'exists' }],
      observe: () => [{ role: 'note', mechanism: 'remote_readback', coverage: 'complete', exists: true }],
      ...(lost === undefined
        ? {}
        : {
            status: () => {
              asked += 1;
              if (asked === 1) throw new Error('connection reset');
              return { state: 'happened', output: { ok: true } };
            },
          }),
    });
    const { tenant: tenantId, subject: subjectId } = runtime.principal;
    const verdicts = async (): Promise<string[]> => {
      const verified = await runtime.store.read('look', (tx) =>
        verifyRun(tx, { tenantId, subjectId }, { runId: run.id }),
      );
      return verified.effects.map(({ now }) => now.verdict);
    };
    assert.deepEqual(await verdicts(), ['pending']);
    clock.advance(60_000);
    const outcome =
      lost === 2
        ? await settleByStatus(runtime.calls, runtime.principal, statusRef, runtime.filesystem)
        : (await recover()).outcome;
    assert.deepEqual([outcome.state, 'verified' in outcome && outcome.verified], ['done', true]);
    assert.deepEqual(await verdicts(), ['verified']);
  });

check("a person's verdict settles it everywhere, and the run goes on with it", async (t) => {
  const { clock, run, runtime, statusRef } = await interrupted(t, { effect: 'once' });
  await assert.rejects(
    settleByPerson(runtime.calls, runtime.principal, statusRef, { verdict: 'done', reason: 'I saw it' }),
    { code: 'OPERATION_LEASE_RUNNING' },
  );
  clock.advance(60_000);
  for (const wrong of [
    { verdict: 'done', reason: ' \t' },
    { verdict: 'done', reason: 'x'.repeat(2001) },
    { verdict: 'done', reason: 'a\0b' },
    { verdict: 'perhaps', reason: 'I saw it' },
  ] as const)
    await assert.rejects(settleByPerson(runtime.calls, runtime.principal, statusRef, wrong as never), {
      code: 'INVALID_VALUE',
    });
  const said = { verdict: 'done', reason: 'I saw it in their books' } as const;
  const outcome = await settleByPerson(runtime.calls, runtime.principal, statusRef, said);
  assert.deepEqual(outcome, { state: 'done', output: null, verified: false, settledBy: 'person' });
  await assert.rejects(settleByPerson(runtime.calls, runtime.principal, statusRef, said), {
    code: 'OPERATION_SETTLED',
  });
  await run.resume();
  assert.equal(run.status, 'completed');
  assert.match(run.text, /DONE: a person confirmed/);
});

/** The folder of a run whose one call is unknown, opened anew by a process that has its tool only as it is now. */
async function toolChanged(t: TestContext, now: Given) {
  const clock = manualClock(Date.now());
  const lost = () => Promise.reject(new Error('connection reset'));
  const first = await openDesk(t, { clock });
  const run = await first.holdfast
    .agent({ name: 'a', model: callsThenDone([{}]), tools: [noteTool({ execute: lost })] })
    .run('go');
  const statusRef = run.view.calls[0]?.statusRef ?? '';
  await first.holdfast.close();
  clock.advance(60_000);
  const { holdfast } = await openDesk(t, { clock, dataDir: first.dataDir });
  const agent = holdfast.agent({ name: 'a', model: callsThenDone([{}]), tools: [noteTool(now)] });
  const file = join(first.dataDir, 'holdfast.db');
  return { runtime: holdfast.runtime, resume: () => agent.resume(run.id), statusRef, file };
}

for (const [what, now] of [
  ['is another one now', { revisions: { handler: 'server@2' } }],
  ['is gone', { name: 'other_note' }],
] as const) {
  check(`a call whose tool ${what} stays unknown when its run is resumed, and the run says why`, async (t) => {
    const again = await (await toolChanged(t, now)).resume();
    assert.deepEqual([again.status, again.view.outcome], ['failed', 'unknown']);
    assert.match(again.view.reason, /not registered as it was then, so nobody can be asked/);
  });

  check(`a person's verdict settles a call whose tool ${what}, and the run goes on with it`, async (t) => {
    const { runtime, resume, statusRef } = await toolChanged(t, now);
    await assert.rejects(settleByStatus(runtime.calls, runtime.principal, statusRef, runtime.filesystem), {
      code: 'TOOL_UNKNOWN',
      resolve: new RegExp(`holdfast operations settle ${statusRef} --done\\|--not-done --reason TEXT`),
    });
    await settleByPerson(runtime.calls, runtime.principal, statusRef, { verdict: 'not_done', reason: 'I looked' });
    const settled = await settleByStatus(runtime.calls, runtime.principal, statusRef, runtime.filesystem);
    assert.equal(settled.state, 'not_done');
    const again = await resume();
    assert.deepEqual([again.status, again.view.calls[0]?.outcome], ['completed', settled]);
  });
}

check(
  'the audit proves a call whose tool has changed from its own records, counts it, and sees it tampered with',
  async (t) => {
    const { runtime, file } = await toolChanged(t, { revisions: { handler: 'server@2' } });
    const whole = await auditEverything(runtime, runtime.principal, null);
    assert.deepEqual([whole.passed, whole.operationErrors, whole.operationsWithoutTool], [true, [], 1]);
    const database = new DatabaseSync(file);
    t.after(() => database.close());
    disarm(database);
    database.exec(`UPDATE operations SET arguments_json = '{"note":"honey"}'`);
    const { passed, semantic_errors: errors, counts } = await runtime.operations.audit();
    assert.deepEqual([passed, errors.length, counts.without_their_tool], [false, 1, 1]);
    assert.match(errors[0] ?? '', /request\/contract/);
  },
);
