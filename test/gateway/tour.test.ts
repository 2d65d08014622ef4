import { Validator } from '@cfworker/json-schema';
import { HoldfastClient } from '../../src/client/index.ts';
import { ROUTES } from '../../src/gateway/routes/index.ts';
import type { ModelFunction } from '../../src/index.ts';
import { noteTool } from '../calls/desk.ts';
import { assert, check } from '../support/index.ts';
import { leapingClock, routeOf, openWorld, untilRun, type World } from './world.ts';

type Schema = ConstructorParameters<typeof Validator>[0];
interface Described {
  readonly paths: Record<
    string,
    Record<string, { responses: Record<string, { content?: Record<string, { schema?: Schema }> }> }>
  >;
  readonly components: { readonly schemas: { readonly Error: Schema } };
}

/** Each reply is held against the served description by a validator that is not ours, and its route is noted. */
class Witness {
  readonly seen = new Set<string>();
  readonly faults: string[] = [];
  readonly #description: Described;

  constructor(description: Described) {
    this.#description = description;
  }

  readonly fetch: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    const { method, url } = new Request(input, { method: init?.method ?? 'GET' });
    const route = routeOf(method, new URL(url).pathname);
    if (!route || route.media) return response;
    const { responses } = this.#description.paths[route.path]?.[method.toLowerCase()] ?? { responses: {} };
    const schema = response.ok
      ? responses[String(response.status)]?.content?.['application/json']?.schema
      : this.#description.components.schemas.Error;
    const name = `${route.id} ${response.status}`;
    if (!schema) this.faults.push(`${name} is not described`);
    else {
      const { valid, errors } = new Validator(schema, '2020-12', false).validate(await response.clone().json());
      if (!valid) this.faults.push(`${name}: ${JSON.stringify(errors[0])}`);
      else if (response.ok) this.seen.add(route.id);
    }
    return response;
  };
}

async function actors(world: World) {
  const description = (await (await fetch(`${world.url}/openapi.json`)).json()) as Described;
  const witness = new Witness(description);
  const as = async (role: 'agent' | 'approver' | 'admin') =>
    new HoldfastClient({ url: world.url, token: await world.token([role]), fetch: witness.fetch });
  return { witness, agent: await as('agent'), approver: await as('approver'), admin: await as('admin') };
}

/** Of other files' routes the same is shown there. */
const ELSEWHERE: readonly RegExp[] = [
  /^\/api\/v1\/frames\//,
  /^\/api\/v1\/(?:packages|sessions\/(?:import|verify))/,
  /session\/|branches|artifact|checkpoint|fork|records|revert|diff|deliver|trust/i,
];

check('every route answers as the served description says: each is asked until it has answered well', async (t) => {
  let interrupted = 0;
  const broken = noteTool({
    name: 'post',
    effect: 'idempotent',
    timeoutMs: 1000,
    needsApproval: true,
    execute: () => {
      interrupted += 1;
      if (interrupted === 1) throw new Error('the line broke');
      return { ok: true };
    },
    status: () => ({ state: 'unknown' }),
  });
  const { options: holdfast, pastTheLease } = leapingClock();
  const tools = [broken, noteTool({ needsApproval: true })];
  const world = await openWorld(t, { model: twoCalls, tools, holdfast });
  const { witness, agent, approver, admin } = await actors(world);
  await agent.principal();
  await agent.createProject('p');
  await agent.listProjects();
  const { session_id: session } = await agent.createSession({ name: 's' });
  await agent.showSession(session);
  await agent.listSessions();
  await agent.listBranches(session);
  await agent.listMessages(session);
  await agent.listAudits(session);
  const first = await agent.startRun({ task: 'post', session_id: session });
  const { pending } = await untilRun(agent, first.run_id, 'waiting_confirmation');
  await agent.showGoals(first.run_id);
  await agent.listRuns();
  await approver.listApprovals();
  const request = await approver.showApproval(pending[0] ?? '');
  await agent.listBatches(first.run_id);
  await agent.showBatch(first.run_id, request.action_group_id);
  const decisions = [{ tool_call_id: request.tool_call_id ?? '', decision: 'approve' as const }];
  await approver.decideBatch(first.run_id, request.action_group_id, { decisions });
  const [operation] = await untilFailed(agent, first.run_id);
  const ref = operation?.status_ref ?? '';
  await agent.showOperation(ref);
  await agent.askOperation(ref).catch(() => undefined);
  assert.equal((await agent.processOperation(ref)).outcome, 'unknown', 'a lease is running');
  pastTheLease();
  assert.equal((await agent.processOperation(ref)).outcome, 'done');
  await agent.askOperation(ref);
  await agent.resumeRun(first.run_id);
  await untilRun(agent, first.run_id, 'completed');
  const { effects } = await agent.runEffects(first.run_id);
  await agent.showEffect(first.run_id, effects[0]?.effect_id ?? '');
  await agent.listEffects();
  const rule = await approver.putRule({ decision: 'deny', tool: 'never' });
  await agent.listRules();
  await approver.dropRule(rule.rule_id);
  const second = await agent.startRun({ task: 'note' });
  const waits = await untilRun(agent, second.run_id, 'waiting_confirmation');
  const { digest } = await approver.showApproval(waits.pending[0] ?? '');
  await approver.decide(waits.pending[0] ?? '', { decision: 'approve', digest });
  const third = await agent.startRun({ task: 'note' });
  await untilRun(agent, third.run_id, 'waiting_confirmation');
  await agent.stopRun(third.run_id);
  interrupted = 0;
  const fourth = await agent.startRun({ task: 'post' });
  const again = await untilRun(agent, fourth.run_id, 'waiting_confirmation');
  const asked = await approver.showApproval(again.pending[0] ?? '');
  await approver.decide(asked.decision_id, { decision: 'approve', digest: asked.digest });
  const [open] = await untilFailed(agent, fourth.run_id);
  const verdict = { verdict: 'not_done', reason: 'seen' } as const;
  const settle = () => approver.settleOperation(open?.status_ref ?? '', verdict);
  await assert.rejects(settle(), { code: 'OPERATION_LEASE_RUNNING' });
  pastTheLease();
  await settle();
  await admin.auditOperations();
  const made = await admin.createToken({ subject: 'x', roles: ['agent'] });
  await admin.listTokens();
  await admin.rotateToken(made.token_id);
  await admin.revokeToken(made.token_id);
  await assert.rejects(agent.showRun('none'));
  assert.deepEqual(witness.faults, []);
  const rest = ROUTES.filter(
    ({ id, media, path }) => !media && !witness.seen.has(id) && !ELSEWHERE.some((one) => one.test(path)),
  );
  assert.deepEqual(
    rest.map(({ id }) => id),
    [],
  );
});

/** Asks for the tool that the task names, and is then done. */
const twoCalls: ModelFunction = ({ messages }) => {
  if (messages.at(-1)?.role === 'tool') return 'done';
  const task = messages.findLast(({ role }) => role === 'user')?.text ?? '';
  return {
    calls: [{ toolName: task === 'post' ? 'post' : 'take_note', arguments: { note: `milk ${messages.length}` } }],
  };
};

/** What is open of a run that has come to its stand; its lease is still running. */
async function untilFailed(client: HoldfastClient, runId: string) {
  await untilRun(client, runId, 'failed');
  const { operations } = await client.listOperations({ open: true });
  assert.equal(operations[0]?.progress, 'in_progress');
  return operations;
}
