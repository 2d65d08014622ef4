import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TestContext } from 'node:test';
import { bytesSource } from '../../src/archive/index.ts';
import {
  type AgentHandle,
  makeReport,
  type Runtime,
  operationDocument,
  reportDocument,
  reportHtml,
  requestView,
  viewOfRun,
} from '../../src/app/index.ts';
import { batchDocument, callArgumentHash } from '../../src/approvals/index.ts';
import { canonicalJson, type JsonObject, REDACTED, sha256Hex } from '../../src/core/index.ts';
import { Principal as OperationPrincipal } from '../../src/operations/index.ts';
import { functionModel, Holdfast, type Model, type ModelFunction, type Tool, tool } from '../../src/index.ts';
import { listEvents, listGroups } from '../../src/sessions/index.ts';
import { readAll } from '../archive/support/read-all.ts';
import { openWorld } from '../gateway/world.ts';
import { assert, check, holdfast as command, temporaryFolder } from '../support/index.ts';

/** A value that looks like no secret: only the tool's word says that it is one. */
const CODE = '4711-blue';
const SECRETS = ['door_code', 'wall_safe'];

interface Opening {
  readonly to: string;
  readonly 'Door-Code': string;
  readonly rooms?: readonly { readonly name: string; readonly wall_safe: string }[];
}

interface House {
  readonly dataDir: string;
  /** What the tool was given, in order. */
  readonly given: Opening[];
  readonly open: (
    tools: boolean,
  ) => Promise<{ readonly runtime: Runtime; readonly agent: AgentHandle; readonly close: () => Promise<void> }>;
}

function doorTool(given: Opening[], needsApproval: boolean): Tool {
  return tool({
    name: needsApproval ? 'open_gate' : 'open_door',
    description: 'Opens.',
    inputSchema: {
      type: 'object',
      properties: { to: { type: 'string' }, 'Door-Code': { type: 'string' }, rooms: { type: 'array' } },
      required: ['to', 'Door-Code'],
      additionalProperties: false,
    },
    effect: 'once',
    needsApproval,
    editable: ['to', 'Door-Code', 'rooms'],
    secretFields: SECRETS,
    execute: (input) => {
      given.push(input as unknown as Opening);
      return { opened: true };
    },
  });
}

const opening = (to: string): JsonObject => ({
  to,
  'Door-Code': CODE,
  rooms: [{ name: `room of ${to}`, wall_safe: CODE }],
});

/** Calls what the request names, with a secret, and is then done. */
const caller: ModelFunction = ({ messages }) => {
  const last = messages.at(-1);
  if (last?.role !== 'user') return `told: ${last?.text ?? ''}`;
  const calls = last.text.split(',').map((name, at) => ({
    callId: `${name}-${at}`,
    toolName: name === 'refused' ? 'open_door' : name,
    arguments: name === 'refused' ? { ...opening('Eve'), other: 1 } : opening('Ada'),
  }));
  return { calls };
};

async function house(t: TestContext): Promise<House> {
  const dataDir = join(await temporaryFolder(t), '.holdfast');
  const given: Opening[] = [];
  const open: House['open'] = async (tools) => {
    const holdfast = await Holdfast.open({ dataDir });
    t.after(() => holdfast.close());
    const both = tools ? [doorTool(given, false), doorTool(given, true)] : [];
    const agent = holdfast.agent({ model: caller, tools: both });
    return { runtime: holdfast.runtime, agent, close: () => holdfast.close() };
  };
  return { dataDir, given, open };
}

/** A house in which one call was carried out, one was refused, and one waits; the process that knows the tools is gone. */
async function lived(t: TestContext) {
  const world = await house(t);
  const { agent, close } = await world.open(true);
  const done = await agent.run('open_door,refused');
  const waiting = await agent.run('open_gate');
  assert.deepEqual([done.status, waiting.status, world.given.length], ['completed', 'waiting_confirmation', 1]);
  await close();
  const [requestId = ''] = waiting.view.pending.map((one) => one.requestId);
  const statusRef = done.view.calls[0]?.statusRef ?? '';
  return { ...world, done, waiting, requestId, statusRef };
}

function textOf(document: JsonObject, name: string): string {
  const text = document[name];
  assert.ok(typeof text === 'string', name);
  return text;
}

