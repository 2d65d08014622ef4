import {
  envelopeCode,
  type OperationLife,
  requestDigest,
  statusQueryCall,
  step,
  type ToolCall,
} from '../../../src/operations/index.ts';
import { refundCall, T0, USER } from '../../fixtures/refund-desk/calls.ts';
import { type DeskOptions, openDesk, type RefundDesk } from '../../fixtures/refund-desk/desk.ts';
import { REFUND_SPEC } from '../../fixtures/refund-desk/refund-tool.ts';

/** What the pure machine says about one key, and what the clock and the rights say about all of them. */
export interface Model {
  readonly lives: OperationLife[];
  now: number;
  allowed: boolean;
}

export const KEYS = 3;

export function freshModel(): Model {
  return { lives: Array.from({ length: KEYS }, () => ({ kind: 'absent' }) as const), now: T0, allowed: true };
}

/** The call of a key: always the same, so that a repeat is a repeat. */
export function callOf(key: number): ToolCall {
  return refundCall({ idempotencyKey: `key-${key}`, callId: `call-${key}`, responseId: `response-${key}` });
}

/** Two desks on one file; a command picks one of them, and one may be closed and opened again between commands. */
export class World {
  readonly #file: string;
  readonly #desks: RefundDesk[] = [];
  readonly statusRefs: (string | null)[] = Array.from({ length: KEYS }, () => null);

  constructor(file: string) {
    this.#file = file;
  }

  static readonly options: DeskOptions = { verdicts: true };

  async open(): Promise<this> {
    for (let i = 0; i < 2; i += 1) this.#desks.push(await openDesk(this.#file, World.options));
    return this;
  }

  desk(which: number): RefundDesk {
    const desk = this.#desks[which];
    if (!desk) throw new Error('the world is closed');
    return desk;
  }

  allow(allowed: boolean): void {
    for (const desk of this.#desks) desk.allowed = allowed ? ['ORDER-7'] : [];
  }

  async reopen(which: number, allowed: boolean): Promise<void> {
    await this.desk(which).close();
    this.#desks[which] = await openDesk(this.#file, World.options);
    this.allow(allowed);
  }

  async close(): Promise<void> {
    for (const desk of this.#desks.splice(0)) await desk.close();
  }

  async query(which: number, key: number, now: number): Promise<string> {
    const statusRef = this.statusRefs[key] ?? '';
    const call = callOf(key);
    const result = await this.desk(which).operations.queryStatus(USER, statusQueryCall(call, statusRef), {
      statusRef,
      expectedRequestSha256: requestDigest(USER, REFUND_SPEC.contract, call.arguments),
      now,
    });
    return envelopeCode(result);
  }
}

/** The stored life of a key, read back from the tables. */
export async function storedLife(world: World, key: number): Promise<OperationLife> {
  const row = await world.desk(0).store.read('test', (tx) =>
    tx.get(
      `SELECT o.state, o.created_at, o.completed_at, b.state AS outbox, b.lease_owner, b.lease_until, b.attempt_count,
        d.receipt_id AS downstream, l.receipt_id AS local, v.verdict
        FROM operations o JOIN outbox b USING (operation_pk)
        LEFT JOIN downstream_receipts d USING (tenant_id, subject_id, tool_name, idempotency_key)
        LEFT JOIN local_receipts l USING (operation_pk) LEFT JOIN operation_verdicts v USING (operation_pk)
        WHERE o.idempotency_key = ?`,
      [`key-${key}`],
    ),
  );
  if (!row) return { kind: 'absent' };
  const createdAt = Number(row['created_at']);
  const attempts = Number(row['attempt_count']);
  const downstream = row['downstream'] !== null;
  if (row['verdict'] !== null)
    return { kind: 'settled', verdict: row['verdict'] as 'done', createdAt, attempts, lateReceipt: downstream };
  if (row['state'] === 'succeeded') {
    if (!downstream || row['local'] === null || row['outbox'] !== 'delivered') throw new Error('half finished');
    return { kind: 'succeeded', createdAt, attempts, completedAt: Number(row['completed_at']) };
  }
  if (row['local'] !== null) throw new Error('a local receipt on what is not finished');
  if (row['outbox'] === 'pending') return { kind: 'pending', createdAt, downstream };
  const [owner, until] = [String(row['lease_owner']), Number(row['lease_until'])];
  return { kind: 'leased', createdAt, owner, until, attempts, downstream };
}

/** Moves the model one step and gives the machine's answer. */
export function advance(model: Model, key: number, command: Parameters<typeof step>[1]): string {
  const life = model.lives[key];
  if (!life) throw new Error('no such key');
  const { next, answer } = step(life, command);
  model.lives[key] = next;
  return answer;
}
