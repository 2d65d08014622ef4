import { viewOfRun } from '../../src/app/index.ts';
import { canonicalJson, REDACTED, sha256Hex } from '../../src/core/index.ts';
import { Holdfast } from '../../src/index.ts';
import { Principal as OperationPrincipal } from '../../src/operations/index.ts';
import { assert, check, holdfast } from '../support/index.ts';
import { guardWorld, type Message, OPEN_POLICY, outcomeOf } from './guard-world.ts';

/** A value that looks like no secret: only the policy's word says that it is one. */
const CODE = '4711-blue';
const ARGUMENTS = { text: 'milk', 'door-code': CODE };
const described = { effect: 'once', secret_fields: ['door_code'] };
const POLICY = { ...OPEN_POLICY, tools: { ...OPEN_POLICY.tools, write: described, ask_for_it: described } };
const ASKS = {
  _meta: {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
  },
};

function assertStruckOut(what: string, text: string): void {
  assert.ok(!text.includes(CODE), `${what}: ${text}`);
  assert.ok(text.includes(REDACTED) && text.includes('milk'), `${what}: ${text}`);
}

check('whoever looks at a guard’s calls from elsewhere sees no secret field of them', async (t) => {
  const world = await guardWorld(t, { policy: POLICY });
  await world.call('write', ARGUMENTS, 1);
  assert.ok(JSON.stringify(world.effects()).includes(CODE), 'the server was given the whole');
  assert.equal(outcomeOf(await world.call('ask_for_it', ARGUMENTS, 2))?.code, 'APPROVAL_PENDING');
  const other = await Holdfast.open({ dataDir: world.dataDir });
  t.after(() => other.close());
  const { runtime } = other;
  const { principal, approvals, operations, runs } = runtime;
  const { items } = await runs.list(principal, { limit: 5 });
  for (const { runId } of items) {
    const { pending: _, ...run } = await viewOfRun(runtime, principal, runId);
    assertStruckOut('a run', JSON.stringify(run));
  }
  const [waiting] = (await approvals.pending(principal)).items;
  assert.equal(waiting?.document['canonical_arguments'], canonicalJson(ARGUMENTS), 'whoever decides sees the whole');
  assert.equal(waiting?.document['canonical_arguments_sha256'], sha256Hex(canonicalJson(ARGUMENTS)));
  const asker = new OperationPrincipal(principal.tenant, principal.subject);
  const [done] = (await operations.list(asker, { now: 0 })).operations;
  assertStruckOut('an operation', JSON.stringify(done));
  const run = async (...args: string[]) =>
    (await holdfast([...args, '--data-dir', world.dataDir], { cwd: world.folder })).stdout;
  for (const args of [['operations', 'show', done?.statusRef ?? '']]) {
    assertStruckOut(args.join(' '), await run(...args));
    assertStruckOut(`${args.join(' ')} --json`, await run(...args, '--json'));
  }
});

check('the person whom a guard asks through its host is shown the whole call', async (t) => {
  const world = await guardWorld(t, { policy: POLICY });
  const asked = (await world.call('ask_for_it', ARGUMENTS, 1, ASKS)) as Message & {
    readonly result: { readonly inputRequests: Record<string, { readonly params: { readonly message: string } }> };
  };
  const [question] = Object.values(asked.result.inputRequests);
  assert.match(question?.params.message ?? '', new RegExp(CODE));
});
