import {
  type Head,
  type HeadProblem,
  readHead,
  type RunAudit,
  type SessionHead,
  writeHead,
} from '../autonomy/index.ts';
import { auditRequests } from '../approvals/index.ts';
import { toldOtherwise } from '../calls/index.ts';
import { LIMITS } from '../core/index.ts';
import type { OperationsAudit } from '../operations/index.ts';
import { auditRunRecords } from '../runs/index.ts';
import { auditedSessions, auditSession, type Principal, type SessionProblem } from '../sessions/index.ts';
import type { Runtime } from './runtime.ts';

/** What everything that is stored came to when it was proved again. */
export interface WholeAudit {
  readonly passed: boolean;
  readonly sessions: number;
  readonly runs: number;
  readonly runProblems: RunAudit['problems'];
  readonly sessionProblems: readonly (SessionProblem & { readonly rootFrameId: string })[];
  readonly operationErrors: readonly string[];
  /** Operations proved from their own records alone, since their tool is not registered as it was then. */
  readonly operationsWithoutTool: number;
  /** Records of runs and permission requests that cannot be read: where a run's process is dead, it is left as it is. */
  readonly damaged: readonly DamagedRecord[];
  /** Null where no head was held against it. */
  readonly head: {
    readonly madeAt: number;
    readonly sessions: number;
    readonly problems: readonly HeadProblem[];
  } | null;
}

/** A stored record that disagrees with itself. */
export interface DamagedRecord {
  readonly what: 'run' | 'permission_request';
  readonly id: string;
  readonly code: string;
  readonly why: string;
}

async function damagedRecords({ calls, store }: Runtime, principal: Principal): Promise<readonly DamagedRecord[]> {
  const runs = await auditRunRecords(calls, principal.tenant);
  const requests = await auditRequests(store, principal);
  return [
    ...runs.map(({ runId: id, code, why }) => ({ what: 'run', id, code, why }) as const),
    ...requests.map(({ requestId: id, code, why }) => ({ what: 'permission_request', id, code, why }) as const),
  ];
}

async function sessionsOf({ store }: Runtime, principal: Principal): Promise<string[]> {
  const found: string[] = [];
  for (;;) {
    const page = await store.read('app.audit', (tx) => auditedSessions(tx, principal, found.at(-1)));
    found.push(...page);
    if (page.length < LIMITS.sessionPageRows) return found;
  }
}

/** What an audit of the operations found, as words for people: what SQLite says of the database, too, else nobody would. */
export function auditFindings(found: OperationsAudit): readonly string[] {
  const { integrity_check: integrity, foreign_key_violations: references, semantic_errors: errors } = found;
  return [
    ...integrity.filter((line) => line !== 'ok'),
    ...references.map(
      ([table, row, parent]) => `row ${row} of ${table} refers to a row of ${parent} that is not there`,
    ),
    ...errors,
  ];
}

/**
 * Proves everything of the principal's tenant again: the ledger against what people read, each supervised run, the
 * records of runs and permission requests, the operations, and what the ledger tells of them; and, where a head is given, that nothing it covers was
 * changed or taken away since. With a key the head must be signed with it. Changes nothing. AUDIT_HEAD_INVALID.
 */
export async function auditEverything(
  runtime: Runtime,
  principal: Principal,
  given: { readonly text: string; readonly key: string | null } | null,
): Promise<WholeAudit> {
  const head = given === null ? null : readHead(given.text, given.key);
  const sessions = await sessionsOf(runtime, principal);
  const runProblems: RunAudit['problems'][number][] = [];
  const sessionProblems: WholeAudit['sessionProblems'][number][] = [];
  const told: string[] = [];
  let runs = 0;
  for (const rootFrameId of sessions) {
    const audited = await runtime.autonomy.auditRuns(principal, rootFrameId);
    runs += audited.runs;
    runProblems.push(...audited.problems);
    const { problems } = await runtime.store.read('app.audit', (tx) => auditSession(tx, principal, rootFrameId));
    sessionProblems.push(...problems.map((problem) => ({ ...problem, rootFrameId })));
    told.push(...(await toldOtherwise(runtime.calls, principal, rootFrameId)));
  }
  const operations = await runtime.operations.audit();
  const held = head && (await holdAgainst(runtime, principal, head));
  const damaged = await damagedRecords(runtime, principal);
  const problems = runProblems.length + sessionProblems.length + damaged.length + (held?.problems.length ?? 0);
  const passed = operations.passed && told.length === 0 && problems === 0;
  const operationsWithoutTool = operations.counts.without_their_tool ?? 0;
  const operationErrors = [...auditFindings(operations), ...told];
  const found = { runProblems, sessionProblems, damaged, operationErrors, operationsWithoutTool };
  return { passed, sessions: sessions.length, runs, ...found, head: held };
}

async function holdAgainst({ autonomy }: Runtime, principal: Principal, { madeAt, sessions }: Head) {
  const problems: HeadProblem[] = [];
  for (const one of sessions) problems.push(...(await autonomy.checkHead(principal, one)));
  return { madeAt, sessions: sessions.length, problems };
}

/** The head of everything of the principal's tenant now, as the text of its file. See `writeHead`. */
export async function makeHead(runtime: Runtime, principal: Principal, privatePem: string | null): Promise<string> {
  const sessions: SessionHead[] = [];
  for (const rootFrameId of await sessionsOf(runtime, principal))
    sessions.push(await runtime.autonomy.sessionHead(principal, rootFrameId));
  return writeHead({ madeAt: runtime.calls.clock.nowMs(), tenant: principal.tenant, sessions }, privatePem);
}
