import { decidedRequests } from '../approvals/index.ts';
import { digestJson, type JsonObject, RowChain } from '../core/index.ts';
import { type ChainPoint, ledgerChain, plainRow } from '../sessions/index.ts';
import type { ReadTx, Row } from '../store/index.ts';
import { codeOf } from './errors.ts';
import { isTerminal } from './machine.ts';
import type { AutoRun } from './model.ts';
import * as sql from './queries.ts';

/** What a head says of one session: chains over what is only ever added to, digests of what has ended. */
export interface SessionHead {
  readonly rootFrameId: string;
  readonly groups: ChainPoint;
  readonly events: ChainPoint;
  readonly autoEvents: ChainPoint;
  /** Every ended run with the digest of all its rows. */
  readonly runs: ReadonlyMap<string, string>;
  /** Every decided permission request with the digest of what was asked and said. */
  readonly decisions: ReadonlyMap<string, string>;
}

/** Something that is not as a head says. */
export interface HeadProblem {
  readonly rootFrameId: string;
  readonly what: 'session' | 'groups' | 'events' | 'auto_events' | 'run' | 'decision';
  readonly problem: 'missing' | 'changed';
  /** The run or the request; null for what is about the whole session. */
  readonly reference: string | null;
}

/** Numbers as they are stored: one beyond 2^53 is what was changed, and not the end of the reading. */
const exact = (text: string) => ({ text, integers: 'bigint' }) as const;

async function autoEventChain(
  tx: ReadTx,
  rootFrameId: string,
  through: number = Number.MAX_SAFE_INTEGER,
): Promise<ChainPoint> {
  const chain = new RowChain();
  let last = 0;
  for (const row of await tx.all(exact(sql.RAW_EVENTS), [rootFrameId, through])) {
    chain.add(plainRow(row));
    last = Number(row['event_cursor']);
  }
  return { through: last, count: chain.count, sha256: chain.digest };
}

/** All rows of an ended run, which nothing changes any more. AUTO_PROOF_FAILED where its own cannot be read. */
async function closureDigest(tx: ReadTx, row: Row): Promise<string> {
  const run = sql.RUNS.read(row);
  const rows = async (text: string): Promise<JsonObject[]> => (await tx.all(exact(text), [run.run_id])).map(plainRow);
  return digestJson({
    version: 1,
    run: run as unknown as JsonObject,
    reviews: await rows(sql.REVIEWS_OF_RUN),
    findings: await rows(sql.FINDINGS_OF_RUN),
    repairs: await rows(sql.REPAIRS_OF_RUN),
    bindings: await rows(sql.BINDINGS_OF_RUN),
    assessments: await rows(sql.ASSESSMENTS_OF_RUN),
  });
}

async function endedRuns(tx: ReadTx, rootFrameId: string, digestOf = closureDigest): Promise<Map<string, string>> {
  const ended = new Map<string, string>();
  for (const row of await tx.all(exact(sql.RUNS_OF_ROOT), [rootFrameId]))
    if (isTerminal(row['status'] as AutoRun['status']) && row['trust_state'] === 'local')
      ended.set(String(row['run_id']), await digestOf(tx, row));
  return ended;
}

/** As `closureDigest`; no digest where the run's row cannot be read, which is no row that a head was made of. */
async function closureDigestIfAny(tx: ReadTx, row: Row): Promise<string> {
  try {
    return await closureDigest(tx, row);
  } catch (error) {
    if (codeOf(error) !== 'AUTO_PROOF_FAILED') throw error;
    return '';
  }
}

/** What a session is now, as a head states it. */
export async function sessionHead(tx: ReadTx, rootFrameId: string): Promise<SessionHead> {
  return {
    rootFrameId,
    groups: await ledgerChain(tx, rootFrameId, 'groups'),
    events: await ledgerChain(tx, rootFrameId, 'events'),
    autoEvents: await autoEventChain(tx, rootFrameId),
    runs: await endedRuns(tx, rootFrameId),
    decisions: await decidedRequests(tx, rootFrameId),
  };
}

/** Holds a session against what a head says of it. What was added since is no problem; what changed or went is one. */
export async function checkSessionHead(tx: ReadTx, head: SessionHead): Promise<HeadProblem[]> {
  const { rootFrameId } = head;
  const problems: HeadProblem[] = [];
  const hold = (what: HeadProblem['what'], then: ChainPoint, now: ChainPoint): void => {
    if (then.sha256 === now.sha256 && then.count === now.count && then.through === now.through) return;
    problems.push({ rootFrameId, what, problem: now.count < then.count ? 'missing' : 'changed', reference: null });
  };
  const holdEach = (
    what: HeadProblem['what'],
    then: ReadonlyMap<string, string>,
    now: ReadonlyMap<string, string>,
  ): void => {
    for (const [reference, digest] of then) {
      const at = now.get(reference);
      if (at === digest) continue;
      problems.push({ rootFrameId, what, problem: at === undefined ? 'missing' : 'changed', reference });
    }
  };
  hold('groups', head.groups, await ledgerChain(tx, rootFrameId, 'groups', head.groups.through));
  hold('events', head.events, await ledgerChain(tx, rootFrameId, 'events', head.events.through));
  hold('auto_events', head.autoEvents, await autoEventChain(tx, rootFrameId, head.autoEvents.through));
  holdEach('run', head.runs, await endedRuns(tx, rootFrameId, closureDigestIfAny));
  holdEach('decision', head.decisions, await decidedRequests(tx, rootFrameId));
  return problems;
}
