import fc from 'fast-check';
import { HoldfastError } from '../../../src/core/index.ts';
import { type DispatchFailure, envelopeCode, type ProcessFailure, Principal } from '../../../src/operations/index.ts';
import { USER } from '../../fixtures/refund-desk/calls.ts';
import { assert } from '../../support/index.ts';
import { advance, callOf, KEYS, type Model, storedLife, type World } from './world.ts';

const LEASE = 30;
const PERSON = new Principal('tenant-a', 'controller-1');

type Command = fc.AsyncCommand<Model, World>;

async function agree(model: Model, world: World): Promise<void> {
  for (let key = 0; key < KEYS; key += 1) assert.deepEqual(await storedLife(world, key), model.lives[key]);
}

/** A command that does the same to the machine and to the store, and compares answers and states. */
function command(name: string, run: (model: Model, world: World) => Promise<void>): Command {
  return {
    check: () => true,
    run: async (model, world) => {
      await run(model, world);
      await agree(model, world);
    },
    toString: () => name,
  };
}

/** What a worker's step comes to, in the machine: lease, effect, receipts, up to where it is stopped. */
function modelStep(model: Model, key: number, worker: string, failure: ProcessFailure): string {
  const { now } = model;
  const leased = advance(model, key, { kind: 'lease', worker, seconds: LEASE, now });
  if (leased === 'settled') return 'settled';
  if (leased !== 'leased') return model.lives[key]?.kind === 'succeeded' ? 'succeeded' : 'not_claimed';
  if (failure === 'after_claim') return 'crashed_after_claim';
  if (!model.allowed) return 'authorization_denied';
  advance(model, key, { kind: 'commit_downstream' });
  if (failure === 'after_downstream_commit') return 'outcome_unknown';
  advance(model, key, { kind: 'reconcile', now });
  return 'succeeded';
}

/** What a dispatch answers, in the machine. */
function modelDispatch(model: Model, key: number, failure: DispatchFailure): string {
  if (!model.allowed) return 'NOT_FOUND';
  const reserved = advance(model, key, { kind: 'reserve', now: model.now });
  if (reserved === 'settled') return 'SETTLED';
  if (reserved === 'replay') return 'OK';
  if (reserved === 'unknown' || failure === 'after_intent_commit') return 'OUTCOME_UNKNOWN';
  return modelStep(model, key, 'inline-worker', failure) === 'succeeded' ? 'OK' : 'OUTCOME_UNKNOWN';
}

const dispatch = (key: number, which: number, failure: DispatchFailure): Command =>
  command(`dispatch ${key} on ${which} (${failure})`, async (model, world) => {
    const desk = world.desk(which);
    const call = callOf(key);
    const approvals = desk.approve(USER, call, 'valid', model.now);
    const result = await desk.operations.dispatch(USER, call, { approvals, now: model.now, failure });
    assert.equal(envelopeCode(result), modelDispatch(model, key, failure));
    world.statusRefs[key] ??= result.protected_audit.downstream.status_ref;
  });

const process = (key: number, which: number, failure: ProcessFailure): Command => ({
  ...command(`process ${key} on ${which} (${failure})`, async (model, world) => {
    const options = { workerId: `worker-${which}`, now: model.now, leaseSeconds: LEASE, failure };
    const word = await world.desk(which).operations.process(world.statusRefs[key] ?? '', options);
    assert.equal(word, modelStep(model, key, `worker-${which}`, failure));
  }),
  check: (model) => model.lives[key]?.kind !== 'absent',
});

const lease = (key: number, which: number): Command => ({
  ...command(`lease ${key} on ${which}`, async (model, world) => {
    const terms = { workerId: `worker-${which}`, now: model.now, leaseSeconds: LEASE };
    const held = await world.desk(which).operations.takeLease(world.statusRefs[key] ?? '', terms);
    const answer = advance(model, key, { kind: 'lease', worker: terms.workerId, seconds: LEASE, now: model.now });
    assert.equal(held === null, answer !== 'leased');
  }),
  check: (model) => model.lives[key]?.kind !== 'absent',
});

const WORDS: Readonly<Record<string, string>> = { settled: 'SETTLED', reconciled: 'OK', no_receipt: 'OUTCOME_UNKNOWN' };

const query = (key: number, which: number): Command => ({
  ...command(`query ${key} on ${which}`, async (model, world) => {
    const code = await world.query(which, key, model.now);
    if (!model.allowed) return assert.equal(code, 'NOT_FOUND');
    assert.equal(code, WORDS[advance(model, key, { kind: 'reconcile', now: model.now })]);
  }),
  check: (model) => model.lives[key]?.kind !== 'absent',
});

const REFUSALS: Readonly<Record<string, string>> = {
  OPERATION_LEASE_RUNNING: 'lease_running',
  OPERATION_SETTLED: 'settled',
  OPERATION_SUCCEEDED: 'succeeded',
};

const settle = (key: number, which: number, verdict: 'done' | 'not_done'): Command => ({
  ...command(`settle ${key} on ${which} as ${verdict}`, async (model, world) => {
    const said = { verdict, reason: 'a person looked', now: model.now };
    const answer = await world
      .desk(which)
      .operations.settleByPerson(PERSON, world.statusRefs[key] ?? '', said)
      .then(
        () => 'verdict_stored',
        (error: unknown) => (error instanceof HoldfastError ? (REFUSALS[error.code] ?? error.code) : String(error)),
      );
    assert.equal(answer, advance(model, key, { kind: 'settle', verdict, now: model.now }));
  }),
  check: (model) => model.lives[key]?.kind !== 'absent',
});

const forward = (seconds: number): Command =>
  command(`${seconds} seconds pass`, async (model) => {
    model.now += seconds;
  });

const allow = (allowed: boolean): Command =>
  command(allowed ? 'access is given' : 'access is revoked', async (model, world) => {
    model.allowed = allowed;
    world.allow(allowed);
  });

const reopen = (which: number): Command =>
  command(`desk ${which} is opened again`, async (model, world) => world.reopen(which, model.allowed));

const key = fc.integer({ min: 0, max: KEYS - 1 });
const which = fc.integer({ min: 0, max: 1 });
const dispatchFailure = fc.constantFrom<DispatchFailure>(
  'none',
  'after_intent_commit',
  'after_claim',
  'after_downstream_commit',
);
const processFailure = fc.constantFrom<ProcessFailure>('none', 'after_claim', 'after_downstream_commit');

/** Every kind of command, in any order. */
export const COMMANDS: fc.Arbitrary<Command>[] = [
  fc.tuple(key, which, dispatchFailure).map((args) => dispatch(...args)),
  fc.tuple(key, which, processFailure).map((args) => process(...args)),
  fc.tuple(key, which).map((args) => lease(...args)),
  fc.tuple(key, which).map((args) => query(...args)),
  fc.tuple(key, which, fc.constantFrom<'done' | 'not_done'>('done', 'not_done')).map((args) => settle(...args)),
  fc.constantFrom(1, 29, 30, 31).map(forward),
  fc.boolean().map(allow),
  which.map(reopen),
];
