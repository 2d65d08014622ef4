import { fail } from '../core/index.ts';
import type { ReadTx, Row } from '../store/index.ts';
import type { CursorKind } from './checkpoint-model.ts';
import { BRANCH_OF_CHECKPOINT, CHAIN_OF_BRANCH } from './checkpoint-queries.ts';
import type { SessionBranch } from './model.ts';
import { exact, numberOrNull, readExact, textOrNull } from './rows.ts';

/** Rows of one branch that are part of a history: those after `after` up to and including `upTo`. */
export interface Segment {
  readonly branchId: string;
  readonly after: number;
  readonly upTo: number;
}

/** A history as its last segment and what stands before it: histories share what they have in common. */
interface Trail extends Segment {
  readonly before: Trail | null;
}

const COLUMNS = {
  action: ['action_cursor', 'resume_action'],
  message: ['message_cursor', 'resume_message'],
  cell: ['cell_cursor', 'resume_cell'],
  autoEvent: ['auto_event_cursor', 'resume_auto'],
} as const satisfies Record<CursorKind, readonly [string, string]>;

/**
 * What a branch shows of one log, as segments in order. A checkpoint shows what its parent does and its branch's rows
 * up to its own cursor; one that reverted shows what its base does and then only what came after its resume cursor;
 * after the head, all that follows on the branch. Nothing is ever deleted for this. One query a branch; time grows with
 * the checkpoints of the branch and of those it was forked from. SESSION_CORRUPT when the chain does not hold together.
 */
export async function visibleSegments(tx: ReadTx, branch: SessionBranch, kind: CursorKind): Promise<Segment[]> {
  const chain = new Chain(tx, branch.rootFrameId, kind);
  const end = await chain.endOf(branch.headCheckpointId);
  const whole = extend(end.trail, branch.branchId, end.cursor, Number.MAX_SAFE_INTEGER);
  const segments: Segment[] = [];
  for (let trail: Trail | null = whole; trail; trail = trail.before)
    if (trail.upTo > trail.after) segments.push({ branchId: trail.branchId, after: trail.after, upTo: trail.upTo });
  return segments.reverse();
}

/** Adds rows of a branch to a history, as part of its last segment where they follow on. */
function extend(trail: Trail | null, branchId: string, after: number, upTo: number): Trail {
  const end = Math.max(after, upTo);
  if (trail && trail.branchId === branchId && trail.upTo === after)
    return { branchId, after: trail.after, upTo: end, before: trail.before };
  return { branchId, after, upTo: end, before: trail };
}

interface End {
  readonly trail: Trail | null;
  readonly cursor: number;
}

class Chain {
  readonly #tx: ReadTx;
  readonly #rootFrameId: string;
  readonly #kind: CursorKind;
  readonly #rows = new Map<string, Row>();
  readonly #ends = new Map<string, End>();

  constructor(tx: ReadTx, rootFrameId: string, kind: CursorKind) {
    this.#tx = tx;
    this.#rootFrameId = rootFrameId;
    this.#kind = kind;
  }

  /** What is visible at a checkpoint. Walks by hand, since a chain may be longer than the stack is deep. */
  async endOf(checkpointId: string | null): Promise<End> {
    if (checkpointId === null) return { trail: null, cursor: 0 };
    const waiting = [checkpointId];
    for (let id = waiting.at(-1); id !== undefined; id = waiting.at(-1)) {
      const row = await this.#row(id);
      const needed = this.#needs(row).find((other) => !this.#ends.has(other));
      if (needed !== undefined) {
        if (waiting.length > this.#rows.size) throw broken();
        waiting.push(needed);
        continue;
      }
      this.#ends.set(id, this.#end(row));
      waiting.pop();
    }
    return this.#ends.get(checkpointId) ?? { trail: null, cursor: 0 };
  }

  #needs(row: Row): string[] {
    const base = textOrNull(row['base_checkpoint_id']);
    const parent = textOrNull(row['parent_checkpoint_id']);
    return [base ?? parent].filter((id) => id !== null);
  }

  #end(row: Row): End {
    const [cursorColumn, resumeColumn] = COLUMNS[this.#kind];
    const branchId = String(row['branch_id']);
    const base = textOrNull(row['base_checkpoint_id']);
    const before = this.#ends.get(base ?? textOrNull(row['parent_checkpoint_id']) ?? '') ?? { trail: null, cursor: 0 };
    const own = numberOrNull(row[cursorColumn]);
    const after = base === null ? before.cursor : this.#resume(row, numberOrNull(row[resumeColumn]), own ?? 0);
    const cursor = own ?? after;
    return { trail: extend(before.trail, branchId, after, cursor), cursor: Math.max(after, cursor) };
  }

  /** Where the log goes on after a revert: as its metadata says, or else where its undo checkpoint stood. */
  #resume(row: Row, told: number | null, own: number): number {
    if (told !== null) return told;
    const undo = this.#rows.get(textOrNull(row['undo_checkpoint_id']) ?? '');
    return numberOrNull(undo?.[COLUMNS[this.#kind][0]]) ?? own;
  }

  async #row(id: string): Promise<Row> {
    const known = this.#rows.get(id);
    if (known) return sound(known);
    const place = await this.#tx.get(BRANCH_OF_CHECKPOINT, [id, this.#rootFrameId]);
    for (const row of place ? await this.#tx.all(exact(CHAIN_OF_BRANCH), [String(place['branch_id'])]) : [])
      this.#rows.set(String(row['checkpoint_id']), row);
    const row = this.#rows.get(id);
    if (!row) throw broken();
    return sound(row);
  }
}

/** Only what is needed has to be sound: others of the same branch may be damaged. */
const sound = (row: Row): Row =>
  readExact(row, (read) => {
    if (Number(read['is_json']) !== 1) throw broken();
    return read;
  });

const broken = (): Error => fail('SESSION_CORRUPT', 'The checkpoints of the branch do not hold together.');
