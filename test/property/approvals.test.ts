import fc from 'fast-check';
import { cancelRequests, type PermissionRequest, type Refusal, step } from '../../src/approvals/index.ts';
import { approvalsOf, ask, bindingOf, read, say, use } from '../support/approval-world.ts';
import { assert, check } from '../support/index.ts';
import { AGENT, openCalls, openSessionWorld, OWNER, type SessionWorld } from '../support/session-world.ts';

/** What the pure machine says, beside the store that must say the same. */
interface Model {
  readonly requests: PermissionRequest[];
}
interface Real {
  readonly world: SessionWorld;
  readonly groupId: string;
}

const CODES: Record<Refusal, string> = {
  already_decided: 'APPROVAL_ALREADY_DECIDED',
  expired: 'APPROVAL_EXPIRED',
  digest_mismatch: 'APPROVAL_DIGEST_MISMATCH',
  not_allowed: 'APPROVAL_NOT_GIVEN',
  revoked: 'APPROVAL_REVOKED',
  consumed: 'APPROVAL_CONSUMED',
  binding_mismatch: 'APPROVAL_BINDING_MISMATCH',
  nothing_to_do: '',
};

const codeOf = (promise: Promise<unknown>): Promise<string | null> =>
  promise.then(
    () => null,
    (error: { code?: string; message: string }) => error.code ?? error.message,
  );

type Act = (model: Model, real: Real) => Promise<void>;

class Command implements fc.AsyncCommand<Model, Real> {
  readonly name: string;
  readonly #act: Act;

  constructor(name: string, act: Act) {
    this.name = name;
    this.#act = act;
  }

  check(): boolean {
    return true;
  }

  async run(model: Model, real: Real): Promise<void> {
    await this.#act(model, real);
    for (const expected of model.requests) assert.deepEqual(await read(real.world, expected), expected);
  }

  toString(): string {
    return this.name;
  }
}

function pick(model: Model, index: number): number {
  return model.requests.length === 0 ? -1 : index % model.requests.length;
}

const askFor = (ttl: number) =>
  new Command(`ask ${ttl}`, async (model, { world, groupId }) => {
    const expiresAt = ttl === 0 ? {} : { expiresAt: world.clock.nowMs() + ttl };
    model.requests.push(await ask(world, { groupId, actionId: `a${model.requests.length}`, ...expiresAt }));
  });

const decideOn = (index: number, decision: 'approve' | 'reject', digestFits: boolean) =>
  new Command(`${decision} ${index} ${digestFits}`, async (model, { world }) => {
    const at = pick(model, index);
    const request = model.requests[at];
    if (!request) return;
    const digest = digestFits ? request.action.requestSha256 : '0'.repeat(64);
    const act = decision === 'approve' ? 'allow' : 'deny';
    const made = step(request, { do: act, by: OWNER.subject, digest, message: null }, world.clock.nowMs());
    const code = await codeOf(approvalsOf(world).decide(OWNER, [say(request, { decision, digest })]));
    assert.equal(code, made.ok ? null : CODES[made.refusal]);
    if (made.next) model.requests[at] = { ...request, status: made.next };
  });

const editOf = (index: number, value: number) =>
  new Command(`edit ${index} ${value}`, async (model, { world }) => {
    const at = pick(model, index);
    const request = model.requests[at];
    if (!request) return;
    const editedArguments = { value, fixed: 'fixed' };
    const decided = approvalsOf(world).decide(OWNER, [say(request, { editedArguments })]);
    const code = await codeOf(decided);
    if (value >= 100) return assert.equal(code, 'APPROVAL_ARGUMENTS_INVALID');
    const now = world.clock.nowMs();
    const digest = request.action.requestSha256;
    const changed = request.action.canonicalArguments !== `{"fixed":"fixed","value":${value}}`;
    const newRequestId = code === null ? ((await decided)[0]?.action.requestId ?? '') : '';
    const made = changed
      ? step(request, { do: 'edit', by: OWNER.subject, digest, newRequestId }, now)
      : step(request, { do: 'allow', by: OWNER.subject, digest, message: null }, now);
    assert.equal(code, made.ok ? null : CODES[made.refusal]);
    if (made.next) model.requests[at] = { ...request, status: made.next };
    if (changed && code === null) model.requests.push((await decided)[0] ?? assert.fail());
  });

const useOf = (index: number, fits: boolean) =>
  new Command(`use ${index} ${fits}`, async (model, { world }) => {
    const at = pick(model, index);
    const request = model.requests[at];
    if (!request) return;
    const binding = { ...bindingOf(request), ...(fits ? {} : { toolRevision: 'other' }) };
    const made = step(request, { do: 'consume', by: 'execution-1', binding }, world.clock.nowMs());
    const code = await codeOf(use(world, request, binding));
    assert.equal(code, made.ok ? null : CODES[made.refusal]);
    if (made.ok) model.requests[at] = { ...request, status: made.next };
  });

/** Applies one command to every request, as stop and sweep do. */
function applyAll(model: Model, command: Parameters<typeof step>[1], now: number): void {
  model.requests.forEach((request, at) => {
    const made = step(request, command, now);
    if (made.ok) model.requests[at] = { ...request, status: made.next };
  });
}

const stop = new Command('stop', async (model, { world, groupId }) => {
  applyAll(model, { do: 'cancel', reason: 'stopped' }, world.clock.nowMs());
  await world.store.write('t', (tx) => cancelRequests(tx, world.context, AGENT, { groupId }, 'stopped'));
});

const sweep = new Command('sweep', async (model, { world }) => {
  applyAll(model, { do: 'expire' }, world.clock.nowMs());
  await approvalsOf(world).sweep();
});

const wait = (ms: number) =>
  new Command(`wait ${ms}`, async (_model, { world }) => {
    world.clock.advance(ms);
  });

const index = fc.nat({ max: 5 });
const commands = fc.commands(
  [
    fc.constantFrom(0, 10, 50).map(askFor),
    fc.tuple(index, fc.constantFrom('approve' as const, 'reject' as const), fc.boolean()).map((a) => decideOn(...a)),
    fc.tuple(index, fc.constantFrom(1, 9, 100)).map((a) => editOf(...a)),
    fc.tuple(index, fc.boolean()).map((a) => useOf(...a)),
    fc.constant(stop),
    fc.constant(sweep),
    fc.constantFrom(1, 10, 40).map(wait),
  ],
  { maxCommands: 25 },
);

check('the store and the pure machine agree on every history of requests', async () => {
  await using world = await openSessionWorld();
  await fc.assert(
    fc.asyncProperty(commands, async (run) => {
      const { groupId } = await openCalls(world);
      await fc.asyncModelRun(() => ({ model: { requests: [] }, real: { world, groupId } }), run);
    }),
    { numRuns: 60 },
  );
});
