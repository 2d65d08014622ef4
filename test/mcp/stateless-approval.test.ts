import { assert, check } from '../support/index.ts';
import { elsewhere, guardWorld, type Message, OPEN_POLICY, outcomeOf, textOf } from './guard-world.ts';
import { httpWorld, json, messageOf, result } from './http-world.ts';

const HELD = { ...OPEN_POLICY, rules: [] };
const meta = (capabilities: object) => ({
  _meta: {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  },
});
const ASKS = meta({ elicitation: { form: {} } });

interface Asked {
  readonly resultType?: string;
  readonly requestState?: string;
  readonly inputRequests?: Record<string, { readonly method: string; readonly params: { readonly message: string } }>;
}
const askedBy = (message: Message): Asked => message['result'] as Asked;
const answering = (asked: Asked, said: object): object => ({
  ...ASKS,
  requestState: asked.requestState,
  inputResponses: Object.fromEntries(Object.keys(asked.inputRequests ?? {}).map((name) => [name, said])),
});
const YES = { action: 'accept', content: { approve: true } };

check('since 2026-07-28 a host is asked by the answer to its call, and its answer reaches no server', async (t) => {
  const world = await guardWorld(t, { policy: HELD });
  for (const [said, code] of [
    [YES, undefined],
    [{ action: 'accept', content: { approve: false } }, 'APPROVAL_DENIED'],
    [{ action: 'decline' }, 'APPROVAL_DENIED'],
    [{ action: 'cancel' }, 'APPROVAL_PENDING'],
  ] as const) {
    const args = { said: said.action, code: code ?? null };
    const asked = askedBy(await world.call('write', args, 1, ASKS));
    assert.equal(asked.resultType, 'input_required');
    const [question] = Object.values(asked.inputRequests ?? {});
    assert.equal(question?.method, 'elicitation/create');
    assert.match(question?.params.message ?? '', /Let write run/);
    const told = await world.call('write', args, 2, answering(asked, said));
    assert.equal(told.id, 2);
    assert.equal(outcomeOf(told)?.code, code);
  }
  assert.equal(world.effects().length, 1);
});

check('what answers the guard is not passed on, the rest of the call is', async (t) => {
  const arrived: Message[] = [];
  const world = await httpWorld(
    t,
    (_arrived, response, message) => {
      arrived.push(message);
      json(response, result(message.id, 'done'));
    },
    { policy: HELD },
  );
  const call = async (id: number, more: object): Promise<Message> => {
    const params = { name: 'write', arguments: { n: 1 }, ...more };
    return messageOf(await world.send({ body: JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params }) }));
  };
  const asked = askedBy(await call(1, ASKS));
  assert.equal(textOf(await call(2, answering(asked, YES))), 'done');
  assert.deepEqual(arrived, [
    { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'write', arguments: { n: 1 }, ...ASKS } },
  ]);
});

check('a question about long arguments shows what comes after a long text, and says what is left out', async (t) => {
  const world = await guardWorld(t, { policy: HELD });
  const questionOf = async (args: object): Promise<string> =>
    Object.values(askedBy(await world.call('write', args, 1, ASKS)).inputRequests ?? {})[0]?.params.message ?? '';
  const content = 'x'.repeat(5000);
  const long = await questionOf({ content, path: '/somewhere/else' });
  assert.match(long, /x… \(4800 more\)", ?"path":"\/somewhere\/else"/);
  assert.match(long, /Shortened; the whole: holdfast approvals show [0-9a-f]{32}\./);
  const many = await questionOf({ names: Array.from({ length: 500 }, (_, i) => `name ${i}`) });
  assert.match(many, /… Shortened; the whole: holdfast approvals show/);
  assert.doesNotMatch(await questionOf({ content: 'x'.repeat(1900) }), /Shortened|…/);
});

check('an answer counts once, for just that call, and only the newest question can be answered', async (t) => {
  const world = await guardWorld(t, { policy: HELD });
  const first = askedBy(await world.call('write', { a: 1 }, 1, ASKS));
  const second = askedBy(await world.call('write', { a: 1 }, 2, ASKS));
  assert.notEqual(first.requestState, second.requestState);
  for (const [args, more] of [
    [{ a: 1 }, answering(first, YES)],
    [{ a: 2 }, answering(second, YES)],
    [{ a: 1 }, { ...ASKS, requestState: 'holdfast-approval-0', inputResponses: { holdfast_approval: YES } }],
    [{ a: 1 }, { ...ASKS, inputResponses: { holdfast_approval: YES } }],
  ] as const)
    assert.equal(askedBy(await world.call('write', args, 3, more)).resultType, 'input_required', JSON.stringify(more));
  const cancelled = askedBy(await world.call('write', { a: 1 }, 4, ASKS));
  await world.call('write', { a: 1 }, 4, answering(cancelled, { action: 'cancel' }));
  const late = await world.call('write', { a: 1 }, 4, answering(cancelled, YES));
  assert.equal(askedBy(late).resultType, 'input_required', 'a question is answered once');
  const last = askedBy(await world.call('write', { a: 1 }, 4, ASKS));
  assert.match(textOf(await world.call('write', { a: 1 }, 5, answering(last, YES))), /written/);
  assert.equal(askedBy(await world.call('write', { a: 1 }, 6, answering(last, YES))).resultType, 'input_required');
  assert.deepEqual(world.effects(), [{ a: 1 }]);
});

check('a host that cannot ask waits and is told the command; a decision elsewhere is found by either', async (t) => {
  const world = await guardWorld(t, { policy: HELD });
  for (const capabilities of [{}, { elicitation: { url: {} } }])
    assert.equal(outcomeOf(await world.call('write', { a: 1 }, 1, meta(capabilities)))?.code, 'APPROVAL_PENDING');
  assert.equal(askedBy(await world.call('write', { a: 1 }, 2, ASKS)).resultType, 'input_required');
  await elsewhere(world.dataDir, async ({ runtime }) => {
    const { items } = await runtime.approvals.pending(runtime.principal);
    for (const { requestId, digest } of items)
      await runtime.approvals.decide(runtime.principal, [{ requestId, digest, decision: 'approve' }]);
  });
  assert.match(textOf(await world.call('write', { a: 1 }, 3, ASKS)), /written/);
  assert.deepEqual(world.effects(), [{ a: 1 }]);
});

check('what a host says its user answered decides only where its principal may decide', async (t) => {
  const world = await guardWorld(t, { policy: { ...HELD, approvers: { roles: ['boss'] } } });
  const asked = askedBy(await world.call('write', { a: 1 }, 1, ASKS));
  assert.equal(outcomeOf(await world.call('write', { a: 1 }, 2, answering(asked, YES)))?.code, 'APPROVAL_PENDING');
  world.send({ id: 0, method: 'initialize', params: { capabilities: { elicitation: {} } } });
  await world.next();
  const question = await world.call('write', { a: 2 }, 3);
  assert.equal(question['method'], 'elicitation/create');
  world.send({ id: question.id, result: YES });
  assert.equal(outcomeOf(await world.next())?.code, 'APPROVAL_PENDING');
  assert.deepEqual(world.effects(), []);
});
