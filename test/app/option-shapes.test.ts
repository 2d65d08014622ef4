import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { openConfigured, runGuard, runHttpGuard } from '../../src/app/index.ts';
import { openGateway } from '../../src/gateway/index.ts';
import { Holdfast, HoldfastError, tool, ValidationError } from '../../src/index.ts';
import { connectMcp, type McpConnection, mcpTools } from '../../src/mcp/index.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';

/** One value of each kind that JavaScript has, as somebody might give it by mistake. */
const VALUES = {
  null: null,
  number: 7,
  text: 'some text',
  flag: true,
  list: [],
  object: {},
  function: () => null,
  symbol: Symbol('a'),
};
type Kind = keyof typeof VALUES;
const KINDS = Object.keys(VALUES) as Kind[];

/** Options with the kinds of values that are right for them, by their names; or exact values that are wrong. */
type Table = Readonly<Record<string, { readonly right: readonly Kind[]; readonly wrong?: readonly unknown[] }>>;
type Entry = (option: string, value: unknown) => unknown;

const NOWHERE = '/somewhere/that/is/only/the-hosts';

/** Gives the option each wrong value: refused by a code, by its name, with nothing of the host. */
async function refuseAll(table: Table, entry: Entry, named: (option: string) => string = (option) => option) {
  for (const [option, { right, wrong = [] }] of Object.entries(table)) {
    const values = [...KINDS.filter((kind) => !right.includes(kind)).map((kind) => VALUES[kind] as unknown), ...wrong];
    for (const value of values) {
      const what = `${option} as ${typeof value} ${value === null ? 'null' : ''}`;
      const error = await (async () => entry(option, value))().then(
        () => assert.fail(`${what} was taken`),
        (thrown: unknown) => thrown,
      );
      assert.ok(error instanceof HoldfastError, `${what}: ${String(error)}`);
      assert.ok(error instanceof ValidationError, `${what}: ${error.code}`);
      assert.ok(error.message.includes(`\`${named(option)}`) || error.message.includes(named(option)), error.message);
      assert.doesNotMatch(JSON.stringify(error), /\/(root|work|home|tmp|somewhere)\/|node:|\n\s+at |some text/, what);
    }
  }
}

/** `{ a: { b: value } }` for `a.b`, beside what else the object must have. */
function given(option: string, value: unknown, beside: Readonly<Record<string, object>> = {}): Record<string, unknown> {
  const [first = '', second] = option.split('.');
  return second === undefined ? { [first]: value } : { [first]: { ...beside[first], [second]: value } };
}

const PRINCIPAL = { tenant: 't', subject: 's', roles: [] };
const MODEL = () => 'Done.';