/** Shown is shown: the fields that stand beside the secret ones are there, and the marker, and no secret. */
function assertStruckOut(what: string, shown: unknown, beside: RegExp = /Ada/): void {
  const text = typeof shown === 'string' ? shown : JSON.stringify(shown);
  assert.doesNotMatch(text, new RegExp(CODE), what);
  assert.ok(text.includes(REDACTED), `${what}: ${text}`);
  assert.match(text, beside, what);
}

check('a process without the tool strikes out its secret fields in every view of the library', async (t) => {
  const { open, done, statusRef } = await lived(t);
  const { runtime } = await open(false);
  const { principal, operations } = runtime;
  assertStruckOut('a run', await viewOfRun(runtime, principal, done.id), /Ada[\s\S]*Eve/);
  assertStruckOut('a page of a run', await viewOfRun(runtime, principal, done.id, { limit: 5 }));
  const report = await makeReport(runtime, principal, { since: 0, now: runtime.calls.clock.nowMs() });
  assert.deepEqual([report.calls.length, report.waiting.length], [3, 1]);
  assertStruckOut('the calls of a report', report.calls);
  assertStruckOut('what waits in a report', report.waiting);
  assertStruckOut('a report', reportDocument(report));
  assertStruckOut('a page of a report', reportHtml(report));
  const asker = new OperationPrincipal(principal.tenant, principal.subject);
  const operation = await operations.show(asker, statusRef, 0);
  assertStruckOut('an operation', operation);
  assertStruckOut('an operation as a document', operationDocument(operation));
  assertStruckOut('a list of operations', await operations.list(asker, { now: 0 }));
});

check('whoever decides sees the one text that is digested and carried out, secret fields and all', async (t) => {
  const { open, requestId, waiting, given } = await lived(t);
  const stranger = await open(false);
  const { approvals, principal } = stranger.runtime;
  const shown = await approvals.show(principal, requestId);
  const whole = canonicalJson(opening('Ada'));
  assert.deepEqual([shown.document['canonical_arguments'], shown.argumentsText], [whole, whole]);
  assert.equal(shown.document['canonical_arguments_sha256'], sha256Hex(whole));
  assert.equal(requestView(shown)['canonical_arguments'], whole);
  const batch = await approvals.batch(principal, textOf(shown.document, 'action_group_id'));
  assert.ok(batch);
  const told = (batchDocument(batch)['calls'] as JsonObject[])[0];
  assert.equal(told?.['argument_hash'], callArgumentHash('open_gate-0', 'open_gate', sha256Hex(whole)));
  const known = await open(true);
  const same = await known.runtime.approvals.show(principal, requestId);
  assert.deepEqual([same.digest, same.argumentsText], [shown.digest, shown.argumentsText]);
  const there = await known.runtime.approvals.batch(principal, textOf(shown.document, 'action_group_id'));
  assert.ok(there);
  assert.equal((batchDocument(there)['calls'] as JsonObject[])[0]?.['argument_hash'], told?.['argument_hash']);
  await approvals.decide(principal, [{ requestId, decision: 'approve', digest: shown.digest }]);
  const resumed = await known.agent.resume(waiting.id);
  assert.equal(resumed.status, 'completed');
  assert.deepEqual(given.at(-1), opening('Ada'));
});

check('a model is told of an approver’s edit without the secret fields of its call', async (t) => {
  const { open, requestId, waiting, given } = await lived(t);
  const known = await open(true);
  const { approvals, principal } = known.runtime;
  const { digest } = await approvals.show(principal, requestId);
  const editedArguments = { ...opening('Ada'), to: 'Bob' };
  await approvals.decide(principal, [{ requestId, decision: 'approve', digest, editedArguments }]);
  const resumed = await known.agent.resume(waiting.id);
  assert.deepEqual(given.at(-1), editedArguments);
  assertStruckOut('what the model is told of the edit', resumed.text, /changed the arguments to .*Bob/);
});

