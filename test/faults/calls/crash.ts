// One crash and what comes after it: start, kill, reopen, settle, finish; with the other side in its own process.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { LIMITS } from '../../../src/core/index.ts';
import { type CallOutcome, Holdfast } from '../../../src/index.ts';
import { settleByPerson } from '../../../src/calls/index.ts';
import { auditEverything, viewOfRun } from '../../../src/app/index.ts';
import { builtProgram } from '../../support/index.ts';
import { newDataFolder } from '../../support/new-database.ts';
import { defineAgent, KNOWN_DEAD_MS } from './agent.ts';
import { type Committed, type Evidence, type Told, violations } from './invariants.ts';

const here = import.meta.dirname;

/** One book of the other side. */
export interface OtherSide {
  readonly url: string;
  committed(): Promise<readonly Committed[]>;
  /** Once whoever wrote into it is gone, and all that they sent is committed. */
  quiet(): Promise<void>;
}

/** The process of the other side; each crash has a book of its own in it. */
export interface OtherSideProcess {
  book(name: string): OtherSide;
  stop(): void;
}

export async function startOtherSide(log: string): Promise<OtherSideProcess> {
  const program = join(here, 'other-side-program.ts');
  const child = spawn(process.execPath, [program, log], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout });
  const [first] = await new Promise<string[]>((resolve) => void lines.once('line', (line) => resolve([line])));
  const { port } = JSON.parse(first ?? '{}') as { port: number };
  const book = (name: string): OtherSide => {
    const url = `http://127.0.0.1:${port}/${name}`;
    const ask = async (what: string): Promise<unknown> => (await fetch(`${url}/${what}`)).json();
    return {
      url,
      committed: async () => (await ask('ledger')) as Committed[],
      quiet: async () => void (await ask('quiet')),
    };
  };
  return { book, stop: () => void child.kill('SIGKILL') };
}

/** How the child is to die: at a named point, or so many milliseconds after it has opened its store. */
export type Death = { readonly point: string; readonly at: number } | { readonly afterMs: number };

/** How often a process that lived passed each fault point; of one that died nothing is known. */
export type Passed = Readonly<Record<string, number>>;

export interface Crash {
  readonly killed: boolean;
  readonly passed: Passed | null;
  readonly violations: readonly string[];
}

/**
 * Runs the agent until it dies that way, brings everything to its end, and answers what was wrong on the way. With
 * `recovery` the process that comes after it dies too, while it opens what was left, and `killed` is about that one.
 */
