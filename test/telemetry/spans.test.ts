import { setTimeout as sleep } from 'node:timers/promises';
import { SpanKind } from '@opentelemetry/api';
import { z } from 'zod';
import { type ModelFunction, openTelemetry, tool } from '../../src/index.ts';
import { callsThenDone, noteTool } from '../calls/desk.ts';
import { openWorld, untilRun } from '../gateway/world.ts';
import { assert, check } from '../support/index.ts';
import { type CollectedSpan, collect } from './collector.ts';

// Providers are registered once a process, so the tests of this file share one collector.
const collector = collect();

function fresh(): void {
  collector.spans.length = 0;
  collector.measured.length = 0;
}

/** A run's last span ends a moment after its row says that it is over. */
async function untilEnded(name: string, count: number): Promise<readonly CollectedSpan[]> {
  for (;;) {
    const found = collector.spans.filter((span) => span.name === name && span.ended);
    if (found.length >= count) return found;
    await sleep(5);
  }
}

const counted: ModelFunction = async (request) => {
  const reply = await callsThenDone([{ note: 'milk' }])(request);
  const usage = { inputTokens: 70, outputTokens: 7 };
  return typeof reply === 'string' ? { text: reply, usage } : { ...reply, usage };
};

check(
  'a run over HTTP is a tree of spans: request, agent, model turn, tool call, and the approval between',
  async (t) => {
    fresh();
    const world = await openWorld(t, { model: counted, holdfast: { telemetry: await openTelemetry() } });
    const agent = await world.client(['agent']);
    const approver = await world.client(['approver']);
    const { run_id: runId, session_id: session } = await agent.startRun({ task: 'the secret errand' });
    const { pending } = await untilRun(agent, runId, 'waiting_confirmation');
    const { digest, created_at: created } = await approver.showApproval(pending[0] ?? '');
    await approver.decide(pending[0] ?? '', { decision: 'approve', digest });
    await untilRun(agent, runId, 'completed');
    const [first, second] = await untilEnded('invoke_agent agent', 2);
    const began = collector.named('POST /api/v1/runs');
    assert.deepEqual(
      [began.kind, began.attributes['http.route'], began.attributes['http.response.status_code']],
      [SpanKind.SERVER, '/api/v1/runs', 202],
    );
    assert.equal(first?.parentId, began.spanId);
    assert.equal(second?.parentId, collector.named('POST /api/v1/approvals/{request_id}/decision').spanId);
    assert.deepEqual(first?.attributes, {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'agent',
      'gen_ai.conversation.id': session,
      'gen_ai.provider.name': 'function',
      'gen_ai.request.model': 'function',
      'gen_ai.usage.input_tokens': 70,
      'gen_ai.usage.output_tokens': 7,
      'holdfast.run.id': runId,
      'holdfast.run.status': 'waiting_confirmation',
    });
    const chats = collector.spans.filter(({ name }) => name === 'chat function');
    assert.deepEqual(
      chats.map(({ parentId }) => parentId),
      [first?.spanId, second?.spanId],
    );
    assert.deepEqual(chats[0]?.attributes['gen_ai.response.finish_reasons'], ['tool_calls']);
    assert.equal(chats[0]?.kind, SpanKind.CLIENT);
    const call = collector.named('execute_tool take_note');
    assert.equal(call.parentId, second?.spanId);
    assert.deepEqual(
      [
        call.attributes['gen_ai.tool.name'],
        call.attributes['gen_ai.tool.call.id'],
        call.attributes['holdfast.call.outcome'],
      ],
      ['take_note', 'call-0-0', 'done'],
    );
    const approval = collector.named('approve take_note');
    assert.equal(approval.startTime?.getTime(), created);
    assert.equal(approval.attributes['holdfast.approval.decision'], 'allowed');
    assert.equal(approval.attributes['holdfast.run.id'], runId);
    assert.deepEqual(
      collector.spans.filter(({ ended, isError }) => !ended || isError),
      [],
    );
  },
);

check('what is measured has the names and units of the conventions, and labels of few values', async (t) => {
  fresh();
  const world = await openWorld(t, {
    model: counted,
    tools: [noteTool()],
    holdfast: { telemetry: await openTelemetry() },
  });
  const agent = await world.client(['agent']);
  const { run_id: runId } = await agent.startRun({ task: 'go' });
  await untilRun(agent, runId, 'completed');
  await untilEnded('invoke_agent agent', 1);
  const of = (metric: string) => collector.measured.filter((one) => one.metric === metric);
  assert.deepEqual(
    of('gen_ai.client.token.usage').map(({ unit, value, attributes }) => [
      unit,
      value,
      attributes['gen_ai.token.type'],
    ]),
    [
      ['{token}', 70, 'input'],
      ['{token}', 7, 'output'],
      ['{token}', 70, 'input'],
      ['{token}', 7, 'output'],
    ],
  );
  assert.deepEqual(of('gen_ai.client.operation.duration')[0]?.attributes, {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'function',
    'gen_ai.request.model': 'function',
  });
  assert.deepEqual(of('holdfast.call.duration')[0]?.attributes, {
    'gen_ai.tool.name': 'take_note',
    'holdfast.call.outcome': 'done',
  });
  const requests = of('http.server.request.duration');
  assert.ok(requests.some(({ attributes }) => attributes['http.route'] === '/api/v1/runs/{run_id}'));
  assert.ok(!JSON.stringify(collector.measured).includes(runId), 'no label names one run');
});

