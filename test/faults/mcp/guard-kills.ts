import { builtProgram, installedCommand } from '../../support/index.ts';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Holdfast } from '../../../src/app/index.ts';
import { Principal } from '../../../src/operations/index.ts';
import { newDataFolder } from '../../support/new-database.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const SERVER = builtProgram(join(ROOT, 'test', 'fixtures', 'mcp', 'guarded-server.ts'));
export const COMMAND = installedCommand();
export const CALLS = 8;
export const POLICY = {
  version: 1,
  name: 'kills',
  revision: '1',
  server: 'world',
  // What is promised about the errors of a tool is no promise about whoever was killed.
  tools: { read: { effect: 'read' }, write: { effect: 'once', on_error: 'not_done' } },
  rules: [
    { id: 'reads', tools: ['read'], decision: 'allow' },
    { id: 'writes', tools: ['write'], decision: 'allow' },
  ],
};

export type Victim = 'guard' | 'server' | 'host';

export interface Kill {
  readonly victim: Victim;
  /** After the first call was sent. */
  readonly afterMs: number;
}

export interface KillReport {
  readonly faults: readonly string[];
  /** How the calls stood for their host when the dust had settled, before anything was repeated. */
  readonly told: { readonly success: number; readonly unknown: number; readonly nothing: number };
}

/** What the host was told of call `k`: a success, the word of the guard, or nothing. */
export type Told = 'success' | 'not_started' | 'not_done' | 'unknown' | 'nothing';

/**
 * Kills one of the three in the middle of eight writing calls, then starts a new guard on what is left and repeats what
 * the ledger does not know to be done. The file of the world says what really happened, and is the judge.
 */