export async function crashOnce(death: Death | null, other: OtherSide, recovery?: Death | null): Promise<Crash> {
  const place = mkdtempSync(join(tmpdir(), 'holdfast-crash-'));
  try {
    const dataDir = await newDataFolder(join(place, 'data'));
    const first = await runUntilDead(dataDir, other.url, 'run', death);
    let { killed, passed } = first;
    await other.quiet();
    if (recovery !== undefined) ({ killed, passed } = await runUntilDead(dataDir, other.url, 'recover', recovery));
    const aheadMs = recovery === undefined ? KNOWN_DEAD_MS : 2 * KNOWN_DEAD_MS;
    return { killed, passed, violations: await afterwards(dataDir, other, first.told, aheadMs) };
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

async function runUntilDead(
  dataDir: string,
  url: string,
  what: 'run' | 'recover',
  death: Death | null,
): Promise<{ killed: boolean; told: Told[]; passed: Passed | null }> {
  const where = death && 'point' in death ? [death.point, String(death.at)] : [];
  const child = spawn(process.execPath, [builtProgram(join(here, 'agent-program.ts')), dataDir, url, what, ...where], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const told: Told[] = [];
  let passed: Passed | null = null;
  createInterface({ input: child.stdout }).on('line', (line) => {
    const said = JSON.parse(line) as { open?: true; told?: string; outcome?: CallOutcome; passed?: Passed };
    if (said.open && death && 'afterMs' in death) void killLater(child, death.afterMs);
    if (said.told !== undefined && said.outcome) told.push({ callId: said.told, outcome: said.outcome });
    passed = said.passed ?? passed;
  });
  const signal = await new Promise<NodeJS.Signals | null>(
    (resolve) => void child.on('close', (_code, by) => resolve(by)),
  );
  return { killed: signal === 'SIGKILL', told, passed };
}

async function killLater(child: ChildProcess, ms: number): Promise<void> {
  await sleep(ms);
  child.kill('SIGKILL');
}

/** Everything after the crash: reopened when it is known to be dead, twice over, then settled and finished. */
async function afterwards(
  dataDir: string,
  other: OtherSide,
  told: readonly Told[],
  aheadMs: number,
): Promise<readonly string[]> {
  const first = await look(dataDir, other, aheadMs, async () => undefined);
  const again = await look(dataDir, other, aheadMs, async () => undefined);
  const atReopening = await other.committed();
  const found = violations({ told, world: atReopening, ...first, when: 'reopened' });
  if (JSON.stringify(first.view?.calls) !== JSON.stringify(again.view?.calls))
    found.push('C9: a second recovery changed what the first one left');
  const last = await look(dataDir, other, LATER_MS, (holdfast, runId) => finish(holdfast, other, runId));
  const world = await other.committed();
  found.push(...violations({ told, world, ...last, when: 'finished' }));
  return found;
}

/** By then every lease that the dead process held is over. */
const LATER_MS = 120_000;

type Looked = Pick<Evidence, 'view' | 'requests' | 'audit'>;

async function asked({ approvals, principal }: Holdfast['runtime']): Promise<Evidence['requests']> {
  const { items } = await approvals.list(principal, { limit: 50 });
  return items.map(({ document, status }) => ({ callId: document['tool_call_id'] as string, status }));
}

/** Operations, the ledger of every session, every run, and the database's own checks. */
async function wholeAudit(runtime: Holdfast['runtime']): Promise<Evidence['audit']> {
  const { passed, ...found } = await auditEverything(runtime, runtime.principal, null);
  return { passed, problems: passed ? [] : [JSON.stringify(found)] };
}

async function look(
  dataDir: string,
  other: OtherSide,
  laterMs: number,
  act: (holdfast: Holdfast, runId: string) => Promise<void>,
): Promise<Looked> {
  const clock = { nowMs: () => Date.now() + laterMs };
  const holdfast = await Holdfast.open({ dataDir, instanceLeaseMs: LIMITS.instanceLeaseMs, clock });
  try {
    defineAgent(holdfast, other.url);
    const { runtime } = holdfast;
    const [run] = (await runtime.runs.list(runtime.principal, { limit: 1 })).items;
    if (run) await act(holdfast, run.runId);
    const view = run ? await viewOfRun(runtime, runtime.principal, run.runId) : null;
    return { view, requests: await asked(runtime), audit: await wholeAudit(runtime) };
  } finally {
    await holdfast.close();
  }
}

/** Asks where asking helps, lets a person look at the other side's log where it does not, and resumes until it is over. */
async function finish(holdfast: Holdfast, other: OtherSide, runId: string): Promise<void> {
  const { runtime } = holdfast;
  const { principal, calls } = runtime;
  for (let round = 0; round < 12; round += 1) {
    const view = await viewOfRun(runtime, principal, runId);
    if (view.status === 'completed') return;
    for (const request of view.pending)
      await runtime.approvals.decide(principal, [
        { requestId: request.requestId, digest: request.digest, decision: 'approve' },
      ]);
    for (const call of view.calls) if (call.outcome?.state === 'unknown') await settleCall(call.statusRef ?? '');
    await (await runtime.runs.resume(principal, runId)).ended;
  }

  async function settleCall(statusRef: string): Promise<void> {
    const stored = await runtime.operations.show(principal, statusRef, Math.floor(calls.clock.nowMs() / 1000));
    // What can be asked is asked, and delivered again where it is final that it did not happen, when the run resumes.
    if (stored.tool === 'issue') return;
    const happened = (await other.committed()).some((one) => one.reference === stored.idempotencyKey);
    await settleByPerson(calls, principal, statusRef, {
      verdict: happened ? 'done' : 'not_done',
      reason: 'I looked at the log of the other side.',
    });
  }
}
