import { type Holdfast, standingsOf, viewOfRun } from '../../src/app/index.ts';
import { runLines } from '../../src/cli/run-lines.ts';
import { putRule } from '../../src/approvals/index.ts';
import { settleByPerson } from '../../src/calls/index.ts';
import type { HoldfastError } from '../../src/core/index.ts';
import { Principal } from '../../src/operations/index.ts';
import { countingObserver } from '../../src/store/index.ts';
import { assert, check, PLAIN } from '../support/index.ts';
import { elsewhere, guardWorld, type Message, OPEN_POLICY, outcomeOf, resultOf, textOf } from './guard-world.ts';

const operations = (dataDir: string) =>
  elsewhere(dataDir, async ({ runtime }) => {
    const { tenant, subject } = runtime.principal;
    const options = { limit: 50, now: Math.floor(Date.now() / 1000) };
    return (await runtime.operations.list(new Principal(tenant, subject), options)).operations;
  });

check('what is no call passes in both directions, byte for byte', async (t) => {
  const world = await guardWorld(t);
  const odd = '{"jsonrpc": "2.0",  "id": 1.0, "method": "ping", "params": {"n": 12345678901234567890, "é": "\\u00e9"}}';
  world.send(`${odd}\n`);
  assert.deepEqual((await world.next())['params'], { line: odd });
  world.send({ method: 'world/noise' });
  assert.equal(await world.line(), 'this is no message\r\n');
  assert.equal(await world.end(), 0);
});

check('a read passes at once, and its answer byte for byte', async (t) => {
  const world = await guardWorld(t);
  world.send('{"jsonrpc":"2.0","id":"a","method":"tools\\/call","params":{"name":"read"}}\n');
  assert.equal(
    await world.line(),
    '{"jsonrpc": "2.0",  "id": "a", "result": {"content": [], "n": 1.0, "x": 9007199254740993}}\n',
  );
  const failed = await world.call('read_fails');
  assert.deepEqual(resultOf(failed), { content: [{ type: 'text', text: 'cannot read' }], isError: true });
  await world.end();
  const views = await elsewhere(world.dataDir, async ({ runtime }) =>
    runtime.runs.list(runtime.principal, { limit: 5 }),
  );
  assert.deepEqual(
    views.items.map((run) => [run.agent, run.state.status]),
    [['guard:world', 'completed']],
  );
});

check('a write is carried out once and its answer passes byte for byte', async (t) => {
  const world = await guardWorld(t);
  world.send({ id: 5, method: 'tools/call', params: { name: 'write', arguments: { a: 1 } } });
  assert.equal(
    await world.line(),
    '{"jsonrpc": "2.0", "result": {"content": [{"type": "text", "text": "written \\u00e9"}], "n": 1.0}, "id": 5}\n',
  );
  assert.deepEqual(world.effects(), [{ a: 1 }]);
  const large = await world.call('large', { a: 2 });
  assert.equal(resultOf(large).content[0]?.text.length, 300_000);
});

check('a write that nothing holds costs two commits, a read none that its host waits for', async (t) => {
  const counts = countingObserver();
  const world = await guardWorld(t, { observer: counts.observe });
  await world.call('write', { a: 0 }, 1);
  counts.reset();
  await world.call('write', { a: 1 }, 2);
  const commits = () =>
    counts.events
      .flatMap((event) => (event.kind === 'committed' && event.wrote ? event.names : []))
      .filter((name) => /^(calls|guard)\./.test(name));
  assert.deepEqual(commits(), ['calls.begin', 'calls.finish']);
  const places = counts.statementsOf('calls.begin').filter((text) => text.includes('AS has_pen'));
  assert.equal(places.length, 1, 'the place of the group says those of its lines');
  counts.reset();
  await world.call('read', {}, 3);
  await world.end();
  assert.deepEqual(commits(), ['guard.later'], 'what was read is written down afterwards');
});

