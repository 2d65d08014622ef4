import type { TestContext } from 'node:test';
import { runDocument, viewOfRun } from '../../src/app/index.ts';
import { type ModelFunction, NotDone } from '../../src/index.ts';
import { noteTool, openDesk } from '../calls/desk.ts';
import { assert, check } from '../support/index.ts';

/** Replies of so many calls each, one call after the other of the named tools. */
const replies =
  (many: number, calls: number, names: readonly string[]): ModelFunction =>
  ({ messages }) => {
    const asked = messages.findLastIndex(({ role }) => role === 'user');
    const said = messages.slice(asked).filter(({ role }) => role === 'assistant').length;
    if (said >= many) return 'done';
    return {
      calls: Array.from({ length: calls }, (_, i) => {
        const toolName = names[(said * calls + i) % names.length] ?? '';
        return { callId: `${said}-${i}`, toolName, arguments: { note: `${said} ${i}` } };
      }),
    };
  };

const TARGET = {
  kind: 'external',
  role: 'note',
  namespace: 'notes',
  endpointId: 'here',
  serverId: 'notes',
  toolId: 'take_note',
} as const;
const TOOLS = [
  noteTool({ name: 'does', effect: 'read', execute: () => ({ outcome: 'unknown', verified: true }) }),
  noteTool({
    name: 'fails',
    effect: 'read',
    execute: () => {
      throw new Error('no');
    },
  }),
  noteTool({
    name: 'does_not',
    execute: () => {
      throw new NotDone('It was not done.');
    },
  }),
  noteTool({
    name: 'is_seen',
    effect: 'idempotent',
    resources: () => [TARGET],
    postconditions: () => [{ role: 'note', predicate: 'exists' }],
    observe: () => [{ role: 'note', mechanism: 'remote_readback', coverage: 'complete', exists: true }],
  }),
];
const NAMES = ['does', 'fails', 'does_not', 'is_seen', 'is_nowhere'];

async function ran(t: TestContext, many: number, calls: number) {
  const desk = await openDesk(t);
  const agent = desk.holdfast.agent({ model: replies(many, calls, NAMES), tools: TOOLS });
  const { runtime } = desk.holdfast;
  const before = await agent.run('Something else, in the same session.');
  const run = await agent.run('Go.', { rootFrameId: before.view.sessionId });
  await agent.run('Something after it.', { rootFrameId: before.view.sessionId });
  const page = (limit: number, after?: string | null) =>
    viewOfRun(runtime, runtime.principal, run.id, { limit, ...(after ? { after } : {}) });
  const whole = await viewOfRun(runtime, runtime.principal, run.id);
  return { ...desk, runtime, run, page, whole };
}

check('a page of a run has its newest calls, and all of them counted as the whole view counts them', async (t) => {
  const { page, whole } = await ran(t, 5, 2);
  assert.equal(whole.calls.length, 10);
  assert.deepEqual([whole.summary.calls, whole.summary.reportedDone, whole.summary.verified], [10, 4, 2]);
  const all = await page(200);
  assert.deepEqual(runDocument(all), runDocument(whole));
  const newest = await page(4);
  assert.deepEqual(newest.calls, whole.calls.slice(-4));
  assert.deepEqual([newest.summary, newest.text, newest.outcome], [whole.summary, whole.text, whole.outcome]);
});

check('pages of a run meet without a gap or a repetition, each with whole replies', async (t) => {
  const { page, whole } = await ran(t, 5, 2);
  for (const limit of [1, 2, 3, 4, 9, 10, 11]) {
    let seen: string[] = [];
    for (let after: string | null | undefined; after !== null; ) {
      const view = await page(limit, after);
      assert.ok(view.calls.length <= limit + 1, 'a reply is not cut');
      seen = [...view.calls.map(({ callId }) => callId), ...seen];
      after = view.olderCalls;
    }
    assert.deepEqual(
      seen,
      whole.calls.map(({ callId }) => callId),
      `pages of ${limit}`,
    );
  }
  for (const after of ['x', '-1', '1e3']) await assert.rejects(page(1, after), { code: 'INVALID_VALUE' });
  assert.deepEqual((await page(5, '1')).calls, []);
});

check('what is unknown in a call of an older page is told of the run on every page', async (t) => {
  const desk = await openDesk(t);
  const tools = [
    noteTool({
      execute: () => {
        throw new Error('nobody knows');
      },
    }),
    noteTool({ name: 'read', effect: 'read' }),
  ];
  const model: ModelFunction = ({ messages }) =>
    messages.some(({ role }) => role === 'tool')
      ? 'done'
      : {
          calls: [
            { callId: 'a', toolName: 'take_note', arguments: { note: 'a' } },
            { callId: 'b', toolName: 'read', arguments: { note: 'b' } },
          ],
        };
  const run = await desk.holdfast.agent({ model, tools }).run('go');
  assert.equal(run.view.outcome, 'unknown');
  const { runtime } = desk.holdfast;
  const view = await viewOfRun(runtime, runtime.principal, run.id, { limit: 1 });
  assert.deepEqual([view.outcome, view.summary], ['unknown', run.view.summary]);
});

check('what a page of a run reads does not grow with the run', async (t) => {
  const reads: number[] = [];
  for (const many of [10, 40]) {
    const { page, counts } = await ran(t, many, 1);
    counts.reset();
    await page(5);
    reads.push(counts.count('statement'));
  }
  assert.equal(reads[0], reads[1]);
});