check(
  'names of the call and names of the tool as it is now are struck out together, and old calls go on',
  async (t) => {
    const { open, dataDir, done, statusRef } = await lived(t);
    const database = new DatabaseSync(join(dataDir, 'holdfast.db'));
    database.exec('DROP TRIGGER trg_action_event_no_update');
    const stored = (secretFields: readonly string[] | null): void => {
      const path =
        secretFields === null
          ? "json_remove(result, '$.secret_fields')"
          : "json_set(result, '$.secret_fields', json(?))";
      const set = database.prepare(`UPDATE action_events SET result = ${path} WHERE type = 'proposed'`);
      if (secretFields === null) set.run();
      else set.run(JSON.stringify(secretFields));
    };
    stored(null);
    const stranger = await open(false);
    const { principal } = stranger.runtime;
    const old = async ({ runtime }: { readonly runtime: Runtime }) => [
      JSON.stringify(await viewOfRun(runtime, principal, done.id)),
      JSON.stringify(await runtime.operations.show(new OperationPrincipal('local', 'owner'), statusRef, 0)),
    ];
    for (const shown of await old(stranger))
      assert.match(shown, new RegExp(CODE), 'nobody has written down what is secret');
    const known = await open(true);
    for (const shown of await old(known)) assertStruckOut('an old call where its tool is known', shown);
    stored(['TO']);
    for (const shown of await old(known)) assertStruckOut('both', shown, /"to\\?":\\?"\[REDACTED\]/);
    database.close();
  },
);

check('a package has no secret field, and who imports it sees what was struck out', async (t) => {
  const { open, done } = await lived(t);
  const { runtime } = await open(false);
  const { principal, packages } = runtime;
  using exported = await packages.export(principal, done.view.sessionId);
  const files = await readAll(exported.data());
  for (const [name, bytes] of files) assert.ok(!bytes.includes(CODE), name);
  assertStruckOut('the ledger of a package', files.get('ledger.json')?.toString() ?? '', /Ada[\s\S]*Eve/);
  const other = await Holdfast.open({ dataDir: join(await temporaryFolder(t), 'data') });
  t.after(() => other.close());
  const importer = other.runtime;
  const { root_frame_id: root } = await importer.packages.import(importer.principal, bytesSource(exported.data()));
  const { events, groups } = await importer.store.read('test', async (tx) => ({
    events: (await listEvents(tx, importer.principal, root)).items,
    groups: (await listGroups(tx, importer.principal, root)).items,
  }));
  assert.ok(groups.length > 1);
  const proposed = events.find(({ type }) => type === 'proposed');
  assertStruckOut('an imported proposal', proposed?.canonicalArguments ?? null);
  assertStruckOut('all imported lines', events);
});

check('the gateway of another process strikes them out in every reply', async (t) => {
  const { dataDir, done, requestId, statusRef } = await lived(t);
  const world = await openWorld(t, { holdfast: { dataDir } });
  const client = await world.client(['approver']);
  assertStruckOut('a run', await client.showRun(done.id));
  assertStruckOut('operations', await client.listOperations());
  assertStruckOut('an operation', await client.showOperation(statusRef));
  assert.match(
    JSON.stringify(await client.showApproval(requestId)),
    new RegExp(CODE),
    'whoever decides sees all of it',
  );
});

check('the command strikes them out, as text and with --json', async (t) => {
  const { dataDir, done, requestId, statusRef } = await lived(t);
  const cwd = join(dataDir, '..');
  const run = async (...args: string[]) => (await command(args, { cwd })).stdout;
  for (const json of [[], ['--json']]) {
    assertStruckOut('runs show', await run('runs', 'show', done.id, ...json));
    assert.match(await run('approvals', 'show', requestId, ...json), new RegExp(CODE));
    assertStruckOut('operations show', await run('operations', 'show', statusRef, ...json));
    assertStruckOut('report', await run('report', ...json));
    const audit = await run('audit', ...json);
    assert.ok(!audit.includes(CODE));
  }
  assertStruckOut('operations list', await run('operations', 'list', '--json'));
});

check('neither who reviews a run nor who gives advice about a call is given a secret field', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  const holdfast = await Holdfast.open({ dataDir });
  t.after(() => holdfast.close());
  const asked: string[] = [];
  const judge = (answer: object): Model =>
    functionModel(({ messages }) => {
      asked.push(messages.at(-1)?.text ?? '');
      return JSON.stringify(answer);
    }, 'judge');
  const agent = holdfast.agent({
    model: functionModel(caller, 'author'),
    tools: [doorTool([], false), doorTool([], true)],
    autonomy: {
      reviewer: { model: judge({ verdict: 'pass', summary: 'It is open.', findings: [] }) },
      permissionReviewer: { model: judge({ outcome: 'allow', risk: 'low', summary: 'It may.' }) },
    },
  });
  const waiting = await agent.run('open_gate');
  assert.deepEqual([waiting.status, asked.length], ['waiting_confirmation', 1]);
  const done = await agent.run('open_door');
  assert.deepEqual([done.status, asked.length], ['completed', 2]);
  for (const [at, what] of ['advice', 'a review'].entries()) assertStruckOut(what, asked[at] ?? '');
});