check('a guard that waits rehearses a call, stops at the first that comes, and nothing of it is seen', async (t) => {
  const counts = countingObserver();
  const world = await guardWorld(t, { observer: counts.observe });
  const rehearsed = () => counts.events.filter((event) => event.kind === 'rolled_back').length;
  while (rehearsed() === 0) await new Promise(setImmediate);
  await world.call('write', { a: 1 });
  const before = rehearsed();
  assert.ok(before < 24, 'the call has ended them');
  await world.call('write', { a: 2 }, 2);
  assert.equal(rehearsed(), before);
  assert.equal(await world.end(), 0);
  assert.equal(world.errors(), '');
  assert.deepEqual(world.effects(), [{ a: 1 }, { a: 2 }]);
  assert.equal((await operations(world.dataDir)).length, 2);
});

check('a denied call and one that is not readable reach no server', async (t) => {
  const world = await guardWorld(t);
  const denied = await world.call('forbidden');
  assert.equal(resultOf(denied).isError, true);
  assert.equal(outcomeOf(denied)?.code, 'POLICY_DENIED');
  assert.match(
    resultOf(denied).content[0]?.text ?? '',
    /^NOT STARTED .*nobody may\. Nothing was run\. .*changed by its owner\.$/,
  );
  world.send('{"jsonrpc":"2.0","id":3,"method":"ping","method":"tools/call","params":{"name":"write"}}\n');
  assert.equal(((await world.next())['error'] as { data: { code: string } }).data.code, 'MCP_MESSAGE_UNREADABLE');
  assert.deepEqual(world.effects(), []);
});

check(
  'a line with a carriage return inside, where a server may begin another message, reaches no server',
  async (t) => {
    const world = await guardWorld(t);
    const smuggled = '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"write","arguments":{"a":1}}}';
    world.send(`{"jsonrpc":"2.0","id":1,"method":"ping","params":\r${smuggled}\r}\n`);
    assert.match(
      JSON.stringify(await world.next()),
      /"id":null.*MCP_MESSAGE_UNREADABLE|MCP_MESSAGE_UNREADABLE.*"id":null/,
    );
    world.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call",\r"params":{"name":"write","arguments":{"a":2}}}\n`);
    assert.equal((await world.next()).id, 3, 'a call is told of its own refusal');
    world.send('{"jsonrpc":"2.0","id":4,"method":"ping"}\r\n');
    assert.equal((await world.next())['method'], 'world/echo', 'at its end it is the end of the line');
    assert.deepEqual(world.effects(), []);
  },
);

check('an answer with a carriage return inside, where a host may read another, is unknown', async (t) => {
  const tools = { ...OPEN_POLICY.tools, divides: { effect: 'once', on_error: 'not_done' } };
  const rules = [...OPEN_POLICY.rules, { id: 'divides', tools: ['divides'], decision: 'allow' }];
  const world = await guardWorld(t, { policy: { ...OPEN_POLICY, tools, rules } });
  world.send({ id: 1, method: 'tools/call', params: { name: 'divides', arguments: { a: 1 } } });
  const line = await world.line();
  assert.equal(outcomeOf(JSON.parse(line) as Message)?.outcome, 'unknown');
  assert.doesNotMatch(line, /\r|all is well/);
  assert.equal(world.effects().length, 1);
});

check('a server that dies in a call leaves it unknown, in words that are no success', async (t) => {
  const world = await guardWorld(t);
  const message = await world.call('dies', { a: 1 });
  assert.equal(resultOf(message).isError, true);
  assert.equal(outcomeOf(message)?.outcome, 'unknown');
  assert.match(resultOf(message).content[0]?.text ?? '', /^OUTCOME UNKNOWN/);
  assert.equal(await world.ended, 7);
  assert.equal(world.effects().length, 1);
});

