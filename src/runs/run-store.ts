import { hasPending } from '../approvals/index.ts';
import {
  canonicalJson,
  type Clock,
  fail,
  HoldfastError,
  type JsonObject,
  JSON_PROFILES,
  LIMITS,
  readCanonicalJson,
} from '../core/index.ts';
import type { Principal } from '../sessions/index.ts';
import { appendFeed, isInstanceLive, type ReadTx, type Row, type Tx } from '../store/index.ts';
import { storedContext } from './config/stored-context.ts';
import { type DamagedRun, damageOf, SHOW_DAMAGE } from './damage.ts';
import type { RunPlace, RunRecord, RunStatus } from './model.ts';
import * as sql from './run-queries.ts';

export interface NewRun {
  readonly runId: string;
  readonly principal: Principal;
  readonly place: RunPlace;
  readonly agent: string;
  readonly task: string;
  readonly model: string;
  readonly context: JsonObject;
  readonly parent?: RunRecord['parent'];
  readonly ownerInstanceId: string;
  readonly now: number;
}

/** Writes down a run that begins, owned by this process. */
export async function insertRun(tx: Tx, run: NewRun): Promise<void> {
  const { principal, place, now } = run;
  await tx.run(sql.INSERT_RUN, [
    run.runId,
    principal.tenant,
    place.projectId,
    run.task,
    run.model,
    run.agent,
    canonicalJson(run.context),
    place.rootFrameId,
    place.branchId,
    place.turnId,
    principal.subject,
    canonicalJson([...principal.roles]),
    run.parent?.runId ?? null,
    run.parent?.call ?? null,
    run.ownerInstanceId,
    now,
    now,
  ]);
  await appendFeed(tx, { tenantId: principal.tenant, kind: 'run.started', reference: run.runId });
}

/** Numbers as they are stored, whatever somebody stored: read as numbers, one beyond 2^53 would be the whole page's end. */
export const exact = (text: string) => ({ text, integers: 'bigint' }) as const;

/**
 * The run, or RUN_NOT_FOUND: another tenant's run is not told apart from one that does not exist. Throws as `runOf`.
 */
export async function requireRun(tx: ReadTx, principal: Principal, runId: string): Promise<RunRecord> {
  const row = await tx.get(exact(sql.SELECT_RUN), [runId, principal.tenant]);
  if (!row) throw fail('RUN_NOT_FOUND', 'There is no such run.');
  return runOf(row);
}

/** The run that carries a turn out; null where there is none. */
export async function findRunOfTurn(
  tx: ReadTx,
  principal: Principal,
  turn: Pick<RunPlace, 'rootFrameId' | 'branchId' | 'turnId'>,
): Promise<RunRecord | null> {
  const { rootFrameId, branchId, turnId } = turn;
  const row = await tx.get(sql.SELECT_RUN_OF_TURN, [rootFrameId, branchId, turnId, principal.tenant]);
  return row ? runOf(row) : null;
}

export interface RunPage {
  readonly items: readonly RunRecord[];
  /** Those of the page whose own record cannot be read. */
  readonly damaged: readonly DamagedRun[];
  readonly next: string | null;
}

/** Runs of the principal's tenant, newest first, at most `limit`. */
export async function listRuns(
  tx: ReadTx,
  principal: Principal,
  query: { readonly before?: string; readonly limit: number },
): Promise<RunPage> {
  const params = [principal.tenant, query.before ?? '\u{10ffff}', query.limit + 1];
  const rows = await tx.all(exact(sql.LIST_RUNS), params);
  const page = rows.slice(0, query.limit).map(readRun);
  const next = rows.length > query.limit ? (page.at(-1)?.runId ?? null) : null;
  return { ...apart(page), next };
}

/** Runs that could be read, and those that could not. */
export function apart(runs: readonly (RunRecord | DamagedRun)[]): Omit<RunPage, 'next'> {
  return { items: runs.filter((run): run is RunRecord => !isDamaged(run)), damaged: runs.filter(isDamaged) };
}

export type RunEnd = Exclude<RunStatus, { status: 'running' }>;

/**
 * Moves a running run of this process on, and answers to where: one that was to wait or to complete is stopped where a
 * stop of it was committed before, by whomever. RUN_NOT_OWNED when it is no longer this process's.
 */
export async function moveRun(
  tx: Tx,
  run: Pick<RunRecord, 'runId' | 'principal'>,
  ownerInstanceId: string,
  to: RunEnd,
  now: number,
): Promise<RunEnd['status']> {
  let end = to;
  if (!(await move(tx, run.runId, ownerInstanceId, end, now))) {
    if (!(await isStopAsked(tx, run.runId, ownerInstanceId))) throw notOwned(run.runId);
    end = { status: 'stopped', finishedAt: now };
    if (!(await move(tx, run.runId, ownerInstanceId, end, now))) throw notOwned(run.runId);
  }
  await appendFeed(tx, { tenantId: run.principal.tenant, kind: `run.${end.status}`, reference: run.runId });
  return end.status;
}

