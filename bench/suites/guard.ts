import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { effectsSchema } from '../../src/effects/index.ts';
import type { Store } from '../../src/store/index.ts';
import { openSqliteStore } from '../../src/store/sqlite/index.ts';
import type { BenchRow, BenchSuite } from '../suite.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const SERVER = join(ROOT, 'test/fixtures/mcp/guarded-server.ts');
const COMMAND = join(ROOT, 'bin/holdfast.js');
const ROUNDS = 12;
const CALLS = 16;
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
  async call(name: string): Promise<number> {
    this.#next += 1;
    const id = this.#next;
    const answered = new Promise<void>((resolve) => this.#waiting.set(id, resolve));
    const started = performance.now();
    const params = { name, arguments: { id } };
    this.#child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })}\n`);
    await answered;
    return performance.now() - started;
  }

  async end(): Promise<void> {
    this.#child.stdin?.end();
    await once(this.#child, 'close');
  }
}

async function latencies(peer: Peer, name: string, inFlight: number): Promise<number[]> {
  const found: number[] = [];
  for (let done = 0; done < CALLS; done += inFlight)
    found.push(...(await Promise.all(Array.from({ length: inFlight }, () => peer.call(name)))));
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

/** Bare and guarded in turn, and the commits between them, so that all three see the same machine and disk. */
async function measure(
  peers: { readonly bare: Peer; readonly guarded: Peer; readonly commits: TwoCommits },
  name: string,
  inFlight: number,
): Promise<Latencies> {
  const found: Latencies = { bare: [], guarded: [], commits: [] };
  await Promise.all([latencies(peers.bare, name, inFlight), latencies(peers.guarded, name, inFlight)]);
  for (let round = 0; round < ROUNDS; round += 1) {
    found.bare.push(...(await latencies(peers.bare, name, inFlight)));
    found.guarded.push(...(await latencies(peers.guarded, name, inFlight)));
    if (name === 'write') found.commits.push(...(await peers.commits.latencies()));
  }
  return found;
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
    const commits = new TwoCommits(store);
    const rows: BenchRow[] = [];
    const added: Record<string, number> = {};
    const row = (key: string, what: string, ms: number): void => {
      added[`${key}_ms`] = Number(ms.toFixed(3));
      rows.push({ what, value: `${ms.toFixed(2)} ms` });
    };
    for (const name of ['read', 'write'])
      for (const inFlight of [1, 16]) {
        const found = await measure({ bare, guarded, commits }, name, inFlight);
        for (const [word, share] of [
          ['p50', 0.5],
          ['p99', 0.99],
        ] as const) {
          const more = p(found.guarded, share) - p(found.bare, share);
          row(`${name}_${inFlight}_${word}`, `${name}, ${inFlight} in flight, added ${word}`, more);
        }
        if (name === 'read') continue;
        const [two, more] = [p(found.commits, 0.5), p(found.guarded, 0.5) - p(found.bare, 0.5)];
        row(`two_commits_beside_${inFlight}`, 'two commits alone, in the same minute, p50', two);
        row(
          `write_${inFlight}_over_commits`,
          `write, ${inFlight} in flight: added beyond two commits, p50`,
          more - two,
        );
      }
    await Promise.all([bare.end(), guarded.end()]);
    await store.close();
    return { rows, figures: { peers: { guard: added } } };
  },
};
