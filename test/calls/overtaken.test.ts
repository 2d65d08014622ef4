import type { TestContext } from 'node:test';
import { deliverAgain, operationDocument } from '../../src/app/index.ts';
import {
  ledgerResultOfStored,
  outcomeOfStored,
  recordRecovered,
  recoverCall,
  settleByPerson,
  settleByStatus,
} from '../../src/calls/index.ts';
import { operationLines } from '../../src/cli/operation-lines.ts';
import type { JsonObject } from '../../src/core/index.ts';
import { NotDone } from '../../src/index.ts';
import { Principal } from '../../src/operations/index.ts';
import { readFeed } from '../../src/store/index.ts';
import { assert, check, manualClock, PLAIN } from '../support/index.ts';
import { callsThenDone, noteTool, openDesk } from './desk.ts';

type Said = 'done' | 'not_done';

/** A desk whose tool does what a test says once the operation is under way, with everything that can settle it. */
async function desk(t: TestContext) {
  const clock = manualClock(Date.now());
  const { holdfast } = await openDesk(t, { clock, instanceLeaseMs: 600_000 });
  const { runtime } = holdfast;
  const { calls, filesystem, operations, principal } = runtime;
  const asker = new Principal(principal.tenant, principal.subject);
  const view = async () => {
    const page = await operations.list(asker, { now: Math.floor(clock.nowMs() / 1000) });
    const [only] = page.operations;
    if (!only) throw new Error('there is no operation');
    return only;
  };
  const ways = {
    person: async (said: Said) =>
      settleByPerson(calls, principal, (await view()).statusRef, { verdict: said, reason: 'seen' }),
    status: async () => settleByStatus(calls, principal, (await view()).statusRef, filesystem),
    recover: async () => {
      const recovery = { filesystem, signal: new AbortController().signal, redeliver: true };
      return (await recoverCall(calls, principal, (await view()).statusRef, recovery)).outcome;
    },
  };
  const late = () => operations.counts().then((counts) => counts.downstream_receipts);
  return { clock, holdfast, runtime, view, ways, late };
}

for (const said of ['done', 'not_done'] as const)
  check(
    `a receipt that comes after a person said ${said} is kept and shown beside the verdict, which stands`,
    async (t) => {
      const { clock, holdfast, view, ways } = await desk(t);
      const execute = async () => {
        clock.advance(120_000);
        await ways.person(said);
        return { ok: true };
      };
      const agent = holdfast.agent({ model: callsThenDone([{}]), tools: [noteTool({ execute })] });
      const run = await agent.run('go');
      assert.equal(run.view.calls[0]?.outcome?.state, said);
      const { known, lateReceipt, receipt } = await view();
      assert.deepEqual([known, receipt, lateReceipt?.resultJson], [said, null, '{"ok":true}']);
    },
  );

for (const said of ['done', 'not_done'] as const)
  check(`a call that ends without an answer after a person said ${said} takes nothing back`, async (t) => {
    const { clock, holdfast, runtime, view, ways } = await desk(t);
    const execute = async () => {
      clock.advance(120_000);
      await ways.person(said);
      throw new Error('connection reset');
    };
    const run = await holdfast.agent({ model: callsThenDone([{}]), tools: [noteTool({ execute })] }).run('go');
    const { known, statusRef } = await view();
    const stored = await outcomeOfStored(runtime.calls, runtime.principal, statusRef);
    assert.deepEqual([run.view.calls[0]?.outcome?.state, stored.state, known], [said, said, said]);
    assert.equal(run.status, 'completed');
  });

check('a delivery that ends without an answer after a person said done takes nothing back', async (t) => {
  const { clock, holdfast, view, ways } = await desk(t);
  let sent = 0;
  const execute = async () => {
    sent += 1;
    clock.advance(120_000);
    if (sent === 2) await ways.person('done');
    throw new Error('connection reset');
  };
  const tool = noteTool({ effect: 'idempotent', execute });
  const run = await holdfast.agent({ model: callsThenDone([{}]), tools: [tool] }).run('go');
  assert.equal((await ways.recover()).state, 'done');
  assert.equal(sent, 2);
  assert.equal((await view()).known, 'done');
  await run.refresh();
  assert.equal(run.view.calls[0]?.outcome?.state, 'done');
});