async function move(tx: Tx, runId: string, ownerInstanceId: string, to: RunEnd, now: number): Promise<boolean> {
  const failed = to.status === 'failed' ? to : null;
  const finishedAt = to.status === 'completed' || to.status === 'stopped' ? to.finishedAt : null;
  const { changes } = await tx.run(sql.MOVE_RUN, [
    to.status,
    failed?.code ?? null,
    failed?.message ?? null,
    to.status === 'completed' ? to.text : null,
    finishedAt,
    now,
    runId,
    ownerInstanceId,
    to.status,
  ]);
  return changes === 1;
}

export function notOwned(runId: string): Error {
  return fail('RUN_NOT_OWNED', 'The run is no longer carried out by this process.', {
    details: { run_id: runId },
    resolve: `See how the run stands now: holdfast runs show ${runId}`,
  });
}

/** A living process carries out a run of whoever asks; `message` says which it is of what was asked for. */
export function runBusy(runId: string, message = 'A living process carries this run out.'): Error {
  return fail('RUN_BUSY', message, {
    details: { run_id: runId },
    resolve: `Wait for whoever carries the run out, or stop it: holdfast runs stop ${runId}`,
  });
}

/** INSTANCE_ENDED once the lease of this process has ended: a run that it was given would be let go of by the next. */
export async function requireLiving(tx: ReadTx, clock: Clock, instanceId: string): Promise<void> {
  if (await isInstanceLive(tx, clock, instanceId)) return;
  const text =
    'The lease of this process has ended, as while its machine sleeps: it begins no run and carries none on.';
  throw fail('INSTANCE_ENDED', text);
}

/** Whether a running run of this process was asked to stop; RUN_NOT_OWNED when it is no longer this process's. */
export async function isStopAsked(tx: ReadTx, runId: string, owner: string): Promise<boolean> {
  const row = await tx.get(sql.STOP_OF_OWN, [runId, owner]);
  if (row === undefined) throw notOwned(runId);
  return row['stop_requested_at'] !== null;
}

/** A running run of this process belongs to nobody from now; one that is not its own is left alone. */
export async function letGo(
  tx: Tx,
  { runId, principal }: Pick<RunRecord, 'runId' | 'principal'>,
  owner: string,
  now: number,
): Promise<void> {
  const { changes } = await tx.run(sql.LET_GO, [now, runId, owner]);
  if (changes === 1) await appendFeed(tx, { tenantId: principal.tenant, kind: 'run.interrupted', reference: runId });
}

/** Counts one model turn of a run of this process, with its tokens and its cost. RUN_NOT_OWNED. */
export async function countTurn(
  tx: Tx,
  runId: string,
  ownerInstanceId: string,
  used: {
    readonly promptTokens: number;
    readonly completionTokens: number;
    readonly cost: number;
    readonly now: number;
  },
): Promise<void> {
  const params = [used.promptTokens, used.completionTokens, used.cost, used.now, runId, ownerInstanceId];
  const { changes } = await tx.run(sql.COUNT_TURN, params);
  if (changes !== 1) throw notOwned(runId);
}

/** Takes a run over for this process. False when it has ended, or a living process has it. */
export async function takeRun(
  tx: Tx,
  run: Pick<RunRecord, 'runId' | 'principal'>,
  ownerInstanceId: string,
  now: number,
): Promise<boolean> {
  const params = [ownerInstanceId, now, run.runId, run.principal.tenant, ownerInstanceId, now];
  const { changes } = await tx.run(sql.TAKE_RUN, params);
  if (changes === 1)
    await appendFeed(tx, { tenantId: run.principal.tenant, kind: 'run.resumed', reference: run.runId });
  return changes === 1;
}

/** Lets a run of this process go on under another frozen configuration. RUN_NOT_OWNED. */
export async function adoptConfig(
  tx: Tx,
  run: Pick<RunRecord, 'runId' | 'principal'>,
  ownerInstanceId: string,
  to: { readonly context: JsonObject; readonly model: string },
): Promise<void> {
  const params = [canonicalJson(to.context), to.model, run.runId, ownerInstanceId];
  const { changes } = await tx.run(sql.ADOPT_CONFIG, params);
  if (changes !== 1) throw notOwned(run.runId);
  await appendFeed(tx, { tenantId: run.principal.tenant, kind: 'run.reconfigured', reference: run.runId });
}