check(
  'no answer in time, an answer in two ways, an error of a writing tool: unknown, what was said kept beside it',
  async (t) => {
    const world = await guardWorld(t);
    for (const [name, said] of [
      ['hangs', undefined],
      ['doubled', undefined],
    ] as const) {
      const message = await world.call(name, { name });
      assert.equal(outcomeOf(message)?.outcome, 'unknown', name);
      assert.equal(resultOf(message).isError, true);
      assert.equal(said, undefined);
    }
    const refused = (await world.call('refuses'))['error'] as { code: number; message: string };
    assert.equal(refused.code, -32602);
    assert.match(refused.message, /bad arguments \(OUTCOME UNKNOWN/);
  },
);

check('where the policy promises that an error means not done, it is told as the server told it', async (t) => {
  const world = await guardWorld(t);
  const message = await world.call('write_fails', { a: 1 });
  assert.deepEqual(resultOf(message), { content: [{ type: 'text', text: 'it broke half way' }], isError: true });
  const strict = await guardWorld(t, { policy: { ...OPEN_POLICY, tools: {} } });
  const unknown = await strict.call('write_fails', { a: 1 });
  assert.equal(outcomeOf(unknown)?.outcome, 'unknown');
  assert.deepEqual(
    resultOf(unknown).content.map((one) => one.text.slice(0, 15)),
    ['it broke half w', 'OUTCOME UNKNOWN'],
  );
});

check('the same call again while the first is unknown is refused, and names what settles it', async (t) => {
  const world = await guardWorld(t);
  await world.call('hangs', { a: 1 }, 1);
  const again = await world.call('hangs', { a: 1 }, 2);
  assert.equal(outcomeOf(again)?.code, 'UNRESOLVED_TWIN');
  assert.match(textOf(again), /Settle the earlier one first: holdfast operations settle status_[0-9a-f]{32} /);
  assert.equal(world.effects().length, 1);
});

check('a held call waits, is told so, and goes on where it was once a person has decided elsewhere', async (t) => {
  const policy = { ...OPEN_POLICY, rules: [] };
  const world = await guardWorld(t, { policy });
  const waiting = await world.call('write', { a: 1 }, 1);
  assert.equal(outcomeOf(waiting)?.code, 'APPROVAL_PENDING');
  assert.match(world.errors(), /held: write: .*holdfast approvals approve [0-9a-f]{32}/);
  await elsewhere(world.dataDir, async ({ runtime }) => {
    const { items } = await runtime.approvals.pending(runtime.principal);
    assert.equal(items.length, 1, 'one request, however often it is asked for');
    for (const { requestId, digest } of items)
      await runtime.approvals.decide(runtime.principal, [{ requestId, digest, decision: 'approve' }]);
  });
  assert.match(JSON.stringify(await world.call('write', { a: 1 }, 2)), /written/);
  assert.deepEqual(world.effects(), [{ a: 1 }]);
  assert.equal(outcomeOf(await world.call('write', { a: 1 }, 3))?.code, 'APPROVAL_PENDING', 'the permission was used');
});

check('a guard whose run somebody stops elsewhere begins nothing more, and its run ends as stopped', async (t) => {
  const rules = OPEN_POLICY.rules.filter(({ id }) => id !== 'never');
  const world = await guardWorld(t, { policy: { ...OPEN_POLICY, rules } });
  await world.call('write', { a: 1 }, 1);
  assert.equal(outcomeOf(await world.call('forbidden', { a: 1 }, 2))?.code, 'APPROVAL_PENDING');
  await elsewhere(world.dataDir, async ({ runtime: { runs, principal } }) => {
    const [run] = (await runs.list(principal, { limit: 1 })).items;
    await assert.rejects(runs.resume(principal, run?.runId ?? ''), { code: 'RUN_BUSY' }, 'its guard has it');
    await runs.stop(principal, run?.runId ?? '');
  });
  for (const [name, args, id] of [
    ['write', { a: 2 }, 3],
    ['read', {}, 4],
    ['not_described', {}, 5],
  ] as const) {
    const told = await world.call(name, args, id);
    assert.deepEqual([told.id, outcomeOf(told)?.outcome, outcomeOf(told)?.code], [id, 'not_started', 'CALL_SKIPPED']);
  }
  assert.equal(outcomeOf(await world.call('forbidden', { a: 1 }, 6))?.outcome, 'not_started', 'nor what waited');
  assert.deepEqual(world.effects(), [{ a: 1 }]);
  await world.end();
  await elsewhere(world.dataDir, async ({ runtime: { runs, approvals, operations, principal } }) => {
    const [run] = (await runs.list(principal, { limit: 1 })).items;
    assert.equal(run?.state.status, 'stopped');
    assert.deepEqual((await approvals.pending(principal)).items, []);
    assert.equal((await operations.audit()).passed, true);
  });
});

check('a held call has a time limit: when it is over nothing runs, and asking again asks anew', async (t) => {
  const policy = { ...OPEN_POLICY, rules: [], hold_seconds: 1 };
  const world = await guardWorld(t, { policy, waitMs: 20_000 });
  const told = await world.call('write', { a: 1 }, 1);
  assert.match(outcomeOf(told)?.code ?? '', /^APPROVAL_EXPIRED$/);
  assert.match(resultOf(told).content[0]?.text ?? '', /^NOT STARTED/);
  world.send({ id: 2, method: 'tools/call', params: { name: 'write', arguments: { a: 1 } } });
  while (world.errors().split('held:').length < 3) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual(world.effects(), []);
});

check('what waits when its guard ends is taken back: nobody decides about it for nothing', async (t) => {
  const world = await guardWorld(t, { policy: { ...OPEN_POLICY, rules: [] } });
  await world.call('write', { a: 1 }, 1);
  await world.call('write', { a: 2 }, 2);
  const decide = (which: number) =>
    elsewhere(world.dataDir, async ({ runtime: { approvals, principal } }) => {
      const { requestId } = (await approvals.list(principal)).items[which] ?? assert.fail();
      const { digest } = await approvals.show(principal, requestId);
      await approvals.decide(principal, [{ requestId, digest, decision: 'approve' }]);
    });
  await decide(0);
  assert.equal(await world.end(), 0);
  await elsewhere(world.dataDir, async ({ runtime: { approvals, runs, principal } }) => {
    const [run] = (await runs.list(principal, { limit: 1 })).items;
    assert.equal(run?.state.status, 'completed');
    assert.deepEqual((await approvals.pending(principal)).items, []);
  });
  await assert.rejects(decide(1), { code: 'APPROVAL_ALREADY_DECIDED' });
  const next = await guardWorld(t, { policy: { ...OPEN_POLICY, rules: [] }, dataDir: world.folder });
  assert.equal(outcomeOf(await next.call('write', { a: 1 }, 1))?.code, 'APPROVAL_PENDING', 'it is asked anew');
  assert.deepEqual(next.effects(), []);
});

check('what waits when a guard ends that was taken for dead is taken back too', async (t) => {
  const world = await guardWorld(t, { policy: { ...OPEN_POLICY, rules: [] } });
  await world.call('write', { a: 1 }, 1);
  const pending = async (holdfast: Holdfast) =>
    (await holdfast.runtime.approvals.pending(holdfast.runtime.principal)).items.length;
  const take = ({ runtime: { store } }: Holdfast) =>
    store.write('test.take', (tx) => tx.run('UPDATE traces SET owner_instance_id = NULL'));
  await elsewhere(world.dataDir, take);
  assert.equal(await elsewhere(world.dataDir, pending), 1);
  await assert.rejects(world.end(), (error: HoldfastError) => {
    assert.deepEqual(
      [error.code, error.resolve],
      ['RUN_NOT_OWNED', `See how the run stands now: holdfast runs show ${String(error.details?.['run_id'])}`],
    );
    return /^[0-9a-f]{32}$/.test(String(error.details?.['run_id']));
  });
  assert.equal(await elsewhere(world.dataDir, pending), 0);
});

check('a rejected call never runs', async (t) => {
  const world = await guardWorld(t, { policy: { ...OPEN_POLICY, rules: [] }, waitMs: 5000 });
  world.send({ id: 1, method: 'tools/call', params: { name: 'write', arguments: { a: 1 } } });
  while (!world.errors().includes('held')) await new Promise((resolve) => setTimeout(resolve, 20));
  await elsewhere(world.dataDir, async ({ runtime }) => {
    const { items } = await runtime.approvals.pending(runtime.principal);
    for (const { requestId, digest } of items)
      await runtime.approvals.decide(runtime.principal, [{ requestId, digest, decision: 'reject', message: 'no' }]);
  });
  const told = await world.next();
  assert.equal(outcomeOf(told)?.code, 'APPROVAL_DENIED');
  assert.deepEqual(world.effects(), []);
});

check('a host that can ask its user is asked, and its answer reaches no server', async (t) => {
  const world = await guardWorld(t, { policy: { ...OPEN_POLICY, rules: [] }, waitMs: 5000 });
  world.send({ id: 0, method: 'initialize', params: { capabilities: { elicitation: {} } } });
  await world.next();
  for (const [answer, code] of [
    [{ action: 'accept', content: { approve: true } }, undefined],
    [{ action: 'accept', content: { approve: false } }, 'APPROVAL_DENIED'],
    [{ action: 'decline' }, 'APPROVAL_DENIED'],
  ] as const) {
    const question = await world.call('write', { answer: answer.action, code: code ?? null });
    assert.equal(question['method'], 'elicitation/create');
    world.send({ id: question.id, result: answer });
    const told = await world.next();
    assert.equal(outcomeOf(told)?.code, code);
  }
  assert.equal(world.effects().length, 1);
});

check('a question that nobody waits for any more is withdrawn, and one that was answered is not', async (t) => {
  const world = await guardWorld(t, { policy: { ...OPEN_POLICY, rules: [] }, waitMs: 300 });
  world.send({ id: 0, method: 'initialize', params: { capabilities: { elicitation: {} } } });
  await world.next();
  const late = await world.call('write', { a: 1 }, 1);
  const withdrawn = await world.next();
  assert.equal(withdrawn['method'], 'notifications/cancelled');
  assert.equal((withdrawn['params'] as { requestId: unknown }).requestId, late.id);
  assert.equal(outcomeOf(await world.next())?.code, 'APPROVAL_PENDING');
  world.send({ id: late.id, result: { action: 'accept', content: { approve: true } } });
  const question = await world.call('write', { a: 2 }, 2);
  world.send({ id: question.id, result: { action: 'accept', content: { approve: true } } });
  assert.match(JSON.stringify(await world.next()), /written/);
  world.send({ id: 3, method: 'ping' });
  assert.equal((await world.next())['method'], 'world/echo');
  assert.deepEqual(world.effects(), [{ a: 2 }], 'a late answer decides nothing');
});

check('a host that answers otherwise than it was asked has approved nothing', async (t) => {
  const world = await guardWorld(t, { policy: { ...OPEN_POLICY, rules: [] }, waitMs: 300 });
  world.send({ id: 0, method: 'initialize', params: { capabilities: { elicitation: {} } } });
  await world.next();
  const odd: readonly (readonly [object, string])[] = [
    [{ error: { code: -32601, message: 'no such method' } }, 'APPROVAL_PENDING'],
    [{ result: { action: 'cancel' } }, 'APPROVAL_PENDING'],
    [{ result: {} }, 'APPROVAL_PENDING'],
    [{ result: { action: 'accept' } }, 'APPROVAL_DENIED'],
    [{ result: { action: 'accept', content: { approve: 'true' } } }, 'APPROVAL_DENIED'],
    [{ result: { action: 'accept', content: { approved: true } } }, 'APPROVAL_DENIED'],
  ];
  for (const [at, [said, code]] of odd.entries()) {
    const question = await world.call('write', { at }, at + 1);
    world.send({ id: question.id, ...said });
    assert.equal(outcomeOf(await world.next())?.code, code, JSON.stringify(said));
  }
  assert.deepEqual(world.effects(), []);
});

check('rounds of one exchange are one operation', async (t) => {
  const world = await guardWorld(t);
  const first = await world.call('asks', { a: 1 }, 1);
  assert.equal((first['result'] as { resultType: string }).resultType, 'input_required');
  const forged = world.call('asks', { a: 2 }, 8, { requestState: 'round-1', inputResponses: {} });
  assert.match(JSON.stringify(await forged), /done after a question/, 'other arguments are another call');
  const second = await world.call('asks', { a: 1 }, 2, { requestState: 'round-1', inputResponses: {} });
  assert.equal(second.id, 2);
  assert.match(JSON.stringify(second), /done after a question/);
  assert.deepEqual(world.effects(), [{ a: 2 }, { a: 1 }]);
  assert.equal((await operations(world.dataDir)).length, 2);
});

check('work that goes on in the background is passed on, and never taken for done', async (t) => {
  const world = await guardWorld(t);
  const told = await world.call('works_on', { a: 1 });
  assert.deepEqual(told['result'], { task: { taskId: 't1', status: 'working' } });
  assert.equal(outcomeOf(await world.call('works_on', { a: 1 }, 2))?.code, 'UNRESOLVED_TWIN');
});

check(
  'a shadow policy lets everything pass, and what it would have done is said, written down and shown',
  async (t) => {
    const policy = { ...OPEN_POLICY, mode: 'shadow', rules: OPEN_POLICY.rules.filter(({ id }) => id !== 'writes') };
    const world = await guardWorld(t, { policy });
    assert.match(JSON.stringify(await world.call('write', { a: 1 })), /written/);
    assert.match(JSON.stringify(await world.call('forbidden', {}, 9)), /as asked/);
    await world.call('read', {}, 10);
    assert.deepEqual(world.errors().match(/holdfast: shadow: .*/g), [
      'holdfast: shadow: write would have been held: no rule applies, so it is held',
      'holdfast: shadow: forbidden would have been refused: nobody may',
    ]);
    await world.end();
    await elsewhere(world.dataDir, async ({ runtime }) => {
      const [run] = (await runtime.runs.list(runtime.principal, { limit: 1 })).items;
      const view = await viewOfRun(runtime, runtime.principal, run?.runId ?? '');
      assert.deepEqual(
        view.calls.map(({ tool, shadow }) => [tool, shadow]),
        [
          ['world__write', { would: 'ask', reason: 'no rule applies, so it is held' }],
          ['world__forbidden', { would: 'ask', reason: 'It would have been refused: nobody may' }],
          ['world__read', null],
        ],
      );
      const shown = runLines(view, PLAIN).join('\n');
      assert.match(shown, /passed in shadow mode: It would have been refused: nobody may/);
    });
  },
);

check('an edit by the approver is what is passed on', async (t) => {
  const policy = { ...OPEN_POLICY, tools: { write: { effect: 'once', editable: ['a'] } }, rules: [] };
  const world = await guardWorld(t, { policy });
  await world.call('write', { a: 1, b: 1.5 }, 1);
  await elsewhere(world.dataDir, async ({ runtime }) => {
    const { items } = await runtime.approvals.pending(runtime.principal);
    const [one] = items;
    assert.ok(one);
    const { requestId, digest } = one;
    const said = { requestId, digest, decision: 'approve', editedArguments: { a: 2, b: 1.5 } } as const;
    await runtime.approvals.decide(runtime.principal, [said]);
  });
  await world.call('write', { a: 1, b: 1.5 }, 2);
  assert.deepEqual(world.effects(), [{ a: 2, b: 1.5 }]);
});

check('what the guard left unknown is settled by a person in another process', async (t) => {
  const world = await guardWorld(t);
  const ref = outcomeOf(await world.call('dies', { a: 1 }))?.status_ref ?? '';
  await world.ended;
  const said = { verdict: 'done', reason: 'seen in the world' } as const;
  const settle = ({ runtime }: Holdfast) => settleByPerson(runtime.calls, runtime.principal, ref, said);
  const listed = async ({ runtime }: Holdfast) => {
    const { items } = await runtime.runs.list(runtime.principal, { limit: 1 });
    return (await standingsOf(runtime, runtime.principal, items)).map(({ outcome }) => [
      items[0]?.state.status,
      outcome,
    ]);
  };
  assert.deepEqual(await elsewhere(world.dataDir, listed), [['completed', 'unknown']]);
  await assert.rejects(elsewhere(world.dataDir, settle), { code: 'OPERATION_LEASE_RUNNING' });
  assert.equal((await elsewhere(world.dataDir, settle, 3_600_000)).state, 'done');
  assert.deepEqual(await elsewhere(world.dataDir, listed), [['completed', null]]);
});

check('a server that floods its standard error, writes garbage and changes its list: all of it passes', async (t) => {
  const world = await guardWorld(t);
  const lines = [JSON.stringify(await world.call('read', {}, 0))];
  world.send({ id: 1, method: 'tools/call', params: { name: 'floods', arguments: { a: 1 } } });
  for (let line = 0; line < 4; line += 1) lines.push(await world.line());
  assert.deepEqual(lines.slice(1, 3), ['no JSON at all\n', '{"id":1,\n']);
  assert.match(lines[3] ?? '', /list_changed/);
  assert.match(lines[4] ?? '', /after the flood/);
  await world.end();
  assert.ok(world.errors().length > 1_000_000, 'what the server said there passes too');
});

check('what a server answers to a call that was not passed on yet reaches nobody', async (t) => {
  const world = await guardWorld(t, { policy: { ...OPEN_POLICY, rules: [] }, waitMs: 600 });
  world.send({ id: 77, method: 'tools/call', params: { name: 'write', arguments: { a: 1 } } });
  while (!world.errors().includes('held')) await new Promise((resolve) => setTimeout(resolve, 20));
  world.send({ method: 'world/forge', params: { arguments: { id: 77 } } });
  world.send({ method: 'world/forge', params: { arguments: { id: 78 } } });
  const told = new Map([await world.next(), await world.next()].map((one) => [one.id, one]));
  assert.ok(told.has(78), 'what answers no call is the host’s to judge');
  assert.equal(outcomeOf(told.get(77) ?? {})?.code, 'APPROVAL_PENDING');
  world.send({ method: 'world/forge', params: { arguments: { id: 77 } } });
  world.send({ id: 9, method: 'ping' });
  assert.equal((await world.next())['method'], 'world/echo', 'nor afterwards');
});

check('the guard’s own questions have ids that no server can guess', async (t) => {
  const world = await guardWorld(t, { policy: { ...OPEN_POLICY, rules: [] }, waitMs: 300 });
  world.send({ id: 0, method: 'initialize', params: { capabilities: { elicitation: {} } } });
  await world.next();
  const question = await world.call('write', { a: 1 });
  assert.match(String(question.id), /^holdfast-[0-9a-f]{32}$/);
  // A server may have asked under an id that looks like one: the answer is the server's, and decides nothing.
  world.send({ id: 'holdfast-1', result: { action: 'accept', content: { approve: true } } });
  const told: Message[] = [];
  do told.push(await world.next());
  while (told.at(-1)?.id !== 1);
  assert.ok(told.some((one) => one['method'] === 'world/echo'));
  assert.equal(outcomeOf(told.find((one) => one.id === 1) ?? {})?.code, 'APPROVAL_PENDING');
  assert.deepEqual(world.effects(), []);
});

check('a rule that a person made holds what the policy allows, and refuses it', async (t) => {
  const world = await guardWorld(t);
  const rule = (decision: 'ask' | 'deny', tool: string) =>
    elsewhere(world.dataDir, ({ runtime }) =>
      runtime.store.write('test.rule', (tx) =>
        putRule(tx, runtime.calls.sessions, runtime.principal, { scope: 'global', tool, pattern: '**', decision }),
      ),
    );
  for (const tool of ['write', 'read']) {
    await rule('ask', `world__${tool}`);
    assert.equal(outcomeOf(await world.call(tool, { n: 1 }))?.code, 'APPROVAL_PENDING', tool);
    await rule('deny', `world__${tool}`);
    assert.equal(outcomeOf(await world.call(tool, { n: 2 }))?.code, 'POLICY_DENIED', tool);
  }
  assert.deepEqual(world.effects(), []);
});