export async function killOnce(kill: Kill): Promise<KillReport> {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-guard-kill-'));
  try {
    writeFileSync(join(home, 'policy.json'), JSON.stringify(POLICY));
    await newDataFolder(join(home, 'data'));
    const first = await firstLife(home, kill);
    const known = await ledger(home);
    const repeated = Array.from({ length: CALLS }, (_, k) => k).filter(
      (k) => !known.done.has(k) && first[k] !== 'success',
    );
    const second = await secondLife(home, repeated);
    return reportOf(first, judge(worldOf(home), first, second, known.done));
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

export function reportOf(first: readonly Told[], faults: readonly string[]): KillReport {
  const count = (word: Told): number => first.filter((told) => told === word).length;
  return { faults, told: { success: count('success'), unknown: count('unknown'), nothing: count('nothing') } };
}

function start(home: string): ChildProcess {
  const server = [process.execPath, SERVER, join(home, 'world.jsonl')];
  const args = ['--disable-warning=ExperimentalWarning', COMMAND, 'mcp', '--policy', join(home, 'policy.json')];
  const child = spawn(process.execPath, [...args, '--data-dir', join(home, 'data'), '--wait', '0', '--', ...server], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin?.on('error', () => undefined);
  child.stderr?.resume();
  return child;
}

/** Reads the host's side of a guard; `told` is filled as answers come. */
function listen(child: ChildProcess, told: Told[], onReady: () => void): void {
  let held = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    held += text;
    for (let at = held.indexOf('\n'); at >= 0; at = held.indexOf('\n')) {
      const message = JSON.parse(held.slice(0, at)) as {
        id?: number;
        method?: string;
        result?: Record<string, unknown>;
      };
      held = held.slice(at + 1);
      if (message.method === 'world/echo') onReady();
      else if (typeof message.id === 'number' && message.id < CALLS) told[message.id] = toldBy(message.result);
    }
  });
}

export function toldBy(result: Record<string, unknown> | undefined): Told {
  if (result === undefined) return 'unknown';
  if (result['isError'] !== true) return 'success';
  const about = (result['_meta'] as Record<string, { outcome: Told }> | undefined)?.['holdfast/outcome'];
  return about?.outcome ?? 'unknown';
}

const message = (value: object): string => `${JSON.stringify({ jsonrpc: '2.0', ...value })}\n`;
const call = (k: number): string =>
  message({ id: k, method: 'tools/call', params: { name: 'write', arguments: { k } } });

async function firstLife(home: string, kill: Kill): Promise<readonly Told[]> {
  const told = Array.from({ length: CALLS }, (): Told => 'nothing');
  const child = start(home);
  const gone = once(child, 'close');
  const ready = new Promise<void>((resolve) => listen(child, told, resolve));
  child.stdin?.write(message({ method: 'ready?' }));
  await Promise.race([ready, gone]);
  for (let k = 0; k < CALLS; k += 1) child.stdin?.write(call(k));
  await pause(kill.afterMs);
  if (kill.victim === 'guard') child.kill('SIGKILL');
  else if (kill.victim === 'host') {
    child.stdin?.destroy();
    child.stdout?.destroy();
  } else for (const pid of childrenOf(child.pid)) process.kill(pid, 'SIGKILL');
  if (kill.victim === 'server') setTimeout(() => child.stdin?.end(), 300);
  const late = setTimeout(() => child.kill('SIGKILL'), 15_000);
  await gone;
  clearTimeout(late);
  return told;
}

function childrenOf(pid: number | undefined): number[] {
  const path = `/proc/${pid}/task/${pid}/children`;
  return existsSync(path) ? readFileSync(path, 'utf8').split(' ').filter(Boolean).map(Number) : [];
}

/** What the ledger knows, as another process reads it. */
export async function ledger(home: string): Promise<{ readonly done: ReadonlySet<number> }> {
  const holdfast = await Holdfast.open({ dataDir: join(home, 'data') });
  try {
    const { principal, operations } = holdfast.runtime;
    const options = { limit: 50, now: Math.floor(Date.now() / 1000) };
    const page = await operations.list(new Principal(principal.tenant, principal.subject), options);
    const done = page.operations.filter((one) => one.known === 'done');
    return { done: new Set(done.map((one) => (JSON.parse(one.argumentsJson) as { k: number }).k)) };
  } finally {
    await holdfast.close();
  }
}

async function secondLife(home: string, repeated: readonly number[]): Promise<ReadonlyMap<number, Told>> {
  const told = Array.from({ length: CALLS }, (): Told => 'nothing');
  const child = start(home);
  const gone = once(child, 'close');
  listen(child, told, () => undefined);
  for (const k of repeated) child.stdin?.write(call(k));
  for (let waited = 0; waited < 10_000 && repeated.some((k) => told[k] === 'nothing'); waited += 20) await pause(20);
  child.stdin?.end();
  await gone;
  return new Map(repeated.map((k) => [k, told[k] ?? 'nothing']));
}

function worldOf(home: string): readonly number[] {
  const path = join(home, 'world.jsonl');
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => (JSON.parse(line) as { k: number }).k);
}

export function judge(
  world: readonly number[],
  first: readonly Told[],
  second: ReadonlyMap<number, Told>,
  done: ReadonlySet<number>,
): string[] {
  const faults: string[] = [];
  for (let k = 0; k < CALLS; k += 1) {
    const happened = world.filter((one) => one === k).length;
    const told = `${first[k]}, then ${second.get(k) ?? 'not repeated'}`;
    if (happened > 1) faults.push(`call ${k} happened ${happened} times (${told})`);
    if (happened === 0 && (first[k] === 'success' || second.get(k) === 'success' || done.has(k)))
      faults.push(`call ${k} was told or recorded as done and never happened (${told})`);
    const deniedFirst = first[k] === 'not_done' || first[k] === 'not_started';
    if (happened === 1 && deniedFirst && second.get(k) !== 'success')
      faults.push(`call ${k} happened and was told as not done (${told})`);
    if (second.get(k) === 'nothing') faults.push(`call ${k} was repeated and nothing was told`);
  }
  return faults;
}