check('Holdfast.open refuses an option of a wrong shape by its name, before anything is made', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  const beside = {
    principal: PRINCIPAL,
    policies: { policies: [], mode: 'enforce' },
    approver: { roles: [], subjects: [], requesterMayDecide: false },
    notices: {},
  };
  const table: Table = {
    dataDir: { right: ['text'], wrong: ['', '  ', `${NOWHERE}\0`] },
    create: { right: ['flag'] },
    principal: { right: [], wrong: [{ tenant: 'a' }] },
    'principal.tenant': { right: ['text'], wrong: ['', 'x'.repeat(256)] },
    'principal.subject': { right: ['text'] },
    'principal.roles': { right: ['list'], wrong: [[7], [null]] },
    projectId: { right: ['text'] },
    policies: { right: [], wrong: [{ policies: [] }, [{ name: 'a' }]] },
    'policies.policies': { right: ['list'], wrong: [[null], [{}], [{ name: 'a', revision: '1' }]] },
    'policies.mode': { right: [], wrong: ['Enforce'] },
    approver: { right: [] },
    'approver.roles': { right: ['list'] },
    'approver.subjects': { right: ['list'] },
    'approver.requesterMayDecide': { right: ['flag'] },
    approvalExpiresMs: { right: ['null', 'number'], wrong: [0, -1, Number.NaN, 1e300] },
    notices: { right: ['object'] },
    'notices.webhook': { right: [], wrong: [{ url: 'https://a.example' }] },
    'notices.command': { right: ['list'], wrong: [[7], [], ['a\0']] },
    'notices.attempts': { right: ['number'] },
    sideBranches: { right: ['list'], wrong: [[null], [{}], [{ type: 'a', onClosed: 7 }]] },
    tools: { right: ['list'], wrong: [[null], [7], new Set()] },
    retiredTools: { right: ['list'], wrong: [[null]] },
    workspaceOf: { right: ['function'] },
    secretsIn: { right: ['object'] },
    telemetry: { right: [] },
    clock: { right: [], wrong: [Date, { nowMs: 7 }] },
    ids: { right: [] },
    observer: { right: ['function'] },
    faults: { right: [] },
    instanceLeaseMs: { right: ['number'], wrong: [0, 1.5] },
    closeWaitMs: { right: ['number'], wrong: [-1, 1.5, 600_001] },
  };
  await refuseAll(table, (option, value) => Holdfast.open({ dataDir, ...given(option, value, beside) } as never));
  for (const value of [null, 7, 'x', []]) await assert.rejects(Holdfast.open(value as never), ValidationError);
  assert.ok(!existsSync(dataDir) || !existsSync(join(dataDir, 'holdfast.db-wal')), 'nothing is left open');
});

check('an agent, a run and a resumption refuse an option of a wrong shape by its name', async (t) => {
  const holdfast = await Holdfast.open({ dataDir: join(await temporaryFolder(t), 'data') });
  t.after(() => holdfast.close());
  const whole = { right: ['number'], wrong: [-1, 1.5, Number.NaN] } as const;
  const table: Table = {
    name: { right: ['text'], wrong: [''] },
    model: { right: ['function'] },
    tools: { right: ['list'], wrong: [[null], [{}]] },
    instructions: { right: ['text'] },
    settings: { right: ['object'] },
    'settings.temperature': { right: ['number'], wrong: [Number.NaN] },
    'settings.providerOptions': { right: ['object'] },
    maxTurns: whole,
    askForEach: { right: ['flag'] },
    budgets: { right: ['object'] },
    'budgets.maxTokens': { right: ['null', 'number'], wrong: [0] },
    costOf: { right: ['function'] },
    retries: { right: ['object'] },
    'retries.most': whole,
    children: { right: ['list'], wrong: [[null], [{ name: 'a' }]] },
    childMode: { right: [] },
    maxParallelChildren: whole,
    sideBranchMaxTurns: whole,
    compactAboveTokens: { right: ['null', 'number'], wrong: [0] },
    purpose: { right: ['text'] },
    checkpoints: { right: [] },
    autonomy: { right: [] },
    'autonomy.reviewer': { right: ['object'] },
    'autonomy.budgets': { right: ['object'] },
    listener: { right: ['object'] },
    'listener.onText': { right: ['function'] },
  };
  const beside = { autonomy: { reviewer: { model: MODEL } } };
  const named = (option: string): string => (option.startsWith('autonomy.budgets') ? 'budgets' : option);
  const define: Entry = (option, value) => holdfast.agent({ model: MODEL, ...given(option, value, beside) } as never);
  await refuseAll(table, define, named);
  for (const value of [undefined, null, 7, []]) assert.throws(() => holdfast.agent(value as never), ValidationError);

  const agent = holdfast.agent({ name: 'right', model: MODEL });
  const runs: Table = {
    rootFrameId: { right: ['text'] },
    branchId: { right: ['text'] },
    principal: { right: [] },
    'principal.roles': { right: ['list'] },
    listener: { right: ['object'] },
  };
  const principals = { principal: PRINCIPAL };
  await refuseAll(runs, (option, value) => agent.run('Do it.', given(option, value, principals) as never));
  await refuseAll({ task: { right: ['text'] } }, (_, value) => agent.run(value as never));
  await refuseAll({ principal: { right: [] } }, (option, value) => agent.resume('a', given(option, value) as never));
  const run = await agent.run('Do it.');
  const listeners: Table = { listener: { right: ['object'] } };
  await refuseAll(listeners, (_, value) => run.resume(value as never));
  await refuseAll(listeners, (_, value) => run.wait(value as never));
  await refuseAll({ adopt: { right: ['flag'] } }, (option, value) => run.resume({}, given(option, value) as never));
  for (const value of [null, 7]) await assert.rejects(run.resume({}, value as never), ValidationError);
  for (const value of [undefined, null, 7]) await assert.rejects(run.openSideBranch(value as never), ValidationError);
  const carrying: Table = { listener: { right: ['object'] }, onError: { right: ['function'] } };
  await refuseAll(carrying, (option, value) => holdfast.carryOnDecided(given(option, value) as never));
  await refuseAll({ runId: { right: ['text'] } }, (_, value) => agent.resume(value as never));
});

