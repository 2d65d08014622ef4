import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installedCommand } from '../../scripts/installed.ts';
import { effectsSchema } from '../../src/effects/index.ts';
import type { Store } from '../../src/store/index.ts';
import { openSqliteStore } from '../../src/store/sqlite/index.ts';
import type { BenchRow, BenchSuite } from '../suite.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const SERVER = join(ROOT, 'test/fixtures/mcp/guarded-server.ts');
const COMMAND = installedCommand();
const ROUNDS = 12;
const CALLS = 16;
/** So many calls of each tool later the guard is measured again: by then its code is compiled for what it does. */
const WARM_UP = 1000;
/** What a tool that writes a file may be given. Characters. */
const LONG = 10_000;
const POLICY = {
  version: 1,
  name: 'bench',
  revision: '1',
  server: 'bench',
  tools: { read: { effect: 'read' } },
  rules: [
    { id: 'reads', tools: ['read'], decision: 'allow' },
    { id: 'writes', tools: ['write'], decision: 'allow' },
  ],
};

/** A server, bare or behind the guard, as its host sees it. */
class Peer {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, () => void>();
  #next = 0;
  #held = '';

  constructor(args: readonly string[], cwd: string) {
    const flags = ['--disable-warning=ExperimentalWarning'];
    this.#child = spawn(process.execPath, [...flags, ...args], { cwd, stdio: ['pipe', 'pipe', 'ignore'] });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => this.#take(text));
  }

  #take(text: string): void {
    this.#held += text;
    for (let at = this.#held.indexOf('\n'); at >= 0; at = this.#held.indexOf('\n')) {
      const { id } = JSON.parse(this.#held.slice(0, at)) as { id: number };
      this.#held = this.#held.slice(at + 1);
      this.#waiting.get(id)?.();
      this.#waiting.delete(id);
    }
  }

