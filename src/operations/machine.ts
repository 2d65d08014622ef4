import type { OperationState, OperationTool, OutboxState, ProcessOutcome, VerdictKind } from './model.ts';

/**
 * The life of one operation and of its outbox row, without input or output. `outstanding` is an operation that
 * somebody still has to carry out or settle; the downstream receipt may exist before we have recorded it.
 */
export type OperationLife =
  | { readonly kind: 'absent' }
  | { readonly kind: 'pending'; readonly createdAt: number; readonly downstream: boolean }
  | {
      readonly kind: 'leased';
      readonly createdAt: number;
      readonly owner: string;
      readonly until: number;
      readonly attempts: number;
      readonly downstream: boolean;
    }
  | { readonly kind: 'succeeded'; readonly createdAt: number; readonly attempts: number; readonly completedAt: number }
  | {
      readonly kind: 'settled';
      readonly verdict: VerdictKind;
      readonly createdAt: number;
      readonly attempts: number;
      readonly lateReceipt: boolean;
    };

/** What a lease may answer. Equality of `until` and now counts as over. */
export type LeaseDecision = 'grant' | 'held' | 'delivered' | 'settled';

export function decideLease(
  row: { readonly outbox: OutboxState; readonly leaseUntil: number | null; readonly settled: boolean },
  now: number,
): LeaseDecision {
  if (row.settled) return 'settled';
  if (row.outbox === 'delivered') return 'delivered';
  if (row.outbox === 'processing' && row.leaseUntil !== null && row.leaseUntil > now) return 'held';
  return 'grant';
}

/** What a repeated dispatch of an accepted intent is answered. It never runs the worker's step. */
export type ReplayDecision = 'replay' | 'unknown' | 'settled';

export function decideReplay(state: OperationState, settled: boolean): ReplayDecision {
  if (settled) return 'settled';
  return state === 'succeeded' ? 'replay' : 'unknown';
}

/** Why a verdict is refused, or null. A held lease means that somebody may be finishing it right now. */
export type SettleRefusal = 'succeeded' | 'settled' | 'lease_running';

export function refuseVerdict(
  row: { readonly state: OperationState; readonly settled: boolean; readonly leaseUntil: number | null },
  now: number,
): SettleRefusal | null {
  if (row.settled) return 'settled';
  if (row.state === 'succeeded') return 'succeeded';
  return row.leaseUntil !== null && row.leaseUntil > now ? 'lease_running' : null;
}

/**
 * `not_happened` is final only once nothing under way can still take effect. An operation that nobody has tried is not
 * settled by it: it can still be carried out.
 */
export function isFinalNotHappened(leaseUntil: number | null, settlesWithinSeconds: number, now: number): boolean {
  return leaseUntil !== null && now >= leaseUntil + settlesWithinSeconds;
}

/** What a worker may do about an operation that was delivered before: send it, ask first, or nothing. */
export type RepeatDecision = 'send' | 'ask' | 'never';

/** By what the other side can do for us: honour a key, or tell what became of it. A tool nobody knows is for the step. */
export function decideRepeat(effect: OperationTool['effect'] | undefined, deliveries: number): RepeatDecision {
  if (deliveries === 0) return 'send';
  if (effect === 'once') return 'never';
  return effect === 'reconcilable' ? 'ask' : 'send';
}

export type OperationCommand =
  | { readonly kind: 'reserve'; readonly now: number }
  | { readonly kind: 'lease'; readonly worker: string; readonly seconds: number; readonly now: number }
  | { readonly kind: 'commit_downstream' }
  | { readonly kind: 'reconcile'; readonly now: number }
  | { readonly kind: 'settle'; readonly verdict: VerdictKind; readonly now: number };

export type OperationAnswer =
  | 'reserved'
  | 'replay'
  | 'unknown'
  | 'settled'
  | 'leased'
  | 'not_leased'
  | 'committed'
  | 'kept_late'
  | 'reconciled'
  | 'no_receipt'
  | 'verdict_stored'
  | SettleRefusal
  | 'absent'
  | 'clock_before_creation';