check('what was unknown to whoever takes a call up is written and told as it was settled meanwhile', async (t) => {
  const { clock, holdfast, runtime, view, ways } = await desk(t);
  const { calls, principal } = runtime;
  const execute = () => {
    throw new Error('connection reset');
  };
  const run = await holdfast.agent({ model: callsThenDone([{}]), tools: [noteTool({ execute })] }).run('go');
  clock.advance(120_000);
  const read = await ways.recover();
  assert.equal(read.state, 'unknown');
  assert.match(run.view.reason, /is unknown/);
  await ways.person('done');
  await run.refresh();
  assert.ok(run.view.reason.endsWith(`is known by now; to go on: holdfast runs resume ${run.id}`));
  const of = await ledgerResultOfStored(calls, principal, (await view()).statusRef);
  assert.equal((await recordRecovered(calls, principal, of, read)).state, 'done');
  await run.refresh();
  assert.equal(run.view.calls[0]?.outcome?.state, 'done');
});

for (const what of ['a call that was carried out', 'a person said that it did happen'] as const)
  check(`${what}: however often it is to be delivered again, nothing more is written of it`, async (t) => {
    const { clock, holdfast, runtime, view, ways } = await desk(t);
    let sent = 0;
    const execute = () => {
      sent += 1;
      if (what !== 'a call that was carried out') throw new Error('connection reset');
      return { ok: true };
    };
    const tool = noteTool({ effect: 'idempotent', execute });
    const run = await holdfast.agent({ model: callsThenDone([{}]), tools: [tool] }).run('go');
    clock.advance(120_000);
    if (what !== 'a call that was carried out') await ways.person('done');
    const told = async () => {
      await run.refresh();
      const results = `SELECT count(*) AS n FROM action_events WHERE type = 'result'`;
      return [run.view.calls[0]?.outcome, await runtime.store.read('test', (tx) => tx.get(results))];
    };
    const before = await told();
    const { statusRef } = await view();
    for (let i = 0; i < 2; i += 1) await deliverAgain(runtime, runtime.principal, statusRef);
    assert.deepEqual(await told(), before);
    assert.equal(sent, 1);
  });

for (const seconds of [0, 2])
  check(`an answer that comes ${seconds} seconds after a status query said the same is told once`, async (t) => {
    const { clock, holdfast, runtime, view, ways } = await desk(t);
    let asked: string | undefined;
    const execute = async () => {
      asked = (await ways.status()).state;
      clock.advance(seconds * 1000);
      return { ok: true };
    };
    const status = () => ({ state: 'happened', output: { ok: true } }) as const;
    const tool = noteTool({ effect: 'reconcilable', execute, status });
    const run = await holdfast.agent({ model: callsThenDone([{}]), tools: [tool] }).run('go');
    assert.deepEqual([asked, run.view.calls[0]?.outcome?.state, (await view()).known], ['done', 'done', 'done']);
    const results = `SELECT count(*) AS n FROM action_events WHERE type = 'result'`;
    assert.deepEqual({ ...(await runtime.store.read('test', (tx) => tx.get(results))) }, { n: 1 });
    assert.match(run.text, /^told: /);
    assert.equal((await runtime.operations.audit()).passed, true);
  });

check('whoever comes second is told the command that shows what the first one said, ready to be run', async (t) => {
  const { clock, holdfast, view, ways, runtime } = await desk(t);
  const { approvals, principal } = runtime;
  const agent = holdfast.agent({ model: callsThenDone([{}]), tools: [noteTool({ needsApproval: true })] });
  const run = await agent.run('go');
  const [asked] = run.pending;
  assert.ok(asked);
  const { digest, requestId } = asked;
  await run.approve(asked);
  const decision = approvals.decide(principal, [{ requestId, digest, decision: 'reject' }]);
  await assert.rejects(decision, {
    code: 'APPROVAL_ALREADY_DECIDED',
    resolve: new RegExp(`approvals show ${requestId}$`),
  });
  clock.advance(120_000);
  const show = new RegExp(`holdfast operations show ${(await view()).statusRef}$`);
  await assert.rejects(ways.person('done'), { code: 'OPERATION_SUCCEEDED', resolve: show });
});

for (const effect of ['once', 'idempotent', 'reconcilable'] as const)
  check(`an unknown call of a tool that is ${effect} names what can settle it, wherever it is told`, async (t) => {
    const { clock, holdfast, runtime, view, ways } = await desk(t);
    const { calls, principal } = runtime;
    const status = () => ({ state: 'unknown' }) as const;
    const execute = () => {
      throw new Error('connection reset');
    };
    const tool = noteTool({ effect, execute, ...(effect === 'reconcilable' ? { status } : {}) });
    const model = callsThenDone([{}], [{ id: 'again' }]);
    const agent = holdfast.agent({ model, tools: [tool] });
    const run = await agent.run('go');
    const { statusRef } = await view();
    const settle = `holdfast operations settle ${statusRef} --done|--not-done --reason TEXT`;
    const command = {
      once: settle,
      idempotent: `holdfast operations process ${statusRef}`,
      reconcilable: `holdfast operations status ${statusRef}`,
    }[effect];
    const again = await agent.run('again', { rootFrameId: run.view.sessionId });
    const told = [run.view.calls[0]?.outcome, await outcomeOfStored(calls, principal, statusRef)];
    for (const outcome of told) assert.equal(outcome?.state === 'unknown' && outcome.resolve, command);
    const refused = again.view.calls[0]?.outcome;
    assert.equal(refused?.state === 'not_started' && refused.resolve, `Settle the earlier one first: ${command}`);
    clock.advance(120_000);
    if (effect !== 'idempotent') {
      const outcome = await ways.recover();
      assert.equal(outcome.state === 'unknown' && outcome.resolve, command);
    }
    const lines = operationLines(await view(), PLAIN, command);
    assert.deepEqual(
      lines.filter((line) => line.includes('holdfast operations')).map((line) => line.slice(13)),
      effect === 'once' ? [settle] : [command, settle],
    );
  });