/** The child run that a call of a run began, or null. */
export async function findChild(
  tx: ReadTx,
  { principal, runId }: Pick<RunRecord, 'principal' | 'runId'>,
  call: string,
): Promise<RunRecord | null> {
  const row = await tx.get(sql.SELECT_CHILD, [runId, call, principal.tenant]);
  return row ? runOf(row) : null;
}

/** The run and every run below it, the oldest first, at most `LIMITS.runTree`. */
export async function runTree(tx: ReadTx, principal: Principal, runId: string): Promise<readonly RunRecord[]> {
  return (await treeRows(tx, principal, runId)).map(runOf);
}

/** The same, with those whose own record cannot be read. */
export async function readTree(
  tx: ReadTx,
  principal: Principal,
  runId: string,
): Promise<readonly (RunRecord | DamagedRun)[]> {
  return (await treeRows(tx, principal, runId)).map(readRun);
}

const treeRows = (tx: ReadTx, { tenant }: Principal, runId: string): Promise<Row[]> =>
  tx.all(exact(sql.LIST_TREE), [runId, tenant, LIMITS.runTree]);

/** Whether nobody living carries a run of the tree out, and none of them waits for a person. */
export async function isReady(tx: ReadTx, tree: readonly RunRecord[]): Promise<boolean> {
  for (const { runId, principal, place, state } of tree) {
    if (state.status === 'running' && state.ownerInstanceId !== null) return false;
    if (await hasPending(tx, principal, { rootFrameId: place.rootFrameId, runId })) return false;
  }
  return true;
}

/**
 * The run that a row says. Throws RUN_RECORD_BROKEN or JSON_NOT_CANONICAL for a row that was changed behind the program's
 * back; each names the command that shows what is damaged.
 */
export function runOf(row: Row): RunRecord {
  try {
    return recordOf(row);
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.family !== 'corruption') throw error;
    throw fail(error.code, error.message, { cause: error, resolve: SHOW_DAMAGE });
  }
}

/** The run of a row, or what is wrong with the row itself. */
export function readRun(row: Row): RunRecord | DamagedRun {
  try {
    return runOf(row);
  } catch (error) {
    const damage = damageOf(error);
    if (damage === null) throw error;
    return { runId: text(row, 'trace_id'), tenant: text(row, 'tenant_id'), ...damage };
  }
}

export const isDamaged = (run: RunRecord | DamagedRun): run is DamagedRun => 'why' in run;

function recordOf(row: Row): RunRecord {
  if (Object.values(row).some((value) => typeof value === 'bigint' && !Number.isSafeInteger(Number(value))))
    throw fail('RUN_RECORD_BROKEN', 'A stored number of a run is beyond 2^53.');
  return {
    runId: text(row, 'trace_id'),
    principal: { tenant: text(row, 'tenant_id'), subject: text(row, 'subject_id'), roles: rolesOf(row) },
    place: {
      projectId: text(row, 'project_id'),
      rootFrameId: text(row, 'root_frame_id'),
      branchId: text(row, 'branch_id'),
      turnId: text(row, 'turn_id'),
    },
    agent: text(row, 'agent'),
    task: text(row, 'task'),
    model: text(row, 'model'),
    context: storedContext(text(row, 'context')),
    parent:
      row['parent_trace_id'] === null ? null : { runId: text(row, 'parent_trace_id'), call: text(row, 'parent_call') },
    state: stateOf(row),
    turnsUsed: Number(row['turns_used']),
    promptTokens: Number(row['total_prompt_tokens']),
    completionTokens: Number(row['total_completion_tokens']),
    cost: Number(row['total_cost_usd']),
    stopRequested: row['stop_requested_at'] !== null,
    createdAt: Number(row['created_at']),
    updatedAt: Number(row['updated_at']),
  };
}

const text = (row: Row, column: string): string => String(row[column] ?? '');

function rolesOf(row: Row): string[] {
  const roles = readCanonicalJson(text(row, 'roles') || '[]', JSON_PROFILES.packages);
  return Array.isArray(roles) ? roles.filter((role) => typeof role === 'string') : [];
}

function stateOf(row: Row): RunStatus {
  const status = text(row, 'status');
  const finishedAt = Number(row['finished_at']);
  switch (status) {
    case 'running':
      return { status, ownerInstanceId: row['owner_instance_id'] === null ? null : text(row, 'owner_instance_id') };
    case 'waiting_confirmation':
      return { status };
    case 'completed':
      return { status, text: text(row, 'result_text'), finishedAt };
    case 'failed':
      return { status, code: text(row, 'error_code'), message: text(row, 'error_message') };
    case 'stopped':
      return { status, finishedAt };
    default:
      throw fail('RUN_RECORD_BROKEN', 'The stored status of a run is not one of the known words.');
  }
}
