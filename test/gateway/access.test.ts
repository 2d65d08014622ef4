import { ROUTES } from '../../src/gateway/routes/index.ts';
import { ROLES } from '../../src/principals/index.ts';
import type { HoldfastClient } from '../../src/client/index.ts';
import { createLog } from '../../src/core/index.ts';
import { countingObserver, type StoreCounts } from '../../src/store/index.ts';
import { assert, check } from '../support/index.ts';
import { ACCESS } from './access-rows/index.ts';
import { openWorld, untilRun, type World } from './world.ts';

interface Answer {
  readonly status: number;
  readonly code: string | undefined;
  readonly text: string;
}

async function ask(world: World, method: string, path: string, token?: string, body?: unknown): Promise<Answer> {
  const response = await fetch(`${world.url}${path}`, {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = response.headers.get('content-type')?.startsWith('text/event-stream') ? '' : await response.text();
  await response.body?.cancel().catch(() => undefined);
  const code = text.startsWith('{"error"') ? (JSON.parse(text) as { error: { code: string } }).error.code : undefined;
  return { status: response.status, code, text };
}

const pathOf = (path: string, id = 'f'.repeat(32)): string => path.replace(/\{\w+\}/g, id);

check('every route wants a token that is good now, and says the same of every other', async (t) => {
  const world = await openWorld(t);
  const admin = await world.client(['admin']);
  const revoked = await admin.createToken({ subject: 'gone', roles: ['agent', 'approver', 'admin'] });
  await admin.revokeToken(revoked.token_id);
  const rotated = await admin.createToken({ subject: 'turned', roles: ['agent', 'approver', 'admin'] });
  await admin.rotateToken(rotated.token_id);
  const over = await admin.createToken({ subject: 'late', roles: ['agent', 'admin'], expires_at: Date.now() + 200 });
  while (Date.now() < (over.expires_at ?? 0)) await new Promise((settle) => setTimeout(settle, 20));
  const unknown = `hf_${'0'.repeat(32)}_${'A'.repeat(43)}`;
  for (const { id, method, path } of ROUTES) {
    const none = await ask(world, method, pathOf(path), undefined, ACCESS[id]?.body);
    assert.deepEqual([none.status, none.code], [401, 'TOKEN_REQUIRED'], id);
    const answers = new Set<string>();
    for (const bad of [unknown, revoked.token ?? '', rotated.token ?? '', over.token ?? '', 'x', `${unknown}A`]) {
      const { status, code, text } = await ask(world, method, pathOf(path), bad, ACCESS[id]?.body);
      assert.deepEqual([status, code], [401, 'TOKEN_INVALID'], id);
      answers.add(text);
    }
    assert.equal(answers.size, 1);
  }
});

check('each role may do exactly what is written here', async (t) => {
  const world = await openWorld(t);
  assert.deepEqual(ROUTES.map(({ id }) => id).toSorted(), Object.keys(ACCESS).toSorted());
  for (const role of ROLES) {
    const token = await world.token([role]);
    for (const { id, method, path } of ROUTES) {
      const { code } = await ask(world, method, pathOf(path), token, ACCESS[id]?.body);
      assert.equal(code === 'ROLE_NOT_ALLOWED', !ACCESS[id]?.roles.includes(role), `${id} for ${role}`);
    }
  }
});

check('roles and tenant in a body or a query are refused, and change nothing', async (t) => {
  const world = await openWorld(t);
  const agent = await world.token(['agent']);
  for (const extra of [{ roles: ['approver'] }, { tenant: 'other' }, { principal: { roles: ['admin'] } }]) {
    const { status, code } = await ask(world, 'POST', '/api/v1/runs', agent, { task: 'go', ...extra });
    assert.deepEqual([status, code], [400, 'REQUEST_INVALID']);
  }
  assert.equal((await ask(world, 'GET', '/api/v1/runs?tenant=other', agent)).code, 'REQUEST_INVALID');
});

/** What a call that was approved and done has ids of. */
async function doneRun(world: World, agent: HoldfastClient) {
  const approver = await world.client(['approver']);
  const { run_id: runId } = await agent.startRun({ task: 'go' });
  const { pending } = await untilRun(agent, runId, 'waiting_confirmation');
  const { digest, action_group_id: batchId } = await approver.showApproval(pending[0] ?? '');
  await approver.decide(pending[0] ?? '', { decision: 'approve', digest });
  const { calls } = await untilRun(agent, runId, 'completed');
  const [effect] = (await agent.runEffects(runId)).effects;
  return { batch_id: batchId, status_ref: calls[0]?.status_ref ?? '', effect_id: effect?.effect_id ?? '' };
}

/** What the store was asked for a request, without what it is asked now and then by itself. */
function stepsOf({ events }: StoreCounts): string[] {
  return events.flatMap((event) =>
    event.kind === 'statement' && !BY_ITSELF.test(event.name) ? [`${event.name}: ${event.text}`] : [],
  );
}

const BY_ITSELF = /^(?:store\.(?:heartbeat|instance)|instances?\.|approvals\.(?:due|sweep)|runs\.stop-asked)/;

check('an object of another tenant is, to the letter, one that is not there', async (t) => {
  const counts = countingObserver();
  const world = await openWorld(t, { holdfast: { observer: counts.observe } });
  const agent = await world.client(['agent']);
  const admin = await world.client(['admin']);
  const { run_id: run, session_id: session } = await agent.startRun({ task: 'go' });
  const waiting = await untilRun(agent, run, 'waiting_confirmation');
  const done = await doneRun(world, agent);
  const { runs, principal } = world.holdfast.runtime;
  const branch = await runs.openSideBranch(principal, run, { type: 'reflection', instruction: 'Was that wise?' });
  const other = await world.token(['agent', 'approver', 'admin'], { tenant: 'other' });
  const { token_id: token } = await admin.createToken({ subject: 's', roles: ['agent'] });
  const { rule_id: rule } = await (await world.client(['approver'])).putRule({ decision: 'deny', tool: 'never' });
  const real = {
    rule_id: rule,
    run_id: run,
    session_id: session,
    root_frame_id: session,
    request_id: waiting.pending[0],
    token_id: token,
    ...done,
    branch_id: session,
    side_branch_id: branch,
    checkpoint_id: 'cp',
    artifact_id: 'a',
    version_id: 'v',
  };
  for (const { id, method, path } of ROUTES.filter((route) => route.path.includes('{'))) {
    const named = path.replace(/\{(\w+)\}/g, (_, name: keyof typeof real) => real[name] ?? '');
    counts.reset();
    const theirs = await ask(world, method, named, other, ACCESS[id]?.body);
    const steps = stepsOf(counts);
    counts.reset();
    const absent = await ask(world, method, pathOf(path), other, ACCESS[id]?.body);
    // The same steps, so the same time: nothing more is looked up for what is there and another's.
    assert.deepEqual(steps, stepsOf(counts), id);
    assert.equal(theirs.status, 404, id);
    assert.equal(theirs.text, absent.text, id);
  }
  for (const { id, method, path, creates } of ROUTES.filter((route) => !route.path.includes('{'))) {
    if (creates || method !== 'GET' || id === 'auditOperations' || id.startsWith('stream')) continue;
    const { text } = await ask(world, method, path, other);
    for (const known of [run, session, waiting.pending[0] ?? '', token, rule]) assert.ok(!text.includes(known), id);
  }
  const inTheirs = await ask(world, 'POST', '/api/v1/runs', other, { task: 'go', session_id: session });
  assert.deepEqual([inTheirs.status, inTheirs.code], [404, 'SESSION_NOT_FOUND']);
  const inProject = await ask(world, 'POST', '/api/v1/runs', other, { task: 'go', project_id: 'default' });
  assert.deepEqual([inProject.status, inProject.code], [404, 'PROJECT_NOT_FOUND']);
  for (const [place, code] of [
    [{ session_id: session }, 'SESSION_NOT_FOUND'],
    [{ project_id: 'default' }, 'PROJECT_NOT_FOUND'],
  ] as const) {
    const made = await ask(world, 'POST', '/api/v1/rules', other, { decision: 'deny', tool: 'a', ...place });
    assert.deepEqual([made.status, made.code], [404, code]);
  }
  const audit = await ask(world, 'GET', '/api/v1/operations/audit', other);
  assert.deepEqual([audit.status, audit.code], [403, 'ROLE_NOT_ALLOWED']);
  assert.equal((await ask(world, 'GET', '/metrics', other)).status, 403);
  assert.equal((await agent.showRun(run)).status, 'waiting_confirmation');
});

check('whoever started a run may not decide it, though the token has both roles', async (t) => {
  const world = await openWorld(t);
  const both = await world.client(['agent', 'approver']);
  const { run_id: run } = await both.startRun({ task: 'go' });
  const { pending } = await untilRun(both, run, 'waiting_confirmation');
  const shown = await both.showApproval(pending[0] ?? '');
  await assert.rejects(both.decide(shown.decision_id, { decision: 'approve', digest: shown.digest }), {
    code: 'APPROVER_IS_REQUESTER',
  });
});

check('too many requests of one principal are refused, whatever its tokens; another is not touched', async (t) => {
  const world = await openWorld(t, { rate: { perSecond: 0.001, burst: 3 } });
  const one = await world.token(['agent'], { subject: 'one' });
  const same = await world.token(['admin'], { subject: 'one' });
  const other = await world.token(['agent'], { subject: 'other' });
  const statuses: number[] = [];
  for (let i = 0; i < 5; i += 1) statuses.push((await ask(world, 'GET', '/api/v1/runs', one)).status);
  assert.deepEqual(statuses, [200, 200, 200, 429, 429]);
  const response = await fetch(`${world.url}/api/v1/runs`, { headers: { authorization: `Bearer ${one}` } });
  assert.ok(Number(response.headers.get('retry-after')) >= 1);
  assert.equal((await ask(world, 'GET', '/api/v1/runs', same)).status, 429);
  const elsewhere = await world.token(['agent'], { subject: 'one', tenant: 'other' });
  for (const free of [other, elsewhere]) assert.equal((await ask(world, 'GET', '/api/v1/runs', free)).status, 200);
  const guesses: number[] = [];
  for (let i = 0; i < 5; i += 1) guesses.push((await ask(world, 'GET', '/api/v1/runs', 'x')).status);
  assert.deepEqual(guesses, [401, 401, 401, 429, 429]);
});

check('the log names requests and principals, and holds no token, argument or body', async (t) => {
  const lines: string[] = [];
  const world = await openWorld(t, { log: createLog({ write: (line) => lines.push(line) }) });
  const token = await world.token(['agent'], { subject: 'robin' });
  await ask(world, 'POST', '/api/v1/runs', token, { task: 'the secret plan' });
  await ask(world, 'GET', `/api/v1/runs/${token}`, token);
  const text = lines.join('\n');
  assert.match(text, /"event":"gateway.request".*"route":"startRun","status":202,"subject":"robin"/);
  assert.ok(!text.includes(token.slice(-43)));
  assert.ok(!text.includes('secret plan') && !text.includes('milk'));
});

check(
  'an agent that nobody offers cannot be begun: unknown ones, and the one that the house keeps for itself',
  async (t) => {
    const world = await openWorld(t);
    const token = await world.token(['agent', 'admin']);
    for (const agent of ['nobody', 'session-keeper', '__proto__']) {
      const { status, code, text } = await ask(world, 'POST', '/api/v1/runs', token, { task: 'go', agent });
      assert.deepEqual([status, code], [404, 'AGENT_UNKNOWN'], agent);
      assert.match(text, /"resolve":"Name an agent of the configuration/);
    }
    assert.equal((await ask(world, 'POST', '/api/v1/runs', token, { task: 'go', agent: 'agent' })).status, 202);
  },
);