check('that the first delivery did nothing settles nothing while another one is under way', async (t) => {
  const { clock, holdfast, view, ways } = await desk(t);
  const begun = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  let again: Promise<unknown> | undefined;
  const execute = async () => {
    if (again) {
      begun.resolve();
      await answered.promise;
      return { ok: true };
    }
    clock.advance(120_000);
    again = ways.recover();
    await begun.promise;
    throw new NotDone('refused');
  };
  const tool = noteTool({ effect: 'idempotent', execute });
  const run = await holdfast.agent({ model: callsThenDone([{}]), tools: [tool] }).run('go');
  assert.equal(run.view.calls[0]?.outcome?.state, 'unknown');
  answered.resolve();
  await again;
  assert.equal((await view()).known, 'done');
});

for (const way of ['status', 'recover'] as const)
  for (const [first, answer, state, receipts] of [
    ['a person that says it did', 'happened', 'done', 1],
    ['a person that says it did not', 'happened', 'not_done', 1],
    ['another that asks', 'happened', 'done', 1],
    ['another that asks', 'not_happened', 'not_done', 0],
  ] as const)
    check(`${way}: while ${answer} is on its way, ${first} comes first, and that is what is answered`, async (t) => {
      const { clock, holdfast, late, view, ways } = await desk(t);
      let asked = -1;
      const status = async () => {
        // The first question comes with the call itself, and the second one is the test's.
        asked += 1;
        if (asked === 0) return { state: 'unknown' } as const;
        if (asked === 1) {
          clock.advance(2_000);
          await (first === 'another that asks' ? ways.status() : ways.person(state));
          clock.advance(2_000);
        }
        return answer === 'happened'
          ? ({ state: 'happened', output: { ok: true } } as const)
          : ({ state: 'not_happened' } as const);
      };
      const execute = () => {
        throw new Error('connection reset');
      };
      const tool = noteTool({ effect: 'reconcilable', execute, status });
      await holdfast.agent({ model: callsThenDone([{}]), tools: [tool] }).run('go');
      clock.advance(120_000);
      assert.equal((await ways[way]()).state, state);
      assert.equal((await view()).known, state);
      assert.equal(await late(), receipts);
    });

/**
 * A reconcilable call of which nothing is known, and a hook that a test runs in the middle of what it does next. Each
 * delivery but the first may have taken effect; the lease of each is over when it ends.
 */
async function askable(t: TestContext, hook: { readonly at: 'status' | 'precondition' | 'execute' }) {
  const made = await desk(t);
  const { clock, holdfast } = made;
  let meanwhile: (() => Promise<unknown>) | undefined;
  let sent = 0;
  const here = async (at: typeof hook.at): Promise<void> => {
    const run = at === hook.at ? meanwhile : undefined;
    meanwhile = at === hook.at ? undefined : meanwhile;
    await run?.();
  };
  const tool = noteTool({
    effect: 'reconcilable',
    async execute() {
      const delivery = (sent += 1);
      if (delivery === 2) await here('execute');
      clock.advance(120_000);
      if (hook.at === 'execute' && delivery === 2) throw new NotDone('refused');
      throw new Error('connection reset');
    },
    async status() {
      await here('status');
      return { state: 'not_happened' };
    },
    async precondition() {
      await here('precondition');
      return true as const;
    },
  });
  await holdfast.agent({ model: callsThenDone([{}]), tools: [tool] }).run('go');
  return {
    ...made,
    sent: () => sent,
    during: (run: () => Promise<unknown>): void => {
      meanwhile = run;
    },
  };
}

check(
  'that a call did not happen permits no delivery once it was delivered again since it was asked about',
  async (t) => {
    const { during, sent, view, ways } = await askable(t, { at: 'precondition' });
    during(ways.recover);
    const slower = await ways.recover();
    assert.equal(slower.state, 'unknown');
    assert.equal(sent(), 2);
    assert.deepEqual([(await view()).known, (await view()).attempts], ['unknown', 2]);
  },
);

