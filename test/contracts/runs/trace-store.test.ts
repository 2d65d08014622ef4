import { systemClock } from '../../../src/core/index.ts';
import { newMessage, type TraceStatus } from '../../../src/runs/index.ts';
import { assert, check, contract } from '../../support/index.ts';
import { message, TRACE, TRACE_HOMES, withTrace } from './homes.ts';

const numbers = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i);
const later = [...numbers(21, 40), ...numbers(1, 20)];

for (const kind of TRACE_HOMES) {
  const title = (text: string): string => `${kind.name}: ${text}`;

  contract(
    'RUN-82 RUN-83 RUN-84',
    title('40 messages added at once are all counted, each with its event'),
    async (t) => {
      const { store } = await withTrace(kind, t);
      assert.deepEqual(await store.getEvents(TRACE), [], 'creating makes no event');
      await Promise.all(later.map((sequence) => store.addMessage(message({ sequence }))));
      const trace = await store.getTrace(TRACE);
      assert.equal(trace?.totalMessages, 40);
      assert.equal(trace?.lastSequence, 40);
      const events = await store.getEvents(TRACE);
      assert.deepEqual(
        events.map((event) => event.eventId),
        numbers(1, 40),
      );
      const messages = await store.getTraceMessages(TRACE);
      assert.deepEqual(
        messages.map((one) => one.sequence),
        numbers(1, 40),
      );
    },
  );

  contract(
    'RUN-85 RUN-86',
    title('events appended at once get one number each, after those of messages'),
    async (t) => {
      const { store } = await withTrace(kind, t);
      await Promise.all(numbers(1, 40).map((sequence) => store.addMessage(message({ sequence }))));
      const given = await Promise.all(numbers(0, 19).map((index) => store.appendEvent(TRACE, 'extra', { index })));
      assert.deepEqual(
        given.toSorted((a, b) => a - b),
        numbers(41, 60),
      );
      assert.equal((await store.getTrace(TRACE))?.lastEventId, 60);
      assert.equal((await store.getEvents(TRACE, { after: 40 })).length, 20);
    },
  );

  contract(
    'RUN-87 RUN-88 RUN-89 RUN-90',
    title('a message added twice is refused, and nothing is counted'),
    async (t) => {
      const { store } = await withTrace(kind, t);
      const once = message({ sequence: 1, content: 'once' });
      await store.addMessage(once);
      await assert.rejects(store.addMessage(once), {
        code: 'TRACE_RECORD_EXISTS',
        message: /message_id already exists/,
      });
      assert.equal((await store.getTrace(TRACE))?.totalMessages, 1);
      assert.deepEqual(await store.getTraceMessages(TRACE), [once]);
      assert.equal((await store.getEvents(TRACE)).length, 1);
    },
  );

  contract('RUN-92 RUN-93', title('an attachment named as JSON is no message and keeps its bytes'), async (t) => {
    const { store } = await withTrace(kind, t);
    const durable = message({ sequence: 1, content: 'durable' });
    await store.addMessage(durable);
    const data = Buffer.from('{"attachment":true}');
    const kept = await store.writeMessageAttachment(TRACE, durable.messageId, { suffix: '.json', data });
    assert.deepEqual(Buffer.from((await store.readAttachment(TRACE, kept.name)) ?? []), data);
    assert.deepEqual(
      (await store.getTraceMessages(TRACE)).map((one) => one.content),
      ['durable'],
    );
    await assert.rejects(store.writeMessageAttachment(TRACE, durable.messageId, { suffix: '.json', data }), {
      code: 'TRACE_RECORD_EXISTS',
    });
    for (const suffix of ['', 'json', '../x', '.a/b', '.'])
      await assert.rejects(store.writeMessageAttachment(TRACE, durable.messageId, { suffix, data }), {
        code: 'TRACE_RECORD_INVALID',
      });
    await assert.rejects(store.readAttachment(TRACE, 'attachments/../meta.json'), { code: 'TRACE_ID_INVALID' });
  });

  contract(
    'RUN-94 RUN-95',
    title('a replacement that fails is told, and the stored trace stays as it was'),
    async (t) => {
      const home = await withTrace(kind, t);
      const before = home.stored(TRACE);
      const fault = home.breakReplacing();
      const failing = home.store.updateTrace(TRACE, { status: 'failed' });
      await assert.rejects(failing, (error: Error) => {
        if (kind.name === 'files') assert.equal(error.cause, fault);
        else assert.match(String((error.cause as Error).message), /fault/);
        return true;
      });
      assert.deepEqual(home.stored(TRACE), before);
      assert.equal((await home.store.getTrace(TRACE))?.status, 'running');
    },
  );

  contract('RUN-96 RUN-97', title('ids that lead elsewhere are refused before anything is touched'), async (t) => {
    const { store } = await withTrace(kind, t);
    const wrong = ['../outside', '', '.', '..', 'a/b', 'a\\b', 'a.b', 'ä', `${'x'.repeat(129)}`, 'nul\0'];
    for (const id of wrong) {
      await assert.rejects(store.getTrace(id), { code: 'TRACE_ID_INVALID' }, id);
      await assert.rejects(store.createTrace({ traceId: id, mode: 'agent' }), { code: 'TRACE_ID_INVALID' }, id);
    }
    for (const id of ['bad/name', '../outside', '', '..'])
      await assert.rejects(store.getMessage(id), { code: 'TRACE_ID_INVALID' }, id);
    assert.equal(await store.getMessage('no-such_message'), null);
    assert.equal(await store.getTrace('x'.repeat(128)), null);
  });

  contract('RUN-98', title('a goal tree that does not read is corruption'), async (t) => {
    const home = await withTrace(kind, t);
    assert.equal(await home.store.getGoalTree(TRACE), null);
    await home.store.updateGoalTree(TRACE, { mission: 'resume', goals: [{ id: 'g1' }] });
    assert.deepEqual(await home.store.getGoalTree(TRACE), { mission: 'resume', goals: [{ id: 'g1' }] });
    for (const text of ['{broken', '[]', '{}', '{"mission":1}']) {
      home.breakGoals(TRACE, text);
      await assert.rejects(home.store.getGoalTree(TRACE), { code: 'TRACE_CORRUPT' }, text);
    }
  });

  contract('RUN-99', title('one damaged trace makes the list fail, and is never skipped'), async (t) => {
    const home = await withTrace(kind, t);
    assert.equal((await home.store.listTraces()).length, 1);
    home.addCorrupt('corrupt-trace');
    await assert.rejects(home.store.listTraces(), { code: 'TRACE_CORRUPT' });
  });

  contract('RUN-100 RUN-101 RUN-102', title('counters are restored from what is stored'), async (t) => {
    const { store } = await withTrace(kind, t);
    for (const sequence of [1, 2, 3]) await store.addMessage(message({ sequence, promptTokens: sequence }));
    await store.updateTrace(TRACE, { totalMessages: 0, lastSequence: 0, lastEventId: 0 });
    const report = await store.reconcileTraceIntegrity(TRACE);
    assert.deepEqual(report, { messages: 3, last_sequence: 3, last_event_id: 3 });
    const trace = await store.getTrace(TRACE);
    assert.equal(trace?.totalMessages, 3);
    assert.equal(trace?.totalPromptTokens, 6);
    assert.equal(await store.appendEvent(TRACE, 'after', {}), 4);
  });

  check(title('what is added goes on after what is stored, also where a counter is behind it'), async (t) => {
    const { store } = await withTrace(kind, t);
    for (const sequence of [1, 2, 3]) await store.addMessage(message({ sequence }));
    await store.updateTrace(TRACE, { lastEventId: 0 });
    assert.equal(await store.appendEvent(TRACE, 'after', {}), 4);
    await store.updateTrace(TRACE, { lastEventId: 2 });
    await store.addMessage(message({ sequence: 4 }));
    assert.deepEqual(
      (await store.getEvents(TRACE)).map(({ eventId }) => eventId),
      [1, 2, 3, 4, 5],
    );
    assert.equal((await store.getTrace(TRACE))?.lastEventId, 5);
  });

  check(title('what is no place of a page, or no status, is refused and blamed on no record'), async (t) => {
    const { store } = await withTrace(kind, t);
    for (const sequence of [1, 2, 3]) await store.addMessage(message({ sequence }));
    const invalid = { code: 'TRACE_RECORD_INVALID' };
    for (const after of [-1, 0.5, Number.NaN, Infinity, 2 ** 53, '1', null] as number[]) {
      await assert.rejects(store.getEvents(TRACE, { after }), invalid, String(after));
      await assert.rejects(store.getTraceMessages(TRACE, { after }), invalid, String(after));
    }
    assert.deepEqual(
      [await store.getEvents(TRACE, { after: 3 }), await store.getEvents(TRACE, { after: 99 })],
      [[], []],
    );
    for (const after of [5, {}, '../x', '\0', null] as string[])
      await assert.rejects(store.listTraces({ after }), { code: 'TRACE_ID_INVALID' }, JSON.stringify(after));
    assert.equal((await store.listTraces({ after: '' })).length, 1);
    for (const status of [null, 'running', ['nope']] as unknown as TraceStatus[][])
      await assert.rejects(store.listTraces({ status }), invalid, JSON.stringify(status));
    assert.deepEqual(await store.listTraces({ status: [] }), []);
  });

  check(title('no count of tokens makes a trace that cannot be read any more'), async (t) => {
    const { store } = await withTrace(kind, t);
    assert.throws(() => message({ sequence: 1, promptTokens: 1_000_000_001 }), { code: 'TRACE_RECORD_INVALID' });
    assert.throws(() => message({ sequence: 1, completionTokens: 2 ** 53 - 1 }), { code: 'TRACE_RECORD_INVALID' });
    for (const sequence of [1, 2]) await store.addMessage(message({ sequence, promptTokens: 1_000_000_000 }));
    assert.equal((await store.getTrace(TRACE))?.totalPromptTokens, 2_000_000_000);
  });

  check(title('a message comes back as it was stored, branches, tokens and number spelling included'), async (t) => {
    const { store } = await withTrace(kind, t);
    const parts = {
      branchType: 'reflection',
      branchId: 'b-1',
      parentSequence: 0,
      promptTokens: 7,
      completionTokens: 9,
    };
    const content = { text: 'ä', tool_calls: [{ id: 'c-1', function: { name: 'x', arguments: '{"a":1.0}' } }] };
    const stored = message({ sequence: 12, role: 'assistant', content, ...parts });
    await store.addMessage(stored);
    assert.deepEqual(await store.getMessage(stored.messageId), stored);
    assert.equal(stored.messageId, `${TRACE}-000012`);
  });

  check(title('a change is a function of the trace as it is, and unknown fields are refused'), async (t) => {
    const { store } = await withTrace(kind, t);
    await Promise.all(
      numbers(1, 10).map(() => store.updateTrace(TRACE, (now) => ({ headSequence: now.headSequence + 1 }))),
    );
    assert.equal((await store.getTrace(TRACE))?.headSequence, 10);
    assert.equal((await store.updateTrace(TRACE, () => null)).headSequence, 10);
    const wrong: Record<string, unknown>[] = [
      { status: 'done' },
      { headSequence: -1 },
      { traceId: 'other' },
      { mode: 'other' },
      { context: [] },
      { nothing: 1 },
    ];
    for (const change of wrong)
      await assert.rejects(store.updateTrace(TRACE, change), { code: 'TRACE_RECORD_INVALID' }, JSON.stringify(change));
    await assert.rejects(store.updateTrace('absent', {}), { code: 'TRACE_NOT_FOUND' });
  });

  check(title('a trace is made once, lists come in pages and by status'), async (t) => {
    const { store } = await withTrace(kind, t);
    await assert.rejects(store.createTrace({ traceId: TRACE, mode: 'agent' }), { code: 'TRACE_RECORD_EXISTS' });
    const of: readonly [string, TraceStatus][] = [
      ['a', 'completed'],
      ['b', 'stopped'],
      ['c', 'waiting_confirmation'],
    ];
    for (const [traceId, status] of of) await store.createTrace({ traceId, mode: 'agent', status });
    const ids = async (filter: Parameters<typeof store.listTraces>[0]): Promise<string[]> =>
      (await store.listTraces(filter)).map((trace) => trace.traceId);
    assert.deepEqual(await ids({}), ['a', 'b', 'c', TRACE]);
    assert.deepEqual(await ids({ after: 'a', limit: 2 }), ['b', 'c']);
    assert.deepEqual(await ids({ status: ['stopped'] }), ['b']);
    assert.deepEqual(await ids({ status: ['running', 'waiting_confirmation'] }), ['c', TRACE]);
    await assert.rejects(store.listTraces({ limit: 1_001 }), { code: 'TRACE_RECORD_INVALID' });
    assert.equal((await store.updateTrace('a', { status: 'running' })).status, 'running');
  });

  check(title('messages come in pages by their sequences'), async (t) => {
    const { store } = await withTrace(kind, t);
    for (const sequence of [1, 2, 5, 9]) await store.addMessage(message({ sequence }));
    const page = await store.getTraceMessages(TRACE, { after: 1, limit: 2 });
    assert.deepEqual(
      page.map((one) => one.sequence),
      [2, 5],
    );
    await assert.rejects(store.getTraceMessages('absent'), { code: 'TRACE_NOT_FOUND' });
  });

  check(title('bounds of a record are checked at their edge'), async (t) => {
    const { store } = await withTrace(kind, t);
    await store.addMessage(message({ sequence: 999_999 }));
    assert.throws(() => message({ sequence: 1_000_000 }), { code: 'TRACE_RECORD_INVALID' });
    assert.throws(() => message({ sequence: 0 }), { code: 'TRACE_RECORD_INVALID' });
    const data = new Uint8Array(16 * 1024 * 1024 + 1);
    const id = `${TRACE}-999999`;
    await assert.rejects(store.writeMessageAttachment(TRACE, id, { suffix: '.bin', data }), { code: 'LIMIT_REACHED' });
    const kept = await store.writeMessageAttachment(TRACE, id, { suffix: '.bin', data: data.subarray(1) });
    assert.equal(kept.bytes, 16 * 1024 * 1024);
    await store.updateTrace(TRACE, { totalMessages: 10_000 });
    await assert.rejects(store.addMessage(message({ sequence: 2 })), { code: 'LIMIT_REACHED' });
    await store.updateTrace(TRACE, { totalMessages: 9_999 });
    await store.addMessage(message({ sequence: 2 }));
    const odd = { ...message({ sequence: 3 }), messageId: `${TRACE}-000004` };
    await assert.rejects(store.addMessage(odd), { code: 'TRACE_RECORD_INVALID' });
    const half = { ...message({ sequence: 3 }), branchType: 'reflection' };
    await assert.rejects(store.addMessage(half), { code: 'TRACE_RECORD_INVALID' });
    const elsewhere = newMessage({ traceId: 'absent', role: 'user', sequence: 1, content: 'x' }, systemClock);
    await assert.rejects(store.addMessage(elsewhere), { code: 'TRACE_NOT_FOUND' });
  });
}
