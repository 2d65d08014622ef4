import { z } from 'zod';
import { LIMITS } from '../../core/index.ts';
import { id, json, next, text, time } from './common.ts';

const tokens = z.strictObject({ prompt: z.int(), completion: z.int() });
const runStatus = z.enum(['running', 'waiting_confirmation', 'completed', 'failed', 'stopped']);
const runOutcome = z.enum(['unknown', 'interrupted']).nullable();

const callBase = {
  call_id: text,
  tool: text,
  arguments: text.nullable(),
  status_ref: text.nullable(),
  retries: z.int(),
  shadow: z.strictObject({ would: z.string(), reason: z.string() }).nullable(),
};
const settledBy = z.enum(['receipt', 'status_query', 'observation', 'person']).nullable();

/** A call and what became of it: the one outcome type, as every surface writes it. */
export const call = z.discriminatedUnion('outcome', [
  z.strictObject({ ...callBase, outcome: z.null() }),
  z.strictObject({ ...callBase, outcome: z.literal('not_started'), code: text, reason: text, resolve: text }),
  z.strictObject({
    ...callBase,
    outcome: z.literal('done'),
    output: json,
    verified: z.boolean(),
    settled_by: settledBy,
  }),
  z.strictObject({ ...callBase, outcome: z.literal('not_done'), code: text, reason: text, settled_by: settledBy }),
  z.strictObject({
    ...callBase,
    outcome: z.literal('unknown'),
    code: text,
    reason: text,
    status_ref: text.nullable(),
    resolve: text,
  }),
  z.strictObject({ ...callBase, outcome: z.literal('failed'), code: text, reason: text }),
]);

const runBase = {
  run_id: id,
  session_id: id,
  agent: text,
  task: text,
  status: runStatus,
  outcome: runOutcome,
  reason: text,
  turns_used: z.int(),
  tokens,
  created_at: time,
  updated_at: time,
};

const finding = z.strictObject({
  severity: text,
  category: text,
  claim: text,
  evidence: z.array(text),
  status: z.enum(['open', 'claimed', 'addressed_pending_review', 'unaddressed']),
});
const advice = z.strictObject({
  request_id: id,
  outcome: text.nullable(),
  risk: text.nullable(),
  summary: text.nullable(),
});

/** How the supervision of a run stands, proved as it is read. */
const supervision = z.strictObject({
  auto_run_id: id,
  status: text,
  reason: text.nullable(),
  stop_reason: text.nullable(),
  claimed_status: text.nullable(),
  reviews: z.int(),
  repairs: z.int(),
  review_tokens: tokens,
  summary: text.nullable(),
  findings: z.array(finding),
  advice: z.array(advice),
});

/** Why a reply ended, where it did not come to its end by itself: its text may not be whole. */
const cut = z.enum(['length', 'content_filter', 'other']).nullable();

const sideBranchBase = {
  branch_id: id,
  type: text,
  turns_used: z.int(),
  max_turns: z.int(),
  state: z.enum(['open', 'closed']),
  text,
  cut,
};
const sideBranch = z.strictObject(sideBranchBase);

/** A short detour of a run, with what it was asked. */
const askedSideBranch = z.strictObject({ ...sideBranchBase, instruction: text });
export const sideBranchPage = z.strictObject({ side_branches: z.array(askedSideBranch), next });

/** With each of its turns: what it said, and which tools it asked for; it has none. */
export const sideBranchStory = z.strictObject({
  ...sideBranchBase,
  instruction: text,
  turns: z.array(z.strictObject({ text, cut, proposed: z.array(text) })),
});

/** The goal tree beside a run: carried and shown, not interpreted. */
export const runGoals = z.strictObject({ run_id: id, goals: json });

/** One run whole: how it stands, what waits, what became of each call. */
export const run = z.strictObject({
  ...runBase,
  damage: z.strictObject({ code: text, why: text }).nullable(),
  text,
  /** Of its last reply. */
  cut,
  calls: z.array(call),
  /** The `after` of the page of older calls. */
  calls_next: next,
  summary: z.strictObject({ calls: z.int(), reported_done: z.int(), verified: z.int(), unknown: z.int() }),
  supervision: supervision.nullable(),
  side_branches: z.array(sideBranch),
  goals: json,
  pending: z.array(id),
  parent_run_id: id.nullable(),
});

/** One run of a list. */
export const runEntry = z.strictObject(runBase);
/** A run whose own record cannot be read: nothing is answered from it. */
const damagedEntry = z.strictObject({ run_id: id, code: text, why: text });
export const runPage = z.strictObject({ runs: z.array(runEntry), damaged: z.array(damagedEntry), next });

/** What a run is begun with: a task, and the session it goes on with or the project of a new one. */
export const newRun = z.strictObject({
  task: z
    .string()
    .min(1)
    .max(LIMITS.runTaskCodePoints * 2),
  agent: z.string().min(1).max(LIMITS.httpIdUnits).optional(),
  session_id: id.optional(),
  branch_id: id.optional(),
  project_id: id.optional(),
});
export const begunRun = z.strictObject({ run_id: id, session_id: id, status: z.literal('running') });

/** A run that was asked to go on, or to stop. */
export const movedRun = z.strictObject({ run_id: id, status: z.enum(['started', 'stopping']) });
