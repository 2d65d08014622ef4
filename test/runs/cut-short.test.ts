import { fail, type HoldfastError } from '../../src/core/index.ts';
import type { AgentOptions } from '../../src/index.ts';
import type { Runtime } from '../../src/app/index.ts';
import { callsThenDone, noteTool, openDesk } from '../calls/desk.ts';
import { assert, check, movedClock } from '../support/index.ts';

/** No write of a run or a call is taken from now on, as on a disk that is full. */
function fillDisk({ store }: Runtime): void {
  const write = store.write.bind(store);
  store.write = (name, body) =>
    /^(runs|calls)\./.test(name)
      ? Promise.reject(fail('STORE_FULL', 'The disk of the data folder is full.'))
      : write(name, body);
}

const refusalOf = async (promise: Promise<unknown>): Promise<HoldfastError> =>
  promise.then(
    () => assert.fail('it was not refused'),
    (error: HoldfastError) => error,
  );

const writing = (name: string, then: () => void): AgentOptions => ({
  name,
  model: callsThenDone([{}]),
  tools: [noteTool({ execute: () => (then(), { posted: true }) })],
});

/** What a refusal says of the run that it cut short. */
function assertNames(error: HoldfastError, code: string, runId: string): void {
  assert.equal(error.code, code);
  assert.equal(error.details?.['run_id'], runId);
  assert.match(error.message, new RegExp(`What had started in run ${runId} is unknown until it is known\\.$`));
  assert.match(
    error.resolve,
    new RegExp(`^See what is known of it before anything is tried again: holdfast runs show ${runId}\\. `),
  );
}

check(
  'a run that the store cut short after a tool ran is named, with the command that shows what is known',
  async (t) => {
    const { holdfast } = await openDesk(t);
    const { runtime } = holdfast;
    const error = await refusalOf(holdfast.agent(writing('clerk', () => fillDisk(runtime))).run('go'));
    const [run] = (await runtime.runs.list(runtime.principal, { limit: 10 })).items;
    assert.ok(run);
    assertNames(error, 'STORE_FULL', run.runId);
    assert.deepEqual([error.family, error.retryable, error.httpStatus], ['storage', true, 507]);
    assert.match(error.resolve, / Free space on the disk/);
    assert.equal((error.cause as HoldfastError).message, 'The disk of the data folder is full.');
  },
);

check('so is one that was resumed, of which the clock went back, and what it says keeps its own details', async (t) => {
  const clock = movedClock();
  const { holdfast } = await openDesk(t, { clock });
  const execute = () => (clock.advance(-3_600_000), { posted: true });
  const tools = [noteTool({ needsApproval: true, execute })];
  const agent = holdfast.agent({ name: 'clerk', model: callsThenDone([{}]), tools });
  const run = await agent.run('go');
  const error = await refusalOf(run.approve(run.pending[0]));
  assertNames(error, 'CLOCK_WENT_BACK', run.id);
  assert.equal(typeof error.details?.['by_ms'], 'number');
  clock.advance(3_600_000);
});

check('a run that has ended is named also where it cannot be shown', async (t) => {
  const { holdfast } = await openDesk(t);
  const { store, runs, principal } = holdfast.runtime;
  const read = store.read.bind(store);
  const agent = holdfast.agent({ name: 'clerk', model: () => 'done' });
  const failing: typeof store.read = (name, body) =>
    name === 'app.run-view' ? Promise.reject(fail('STORE_IO', 'The disk failed.')) : read(name, body);
  store.read = failing;
  const error = await refusalOf(agent.run('go'));
  const [run] = (await runs.list(principal, { limit: 10 })).items;
  assert.ok(run);
  assertNames(error, 'STORE_IO', run.runId);
});

check('where a run below another is cut short, the one that was begun is named', async (t) => {
  const { holdfast } = await openDesk(t);
  const { runtime } = holdfast;
  const child = holdfast.agent(writing('helper', () => fillDisk(runtime)));
  const asking = { toolName: 'ask_helper', arguments: { task: 'please' } };
  const lead = { name: 'lead', model: () => ({ calls: [asking] }), children: [child] };
  const error = await refusalOf(holdfast.agent(lead).run('go'));
  const [top] = (await runtime.runs.list(runtime.principal, { limit: 10 })).items.filter(
    ({ agent }) => agent === 'lead',
  );
  assert.ok(top);
  assertNames(error, 'STORE_FULL', top.runId);
  assert.equal(error.message.split('What had started').length, 2);
});
