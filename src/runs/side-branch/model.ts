import { fail, isJsonObject, type JsonObject, type JsonValue, LIMITS } from '../../core/index.ts';
import type { CutReason } from '../cut-reply.ts';
import type { TraceMessage } from '../trace/model.ts';

/** The member of a trace's context in which an open side branch lies. */
export const SIDE_BRANCH_KEY = 'active_side_branch';

/** A short detour from the main line. Its budget is what is stored here, whatever the configuration says. */
export interface SideBranch {
  readonly type: string;
  readonly branchId: string;
  /** The main line up to here is what the branch sees. */
  readonly startHeadSequence: number;
  readonly startSequence: number;
  readonly startIteration: number;
  readonly maxTurns: number;
  /** A hint: turns are counted from the stored messages. */
  readonly turnsUsed: number;
}

/** A kind of side branch that the host knows. `onClosed` is told what the branch came to; it may run more than once. */
export interface SideBranchKind {
  readonly type: string;
  onClosed?(closed: ClosedSideBranch): void | Promise<void>;
}

export interface ClosedSideBranch {
  readonly traceId: string;
  readonly branch: SideBranch;
  /** The last text of the branch; null where it has none. */
  readonly text: string | null;
  /** Why its last turn ended, where that did not come to its end by itself: the text may not be whole. Null otherwise. */
  readonly cut: CutReason | null;
}

/** The kinds that there are without registering any. What they say is kept and handed out, not interpreted. */
export const SIDE_BRANCH_KINDS: readonly SideBranchKind[] = [
  { type: 'compression' },
  { type: 'reflection' },
  { type: 'knowledge_eval' },
];

export function sideBranchDocument(branch: SideBranch): JsonObject {
  return {
    type: branch.type,
    branch_id: branch.branchId,
    start_head_seq: branch.startHeadSequence,
    start_sequence: branch.startSequence,
    start_iteration: branch.startIteration,
    max_turns: branch.maxTurns,
    turns_used: branch.turnsUsed,
  };
}

/** The open side branch of a context; null where there is none. Throws `TRACE_CORRUPT`. */
export function readSideBranch(context: JsonObject): SideBranch | null {
  const stored = context[SIDE_BRANCH_KEY] ?? null;
  if (stored === null) return null;
  if (!isJsonObject(stored)) throw damaged('it is not an object');
  return {
    type: textOf(stored['type'], 'type'),
    branchId: textOf(stored['branch_id'], 'branch_id'),
    startHeadSequence: countOf(stored['start_head_seq'], 'start_head_seq'),
    startSequence: countOf(stored['start_sequence'], 'start_sequence'),
    startIteration: countOf(stored['start_iteration'], 'start_iteration'),
    maxTurns: countOf(stored['max_turns'], 'max_turns', LIMITS.runSideBranchTurns),
    turnsUsed: countOf(stored['turns_used'], 'turns_used'),
  };
}

/** The context without its side branch. */
export function withoutSideBranch(context: JsonObject): JsonObject {
  const { [SIDE_BRANCH_KEY]: _, ...rest } = context;
  return rest;
}

/** The messages of a branch: same kind and same id. Neighbours of its kind are not among them. */
export function messagesOfBranch(branch: SideBranch, messages: readonly TraceMessage[]): readonly TraceMessage[] {
  return messages.filter((one) => one.branchType === branch.type && one.branchId === branch.branchId);
}

/** Turns that the branch has had, as its stored messages say. */
export function turnsUsed(branch: SideBranch, messages: readonly TraceMessage[]): number {
  return messagesOfBranch(branch, messages).filter((one) => one.role === 'assistant').length;
}

function textOf(value: JsonValue | undefined, what: string): string {
  if (typeof value === 'string' && value !== '' && value.length <= LIMITS.runNameCodePoints) return value;
  throw damaged(what);
}

function countOf(value: JsonValue | undefined, what: string, most: number = Number.MAX_SAFE_INTEGER): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= most) return value;
  throw damaged(what);
}

function damaged(what: string): Error {
  return fail('TRACE_CORRUPT', `The stored side branch of the trace cannot be trusted: ${what}.`);
}