  /** Milliseconds from asking to the answer. */
  async call(name: string, text?: string): Promise<number> {
    this.#next += 1;
    const id = this.#next;
    const answered = new Promise<void>((resolve) => this.#waiting.set(id, resolve));
    const started = performance.now();
    const params = { name, arguments: { id, text } };
    this.#child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })}\n`);
    await answered;
    return performance.now() - started;
  }

  async end(): Promise<void> {
    this.#child.stdin?.end();
    await once(this.#child, 'close');
  }
}

/** What is called, and how. */
interface Load {
  readonly name: 'read' | 'write';
  readonly inFlight: number;
  readonly text?: string;
}

async function latencies(peer: Peer, { name, inFlight, text }: Load): Promise<number[]> {
  const found: number[] = [];
  for (let done = 0; done < CALLS; done += inFlight)
    found.push(...(await Promise.all(Array.from({ length: inFlight }, () => peer.call(name, text)))));
  return found;
}

const at = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;

/** Two commits one after the other, each alone: what a write behind the guard cannot do without. */
class TwoCommits {
  readonly #store: Store;
  #done = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  async latencies(): Promise<number[]> {
    const found: number[] = [];
    for (let round = 0; round < CALLS; round += 1) {
      const started = performance.now();
      for (const half of [1, 2]) {
        this.#done += 1;
        const row = ['a'.repeat(32), this.#done, `o${this.#done}-${half}`];
        await this.#store.write('bench', (tx) => tx.run(INSERT, row));
      }
      found.push(performance.now() - started);
    }
    return found;
  }
}

const INSERT = `INSERT INTO effect_records (tenant_id, run_id, sequence, type, observation_id, body)
  VALUES ('t', ?, ?, 'observation', ?, '{}')`;

interface Latencies {
  readonly bare: number[];
  readonly guarded: number[];
  readonly commits: number[];
}

const p = (list: readonly number[], share: number): number =>
  at(
    list.toSorted((a, b) => a - b),
    share,
  );

interface Peers {
  readonly bare: Peer;
  readonly guarded: Peer;
  readonly commits: TwoCommits;
}

/** Bare and guarded in turn, and the commits between them, so that all three see the same machine and disk. */
async function measure({ bare, guarded, commits }: Peers, load: Load): Promise<Latencies> {
  const found: Latencies = { bare: [], guarded: [], commits: [] };
  await Promise.all([latencies(bare, load), latencies(guarded, load)]);
  for (let round = 0; round < ROUNDS; round += 1) {
    found.bare.push(...(await latencies(bare, load)));
    found.guarded.push(...(await latencies(guarded, load)));
    if (load.name === 'write') found.commits.push(...(await commits.latencies()));
  }
  return found;
}

/** Everybody does as much as the others before they are measured again. */
async function warmUp({ bare, guarded, commits }: Peers): Promise<void> {
  for (let done = 0; done < WARM_UP; done += CALLS) {
    for (const name of ['read', 'write'] as const)
      await Promise.all([latencies(bare, { name, inFlight: CALLS }), latencies(guarded, { name, inFlight: CALLS })]);
    await commits.latencies();
  }
}

class Table {
  readonly rows: BenchRow[] = [];
  readonly added: Record<string, number> = {};

  row(key: string, what: string, ms: number): void {
    this.added[`${key}_ms`] = Number(ms.toFixed(3));
    this.rows.push({ what, value: `${ms.toFixed(2)} ms` });
  }

  /** `key` and `what` begin the names of all that is said of this load. */
  async measure(peers: Peers, load: Load, begin: { readonly key: string; readonly what: string }): Promise<void> {
    const { name, inFlight } = load;
    const found = await measure(peers, load);
    const [key, what] = [`${begin.key}${name}_${inFlight}`, `${begin.what}${name}, ${inFlight} in flight`];
    for (const [word, share] of [
      ['p50', 0.5],
      ['p99', 0.99],
    ] as const)
      this.row(`${key}_${word}`, `${what}, added ${word}`, p(found.guarded, share) - p(found.bare, share));
    if (name === 'read') return;
    const [two, more] = [p(found.commits, 0.5), p(found.guarded, 0.5) - p(found.bare, 0.5)];
    const beside = `${begin.key}two_commits_beside_${inFlight}`;
    this.row(beside, `${begin.what}two commits alone, in the same minute, p50`, two);
    this.row(`${key}_over_commits`, `${what}: added beyond two commits, p50`, more - two);
  }
}

async function measureAll(table: Table, peers: Peers, begin: { readonly key: string; readonly what: string }) {
  for (const name of ['read', 'write'] as const)
    for (const inFlight of [1, CALLS]) await table.measure(peers, { name, inFlight }, begin);
}

export const guardSuite: BenchSuite = {
  name: 'guard',
  async run(folder) {
    writeFileSync(join(folder, 'policy.json'), JSON.stringify(POLICY));
    const server = (name: string): string[] => [SERVER, join(folder, `${name}.jsonl`)];
    const bare = new Peer(server('bare'), folder);
    const options = ['--policy', 'policy.json', '--data-dir', join(folder, 'data'), '--'];
    const guarded = new Peer([COMMAND, 'mcp', ...options, process.execPath, ...server('guarded')], folder);
    const store = await openSqliteStore({ file: join(folder, 'commits.db'), schemas: [effectsSchema] });
    const peers = { bare, guarded, commits: new TwoCommits(store) };
    const table = new Table();
    await measureAll(table, peers, { key: '', what: 'first calls: ' });
    await warmUp(peers);
    const after = `after ${WARM_UP} more: `;
    await measureAll(table, peers, { key: 'steady_', what: after });
    const long = { key: 'steady_long_', what: `${after}${LONG / 1000} KB arguments, ` };
    for (const name of ['read', 'write'] as const)
      await table.measure(peers, { name, inFlight: 1, text: 'abc "é"\n '.repeat(LONG / 10) }, long);
    await Promise.all([bare.end(), guarded.end()]);
    await store.close();
    return { rows: table.rows, figures: { peers: { guard: table.added } } };
  },
};
