import type { TestContext } from 'node:test';
import { recoverCall } from '../../src/calls/index.ts';
import type { FaultPoint } from '../../src/core/index.ts';
import type { Tool, ToolDefinition } from '../../src/index.ts';
import { Principal } from '../../src/operations/index.ts';
import { assert, check, manualClock } from '../support/index.ts';
import { callsThenDone, type noteSchema, noteTool, openDesk } from './desk.ts';

type Execute = ToolDefinition<typeof noteSchema>['execute'];

/** How long a process sleeps: longer than any lease of these tools. */
const SLEEP_MS = 120_000;

/** A desk whose process is held up at one point of its first call, and what the rest of the world does meanwhile. */
async function desk(t: TestContext, asleepAt: FaultPoint) {
  const clock = manualClock(Math.floor(Date.now() / 1000) * 1000);
  const asleep = { forMs: SLEEP_MS, meanwhile: async (): Promise<void> => undefined };
  let slept = false;
  const reach = async (point: FaultPoint): Promise<void> => {
    if (point !== asleepAt || slept) return;
    slept = true;
    clock.advance(asleep.forMs);
    await asleep.meanwhile();
  };
  const { holdfast } = await openDesk(t, { clock, faults: { reach }, instanceLeaseMs: 600_000 });
  const { calls, filesystem, operations, principal } = holdfast.runtime;
  const view = async () => {
    const asker = new Principal(principal.tenant, principal.subject);
    const [only] = (await operations.list(asker, { now: Math.floor(clock.nowMs() / 1000) })).operations;
    if (!only) throw new Error('there is no operation');
    return only;
  };
  const takeUp = async () => {
    const recovery = { filesystem, signal: new AbortController().signal, redeliver: true };
    return (await recoverCall(calls, principal, (await view()).statusRef, recovery)).outcome;
  };
  const run = (tool: Tool) => holdfast.agent({ model: callsThenDone([{}]), tools: [tool] }).run('go');
  const { runs } = holdfast.runtime;
  const stopHere = async (): Promise<void> => runs.carriedHere().forEach((runId) => runs.holdHere(runId));
  return { asleep, clock, run, stopHere, takeUp, view };
}

/** Counts what is sent, and answers the first so many with an error. */
function counted(failing = 0) {
  const sent: string[] = [];
  const execute: Execute = (_input, { idempotencyKey }) => {
    sent.push(idempotencyKey);
    if (sent.length <= failing) throw new Error('connection reset');
    return { ok: true };
  };
  return { sent, execute };
}

check('a process that was held up past its lease does not send the call that it began, and says so', async (t) => {
  const { run, view } = await desk(t, 'effect-about-to-send');
  const { sent, execute } = counted();
  const { view: told } = await run(noteTool({ execute }));
  const outcome = told.calls[0]?.outcome;
  assert.equal(sent.length, 0);
  assert.equal(outcome?.state, 'not_done');
  assert.match(outcome?.state === 'not_done' ? outcome.reason : '', /held up until the lease .* has not sent it/);
  assert.equal((await view()).known, 'not_done');
});

check('what another process carried out meanwhile stands, and is not sent a second time', async (t) => {
  const { asleep, run, takeUp, view } = await desk(t, 'effect-about-to-send');
  const { sent, execute } = counted();
  asleep.meanwhile = async () => void (await takeUp());
  const { view: told } = await run(noteTool({ effect: 'idempotent', execute }));
  assert.equal(sent.length, 1);
  assert.deepEqual([told.calls[0]?.outcome?.state, (await view()).known], ['done', 'done']);
});

check('what another process tried meanwhile, and does not know, is no "not done" of the one that slept', async (t) => {
  const { asleep, run, takeUp, view } = await desk(t, 'effect-about-to-send');
  const { sent, execute } = counted(1);
  asleep.meanwhile = async () => void (await takeUp());
  const { view: told } = await run(noteTool({ effect: 'idempotent', execute }));
  assert.equal(sent.length, 1);
  assert.equal(told.calls[0]?.outcome?.state, 'unknown');
  assert.notEqual((await view()).known, 'not_done');
});

check(
  'a call that is stopped after it was begun and before its tool is invoked was not sent, and is known not to be done',
  async (t) => {
    const { asleep, run, stopHere, view } = await desk(t, 'effect-about-to-send');
    const { sent, execute } = counted();
    asleep.forMs = 0;
    asleep.meanwhile = stopHere;
    const { status, view: told } = await run(noteTool({ effect: 'once', execute }));
    const outcome = told.calls[0]?.outcome;
    assert.equal(sent.length, 0);
    assert.deepEqual([status, outcome?.state, (await view()).known], ['stopped', 'not_done', 'not_done']);
    assert.match(outcome?.state === 'not_done' ? outcome.reason : '', /stopped before .* has not sent it/);
  },
);

check('a stop between two attempts of one call takes nothing back: what the first did is unknown', async (t) => {
  const { asleep, run, stopHere } = await desk(t, 'effect-about-to-send');
  asleep.forMs = 0;
  const sent: string[] = [];
  const execute: Execute = async (_input, { idempotencyKey }) => {
    sent.push(idempotencyKey);
    await stopHere();
    throw new Error('connection reset');
  };
  const { view: told } = await run(noteTool({ effect: 'idempotent', execute, retry: { most: 2, pauseMs: 1 } }));
  assert.equal(sent.length, 1);
  assert.equal(told.calls[0]?.outcome?.state, 'unknown');
});

check('a call that is still under way when its lease ends is aborted then, and unknown', async (t) => {
  const { asleep, run, view } = await desk(t, 'effect-about-to-send');
  asleep.forMs = 29_950;
  let isAborted = false;
  const execute: Execute = (_input, { signal }) => {
    signal.addEventListener('abort', () => {
      isAborted = true;
    });
    return new Promise(() => undefined);
  };
  const { view: told } = await run(noteTool({ timeoutMs: 20_000, execute }));
  const outcome = told.calls[0]?.outcome;
  assert.equal(isAborted, true);
  assert.equal(outcome?.state, 'unknown');
  assert.equal(outcome?.state === 'unknown' && outcome.reason, 'The tool gave no answer within 50 ms.');
  assert.notEqual((await view()).known, 'done');
});

check('a repetition that a tool declares is not sent once the lease has ended', async (t) => {
  const { clock, run } = await desk(t, 'receipt-committed');
  const sent: string[] = [];
  const execute: Execute = (_input, { idempotencyKey }) => {
    sent.push(idempotencyKey);
    clock.advance(SLEEP_MS);
    throw new Error('busy');
  };
  const tool = noteTool({ effect: 'idempotent', retry: { most: 3, pauseMs: 1 }, execute });
  const { view: told } = await run(tool);
  assert.equal(sent.length, 1);
  assert.equal(told.calls[0]?.outcome?.state, 'unknown');
});

check('a worker that was held up with the lease of a second delivery does not make it; the next one may', async (t) => {
  const { clock, run, takeUp, view } = await desk(t, 'outbox-claimed');
  const { sent, execute } = counted(1);
  await run(noteTool({ effect: 'idempotent', execute }));
  clock.advance(60_000);
  const slept = await takeUp();
  assert.deepEqual([sent.length, slept.state], [1, 'unknown']);
  assert.match(slept.state === 'unknown' ? slept.reason : '', /^This process was held up .* has not sent it\.$/);
  assert.equal((await takeUp()).state, 'done');
  assert.deepEqual([new Set(sent).size, sent.length, (await view()).known], [1, 2, 'done']);
});