check('a tool refuses a field of a wrong shape by its name', async () => {
  const right = { name: 'a', description: 'b', inputSchema: { type: 'object' }, effect: 'read', execute: () => 1 };
  const handler = { right: ['function'] } as const;
  const list = { right: ['list'], wrong: [[7]] } as const;
  const table: Table = {
    name: { right: [], wrong: [''] },
    description: { right: ['text'] },
    inputSchema: { right: ['object'] },
    jsonSchema: { right: ['object'] },
    outputSchema: { right: ['object'] },
    effect: { right: [] },
    needsApproval: { right: ['flag', 'function'] },
    editable: list,
    execute: handler,
    status: handler,
    authorize: handler,
    precondition: handler,
    timeoutMs: { right: ['number'] },
    settlesWithinMs: { right: ['number'] },
    receipt: handler,
    resources: handler,
    postconditions: handler,
    observe: handler,
    secretFields: list,
    checkOutput: handler,
    outputLimits: { right: ['object'], wrong: [{ maxBites: 1 }, { maxBytes: null }] },
    onError: { right: [] },
    retry: { right: [], wrong: [{ most: '1' }] },
    parallel: { right: ['flag'] },
    groups: list,
    urlPatterns: { right: [], wrong: [[7]] },
    producer: { right: ['text'] },
    revisions: { right: ['object'], wrong: [{ effect: 7 }] },
  };
  const { name: _, ...rest } = right;
  await refuseAll(table, (option, value) =>
    tool(
      (option === 'name'
        ? { ...rest, name: value === 'some text' ? ' ' : value }
        : { ...right, [option]: value }) as never,
    ),
  );
  for (const value of [undefined, null, 7, []]) assert.throws(() => tool(value as never), ValidationError);
});

check('a gateway refuses an option of a wrong shape by its name', async (t) => {
  const holdfast = await Holdfast.open({ dataDir: join(await temporaryFolder(t), 'data') });
  t.after(() => holdfast.close());
  const ms = { right: ['number'], wrong: [0, Number.NaN, 2 ** 31] } as const;
  const table: Table = {
    holdfast: { right: [] },
    host: { right: ['text'], wrong: [''] },
    port: { right: ['number'], wrong: [-1, 65_536] },
    log: { right: [] },
    rate: { right: [] },
    'rate.perSecond': { right: ['number'], wrong: [0, -1, Number.NaN] },
    'rate.burst': { right: ['number'], wrong: [0] },
    heartbeatMs: ms,
    headMs: { ...ms, wrong: [...ms.wrong, 30_001] },
    requestMs: { ...ms, wrong: [...ms.wrong, 9_999] },
    packageIdleMs: ms,
    packageMs: ms,
    version: { right: ['text'] },
  };
  const beside = { rate: { perSecond: 1, burst: 1 } };
  await refuseAll(table, (option, value) => openGateway({ holdfast, ...given(option, value, beside) } as never));
  for (const value of [undefined, null, 7, []]) await assert.rejects(openGateway(value as never), ValidationError);
});