check(
  'no content and no secret stands on a span or a measurement, whatever the tool, the model and the caller say',
  async (t) => {
    fresh();
    const pay = tool({
      name: 'pay',
      description: 'Pays.',
      inputSchema: z.object({ card: z.string(), note: z.string() }),
      effect: 'once',
      needsApproval: false,
      secretFields: ['card'],
      execute: ({ card }) => ({ receipt: `paid with ${card}` }),
    });
    const model: ModelFunction = ({ messages }) =>
      messages.some(({ role }) => role === 'tool')
        ? 'paid, said the model'
        : { calls: [{ toolName: 'pay', arguments: { card: '4000-1111', note: 'a private note' } }] };
    const world = await openWorld(t, { model, tools: [pay], holdfast: { telemetry: await openTelemetry() } });
    const token = await world.token(['agent']);
    const agent = await world.client(['agent']);
    const { run_id: runId } = await agent.startRun({ task: 'a private errand' }, { key: 'a-private-key' });
    await untilRun(agent, runId, 'completed');
    await untilEnded('invoke_agent agent', 1);
    const address = `${world.url}/api/v1/runs/${token}`;
    await (await fetch(address, { headers: { authorization: `Bearer ${token}`, cookie: 'a-cookie' } })).text();
    const text = collector.text();
    for (const secret of ['4000-1111', 'private', 'said the model', 'paid with', token, token.slice(-43), 'a-cookie'])
      assert.ok(!text.includes(secret), secret);
    assert.equal(collector.named('execute_tool pay').isError, false);
  },
);

check('what failed says so by its code: a model, a call whose outcome is unknown, a run, a request', async (t) => {
  fresh();
  const telemetry = await openTelemetry();
  const broken = noteTool({
    execute: () => {
      throw new Error('the line to /var/lib/secret broke');
    },
  });
  const world = await openWorld(t, { tools: [broken], holdfast: { telemetry } });
  const agent = await world.client(['agent']);
  await agent.startRun({ task: 'go' });
  const [run] = await untilEnded('invoke_agent agent', 1);
  const call = collector.named('execute_tool take_note');
  assert.deepEqual(
    [call.isError, call.attributes['error.type'], call.attributes['holdfast.call.outcome']],
    [true, 'TOOL_THREW', 'unknown'],
  );
  assert.deepEqual([run?.isError, run?.attributes['error.type']], [true, 'OUTCOME_UNKNOWN']);
  assert.ok(!collector.text().includes('/var/lib'));
  fresh();
  const failing: ModelFunction = () => {
    throw new Error('no key');
  };
  const other = await openWorld(t, { model: failing, holdfast: { telemetry } });
  other.holdfast.agent({ name: 'once', model: failing, retries: { most: 0 } });
  await (await other.client(['agent'])).startRun({ task: 'go', agent: 'once' });
  await untilEnded('invoke_agent once', 1);
  assert.equal(collector.named('chat function').attributes['error.type'], 'MODEL_FAILED');
  assert.equal(
    collector.measured.find(({ metric }) => metric === 'gen_ai.client.operation.duration')?.attributes['error.type'],
    'MODEL_FAILED',
  );
});

check('a request goes on with the trace that its caller names', async (t) => {
  fresh();
  const world = await openWorld(t, { holdfast: { telemetry: await openTelemetry() } });
  const traceparent = `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`;
  const response = await fetch(`${world.url}/healthz`, { headers: { traceparent } });
  const span = collector.named('GET /healthz');
  assert.deepEqual([span.traceId, span.parentId], ['ab'.repeat(16), 'cd'.repeat(8)]);
  assert.equal(span.attributes['holdfast.request.id'], response.headers.get('x-request-id'));
  await (await fetch(`${world.url}/nowhere`)).text();
  assert.equal(collector.named('GET').attributes['http.response.status_code'], 404);
});

check('providers that throw do not touch the work', async (t) => {
  fresh();
  const telemetry = await openTelemetry();
  const push = collector.spans.push;
  collector.spans.push = () => {
    throw new Error('the collector is full');
  };
  t.after(() => {
    collector.spans.push = push;
  });
  const world = await openWorld(t, { tools: [noteTool()], holdfast: { telemetry } });
  const agent = await world.client(['agent']);
  const { run_id: runId } = await agent.startRun({ task: 'go' });
  assert.equal((await untilRun(agent, runId, 'completed')).calls[0]?.outcome, 'done');
});