check('that a call did not happen settles nothing once it was delivered again since it was asked about', async (t) => {
  const { during, sent, view, ways } = await askable(t, { at: 'status' });
  during(ways.recover);
  assert.equal((await ways.status()).state, 'unknown');
  assert.equal(sent(), 2);
  const { known, verdict } = await view();
  assert.deepEqual([known, verdict], ['unknown', null]);
});

check('that a later delivery did nothing settles nothing once the call was delivered again after it', async (t) => {
  const { clock, during, sent, view, ways } = await askable(t, { at: 'execute' });
  during(async () => {
    clock.advance(120_000);
    await ways.recover();
  });
  assert.equal((await ways.recover()).state, 'unknown');
  assert.equal(sent(), 3);
  assert.equal((await view()).verdict, null);
});

check('a call is not delivered again when its approval expires between the look at it and its lease', async (t) => {
  const { clock, during, sent, ways } = await askable(t, { at: 'precondition' });
  during(async () => clock.advance(3_600_000));
  const outcome = await ways.recover();
  assert.match(outcome.state === 'unknown' ? outcome.reason : '', /its approval has expired/);
  assert.equal(sent(), 1);
});

/** A tool whose first delivery is overtaken by a second one, and what each of the two answers. */
async function answeredTwice(t: TestContext, [first, second]: readonly [JsonObject, JsonObject]) {
  const made = await desk(t);
  const { clock, holdfast, runtime, view, ways } = made;
  let again: ReturnType<typeof ways.recover> | undefined;
  const execute = async () => {
    if (again) return second;
    clock.advance(120_000);
    again = ways.recover();
    await again;
    return first;
  };
  const tool = noteTool({ effect: 'idempotent', execute });
  const run = await holdfast.agent({ model: callsThenDone([{}]), tools: [tool] }).run('go');
  const { entries } = await runtime.store.read('test', (tx) => readFeed(tx, { tenantId: 'local', after: 0 }));
  const told = entries.filter(({ kind }) => kind === 'operation.answered_otherwise').map(({ reference }) => reference);
  return { ...made, run, told, view: await view() };
}

check(
  'where two deliveries of one key answer otherwise, the first that came stands and the other is kept and shown',
  async (t) => {
    const { clock, run, runtime, told, view, ways } = await answeredTwice(t, [{ refund: 'r-1' }, { refund: 'r-2' }]);
    const outcome = run.view.calls[0]?.outcome;
    assert.deepEqual(outcome?.state === 'done' && outcome.output, { refund: 'r-2' });
    assert.equal(view.receipt?.resultJson, '{"refund":"r-2"}');
    assert.deepEqual(
      view.otherAnswers.map(({ resultJson }) => resultJson),
      ['{"refund":"r-1"}'],
    );
    assert.deepEqual(told, [view.statusRef]);
    const lines = operationLines(view, PLAIN, '').join('\n');
    assert.match(
      lines,
      /otherwise {2}another delivery answered \{"refund":"r-1"\}[^]*whether it happened more than once/,
    );
    const shown = operationDocument(await runtime.operations.show(new Principal('local', 'owner'), view.statusRef, 0));
    assert.deepEqual(
      (shown['other_answers'] as JsonObject[]).map((one) => one['result']),
      ['{"refund":"r-1"}'],
    );
    assert.equal((await runtime.operations.audit()).passed, true);
    clock.advance(120_000);
    assert.equal((await ways.recover()).state, 'done');
  },
);

check('of many answers to one key eight are kept beside the first, each once', async (t) => {
  const { clock, holdfast, view, ways } = await desk(t);
  let sent = 0;
  const execute = async () => {
    const delivery = (sent += 1);
    clock.advance(120_000);
    if (delivery < 12) await ways.recover();
    return { refund: `r-${Math.min(delivery, 11)}` };
  };
  const tool = noteTool({ effect: 'idempotent', execute });
  await holdfast.agent({ model: callsThenDone([{}]), tools: [tool] }).run('go');
  const { known, receipt, otherAnswers } = await view();
  assert.deepEqual([sent, known, receipt?.resultJson], [12, 'done', '{"refund":"r-11"}']);
  assert.deepEqual(
    otherAnswers.map(({ resultJson }) => resultJson),
    [10, 9, 8, 7, 6, 5, 4, 3].map((n) => `{"refund":"r-${n}"}`),
  );
});

check('an answer that says the same as the kept one is no other answer', async (t) => {
  const { run, told, view } = await answeredTwice(t, [{ refund: 'r-1' }, { refund: 'r-1' }]);
  assert.equal(run.view.calls[0]?.outcome?.state, 'done');
  assert.deepEqual([view.otherAnswers, told], [[], []]);
});
