import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { effectsSchema } from '../../src/effects/index.ts';
import { openSqliteStore } from '../../src/store/sqlite/index.ts';
import type { BenchSuite } from '../suite.ts';

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
async function twoCommits(folder: string): Promise<number> {
  const store = await openSqliteStore({ file: join(folder, 'commits.db'), schemas: [effectsSchema] });
  const found: number[] = [];
  const insert = `INSERT INTO effect_records (tenant_id, run_id, sequence, type, observation_id, body)
    VALUES ('t', ?, ?, 'observation', ?, '{}')`;
  for (let i = 0; i < 120; i += 1) {
    const started = performance.now();
    for (const half of [1, 2])
      await store.write('bench', (tx) => tx.run(insert, ['a'.repeat(32), 2 * i + half, `o${i}-${half}`]));
    found.push(performance.now() - started);
  }
  await store.close();
  return at(
    found.toSorted((a, b) => a - b),
    0.5,
  );
}

export const guardSuite: BenchSuite = {
  name: 'guard',
  async run(folder) {
    writeFileSync(join(folder, 'policy.json'), JSON.stringify(POLICY));
    const server = (name: string): string[] => [SERVER, join(folder, `${name}.jsonl`)];
    const bare = new Peer(server('bare'), folder);
    const options = ['--policy', 'policy.json', '--data-dir', join(folder, 'data'), '--'];
    const guarded = new Peer([COMMAND, 'mcp', ...options, process.execPath, ...server('guarded')], folder);
    const rows = [];
    const added: Record<string, number> = {};
    for (const name of ['read', 'write']) {
      for (const inFlight of [1, 16]) {
        const found: { bare: number[]; guarded: number[] } = { bare: [], guarded: [] };
        await Promise.all([latencies(bare, name, inFlight), latencies(guarded, name, inFlight)]);
        for (let round = 0; round < ROUNDS; round += 1) {
          found.bare.push(...(await latencies(bare, name, inFlight)));
          found.guarded.push(...(await latencies(guarded, name, inFlight)));
        }
        const [plain, behind] = [found.bare, found.guarded].map((list) => list.toSorted((a, b) => a - b));
        for (const [word, share] of [
          ['p50', 0.5],
          ['p99', 0.99],
        ] as const) {
          const more = at(behind ?? [], share) - at(plain ?? [], share);
          added[`${name}_${inFlight}_${word}_ms`] = Number(more.toFixed(3));
          rows.push({ what: `${name}, ${inFlight} in flight, added ${word}`, value: `${more.toFixed(2)} ms` });
        }
      }
    }
    await Promise.all([bare.end(), guarded.end()]);
    const commits = await twoCommits(folder);
    rows.push({ what: 'two commits one after the other, p50', value: `${commits.toFixed(2)} ms` });
    return { rows, figures: { peers: { guard: { ...added, two_commits_ms: Number(commits.toFixed(3)) } } } };
  },
};