export interface OperationStep {
  readonly next: OperationLife;
  readonly answer: OperationAnswer;
}

const attemptsOf = (life: OperationLife) => ('attempts' in life ? life.attempts : 0);
const stay = (next: OperationLife, answer: OperationAnswer): OperationStep => ({ next, answer });

/** One step of the machine: a new state, or the same one and the word that says why. */
export function step(life: OperationLife, command: OperationCommand): OperationStep {
  if (command.kind === 'reserve') return reserve(life, command.now);
  if (life.kind === 'absent') return stay(life, 'absent');
  switch (command.kind) {
    case 'lease':
      return lease(life, command);
    case 'commit_downstream':
      return commitDownstream(life);
    case 'reconcile':
      return reconcile(life, command.now);
    case 'settle':
      return settle(life, command);
  }
}

function reserve(life: OperationLife, now: number): OperationStep {
  if (life.kind === 'absent') return stay({ kind: 'pending', createdAt: now, downstream: false }, 'reserved');
  if (life.kind === 'settled') return stay(life, 'settled');
  return stay(life, life.kind === 'succeeded' ? 'replay' : 'unknown');
}

type Known = Exclude<OperationLife, { kind: 'absent' }>;

function lease(life: Known, command: { worker: string; seconds: number; now: number }): OperationStep {
  if (life.kind === 'settled') return stay(life, 'settled');
  if (life.kind === 'succeeded') return stay(life, 'not_leased');
  if (life.kind === 'leased' && life.until > command.now) return stay(life, 'not_leased');
  if (command.now < life.createdAt) return stay(life, 'clock_before_creation');
  return stay(
    {
      kind: 'leased',
      createdAt: life.createdAt,
      owner: command.worker,
      until: command.now + command.seconds,
      attempts: attemptsOf(life) + 1,
      downstream: life.downstream,
    },
    'leased',
  );
}

/** No fence: a worker whose lease has ended may still commit; the first commit stands. */
function commitDownstream(life: Known): OperationStep {
  if (life.kind === 'succeeded') return stay(life, 'committed');
  if (life.kind === 'settled') return stay({ ...life, lateReceipt: true }, 'kept_late');
  return stay({ ...life, downstream: true }, 'committed');
}

function reconcile(life: Known, now: number): OperationStep {
  if (life.kind === 'settled') return stay(life, 'settled');
  if (life.kind === 'succeeded') return stay(life, 'reconciled');
  if (!life.downstream) return stay(life, 'no_receipt');
  if (now < life.createdAt) return stay(life, 'clock_before_creation');
  const attempts = attemptsOf(life);
  return stay({ kind: 'succeeded', createdAt: life.createdAt, attempts, completedAt: now }, 'reconciled');
}

function settle(life: Known, command: { verdict: VerdictKind; now: number }): OperationStep {
  const refusal = refuseVerdict(
    {
      state: life.kind === 'succeeded' ? 'succeeded' : 'processing',
      settled: life.kind === 'settled',
      leaseUntil: life.kind === 'leased' ? life.until : null,
    },
    command.now,
  );
  if (refusal) return stay(life, refusal);
  const lateReceipt = 'downstream' in life && life.downstream;
  const attempts = attemptsOf(life);
  return stay(
    { kind: 'settled', verdict: command.verdict, createdAt: life.createdAt, attempts, lateReceipt },
    'verdict_stored',
  );
}

/** The word of a worker's step that could not take the lease. */
export function notLeased(
  decision: Exclude<LeaseDecision, 'grant'> | 'absent',
  state: OperationState | null,
): ProcessOutcome {
  if (decision === 'settled') return 'settled';
  return state === 'succeeded' ? 'succeeded' : 'not_claimed';
}