check('a guard refuses a setting of a wrong shape by its name', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  const basics: Table = {
    dataDir: { right: ['text'], wrong: [''] },
    policy: { right: ['text'] },
    waitMs: { right: ['number'], wrong: [-1, Number.NaN, 3_600_001] },
    onOpen: { right: ['function'] },
    clock: { right: [] },
    observer: { right: ['function'] },
    faults: { right: [] },
  };
  const stdio: Table = {
    ...basics,
    server: { right: [] },
    'server.command': { right: ['text'] },
    'server.args': { right: ['list'], wrong: [[7]] },
    'server.env': { right: ['object'] },
    host: { right: [] },
    'host.input': { right: [] },
  };
  const server = { command: 'nothing', args: [] };
  const host = { input: new PassThrough(), output: new PassThrough(), errors: new PassThrough() };
  const right = { dataDir, policy: '{}' };
  const stdioGuard: Entry = (option, value) =>
    runGuard({ ...right, server, host, ...given(option, value, { server, host }) } as never);
  await refuseAll(stdio, stdioGuard);
  const http: Table = {
    ...basics,
    url: { right: ['text'] },
    port: { right: ['number'], wrong: [-1] },
    tell: { right: ['function'] },
  };
  const address = { url: 'http://127.0.0.1:1', port: 0, tell: () => undefined };
  await refuseAll(http, (option, value) => runHttpGuard({ ...right, ...address, ...given(option, value) } as never));
  for (const value of [undefined, null, 7]) await assert.rejects(runGuard(value as never), ValidationError);
  assert.ok(!existsSync(dataDir), 'nothing was made');
});

check('a connection to an MCP server, and its policies, refuse an option of a wrong shape by its name', async () => {
  const server = { command: 'nothing' };
  const stdio: Table = {
    name: { right: ['text'], wrong: [undefined] },
    server: { right: [] },
    'server.args': { right: ['list'], wrong: [[7]] },
    'server.env': { right: ['object'] },
    'server.cwd': { right: ['text'] },
    protocol: { right: [] },
    connectTimeoutMs: { right: ['number'], wrong: [0] },
  };
  const last = (option: string): string => (option === 'server.args' ? 'args' : (option.split('.').at(-1) ?? ''));
  const connect: Entry = (option, value) =>
    connectMcp({ name: 'a', server, ...given(option, value, { server }) } as never);
  await refuseAll(stdio, connect, last);
  const http = { server: { url: 'http://127.0.0.1:1' } };
  const reach: Entry = (option, value) => connectMcp({ name: 'a', ...http, ...given(option, value, http) } as never);
  await refuseAll({ 'server.headers': { right: ['object'], wrong: [{ a: 7 }] } }, reach, last);
  for (const value of [undefined, null, 7, []]) await assert.rejects(connectMcp(value as never), ValidationError);

  const tools = [{ name: 'look', inputSchema: { type: 'object' } }];
  const connection = {
    name: 'a',
    serverInfo: { name: 's', version: '1' },
    toolList: async () => ({ tools, unusable: [] }),
  };
  const offer: Entry = (_, value) => mcpTools(connection as unknown as McpConnection, value as never);
  await refuseAll({ policies: { right: ['object', 'function', 'list'] } }, offer);
  const forLook: Entry = (_, value) => mcpTools(connection as unknown as McpConnection, { look: value } as never);
  await refuseAll({ look: { right: ['object', 'function'] } }, forLook);
});

check('a configuration refuses an option of a wrong shape by its name, before anything is started', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  const table: Table = {
    agents: { right: ['list'], wrong: [[null], [{ model: MODEL, tools: 7 }], [{ model: MODEL, mcpServers: 7 }]] },
    tools: { right: ['list'] },
    policies: { right: [] },
    mcpServers: { right: ['object'], wrong: [{ a: null }, { a: { server: 7 } }, { a: { server: {}, policies: 7 } }] },
  };
  await refuseAll(table, (option, value) => openConfigured({ agents: [], ...given(option, value) } as never, dataDir));
  assert.ok(!existsSync(dataDir), 'nothing was made');
});
