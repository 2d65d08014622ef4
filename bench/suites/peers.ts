import { type ChildProcess, fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Contender, interleave, type Measured } from '../measure.ts';
import type { BenchRow, BenchSuite } from '../suite.ts';
import { CallWork } from './call-work.ts';
import { DispatchWork } from './dispatch-work.ts';

const CALLERS = 64;
const SERIAL_EFFECTS = 20;
/**
 * More for whoever does more in a second, so that no round is over before it is under way: shorter ones measure how
 * long it takes to come back from the others' rounds, and how callers begin and end.
 */
const GROUP_EFFECTS = { dispatch: CALLERS * 32, call: CALLERS * 16, peer: CALLERS * 8 };
const SERIAL = { dispatch: SERIAL_EFFECTS * 8, call: SERIAL_EFFECTS * 8, peer: SERIAL_EFFECTS };
const ROUNDS = 9;

const folderOfPeers = join(import.meta.dirname, '..', 'peers');

interface PeerKind {
  readonly name: string;
  readonly script: string;
  readonly settings?: string;
  readonly packageName: string;
}

const LANGGRAPH = '@langchain/langgraph-checkpoint-sqlite';

const PEERS: readonly PeerKind[] = [
  { name: 'langgraph', script: 'langgraph.mjs', settings: 'durable', packageName: LANGGRAPH },
  { name: 'langgraph_as_installed', script: 'langgraph.mjs', packageName: LANGGRAPH },
  { name: 'dbos', script: 'dbos.mjs', packageName: '@dbos-inc/dbos-sdk' },
  { name: 'restate', script: 'restate.mjs', packageName: '@restatedev/restate-sdk' },
];

type Reply = { readonly ready: true } | { readonly ms: number } | { readonly failed: string };

/** A peer in a process of its own that does what it is told. */
class Peer {
  readonly name: string;
  readonly version: string;
  readonly #child: ChildProcess;

  private constructor(kind: PeerKind, child: ChildProcess) {
    this.name = kind.name;
    this.version = versionOf(kind.packageName);
    this.#child = child;
  }

  /** Undefined when it is not installed, or does not start under any Node.js that is here (a native add-on fits one). */
  static async start(kind: PeerKind, folder: string): Promise<Peer | undefined> {
    if (!existsSync(join(folderOfPeers, 'node_modules', kind.packageName))) return undefined;
    const data = join(folder, kind.name);
    mkdirSync(data);
    for (const execPath of new Set([process.execPath, process.env['npm_node_execpath'] ?? process.execPath])) {
      const child = fork(join(folderOfPeers, kind.script), [data, kind.settings ?? ''], {
        execPath,
        execArgv: [],
        silent: true,
      });
      const first = await Promise.race([once(child, 'message'), once(child, 'exit').then(() => undefined)]);
      if (first !== undefined) return new Peer(kind, child);
    }
    return undefined;
  }

  async effects(effects: number, callers: number): Promise<number> {
    this.#child.send({ effects, callers });
    const [reply] = (await once(this.#child, 'message')) as [Reply];
    if ('failed' in reply) throw new Error(`${this.name}: ${reply.failed}`);
    return effects;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.disconnect();
    await ended;
  }
}

function versionOf(packageName: string): string {
  const file = join(folderOfPeers, 'node_modules', packageName, 'package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

interface Ours {
  readonly dispatch: DispatchWork;
  readonly call: CallWork;
}

async function spread(effects: number, callers: number, one: (caller: number) => Promise<void>): Promise<number> {
  const caller = async (_: unknown, at: number): Promise<void> => {
    for (let done = 0; done < effects / callers; done += 1) await one(at);
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return effects;
}

type Effects = typeof GROUP_EFFECTS;

function contenders({ dispatch, call }: Ours, peers: readonly Peer[], effects: Effects, callers: number): Contender[] {
  return [
    { name: 'dispatch', run: () => spread(effects.dispatch, callers, () => dispatch.inTwoCommits()) },
    { name: 'call', run: () => spread(effects.call, callers, (at) => call.call(at)) },
    ...peers.map((peer) => ({ name: peer.name, run: () => peer.effects(effects.peer, callers) })),
  ];
}

type Rates = Readonly<Record<string, number>>;

function perSecond(measured: ReadonlyMap<string, Measured>): Rates {
  return Object.fromEntries([...measured].map(([name, { medianUs }]) => [name, Math.round(1e6 / medianUs)]));
}

function rowsOf(what: string, rates: Rates, peers: readonly Peer[]): BenchRow[] {
  return peers.flatMap(({ name, version }) => {
    const theirs = rates[name] ?? Number.NaN;
    return ['dispatch', 'call'].map((ours) => ({
      what: `${ours}_${what} / ${name}`,
      value: ((rates[ours] ?? Number.NaN) / theirs).toFixed(1),
      note: `${rates[ours]}/s; ${name} ${version} ${theirs}/s`,
    }));
  });
}

/** Nobody's syncs wait for what somebody else has left to be written. */
function settleDisk(): void {
  spawnSync('sync');
}

async function measure(folder: string, peers: readonly Peer[]): Promise<{ serial: Rates; group64: Rates }> {
  const ours = {
    dispatch: await DispatchWork.open(join(folder, 'dispatch.db')),
    call: await CallWork.open(folder, CALLERS),
  };
  try {
    const serial = await interleave(contenders(ours, peers, SERIAL, 1), ROUNDS, { before: settleDisk });
    const group64 = await interleave(contenders(ours, peers, GROUP_EFFECTS, CALLERS), ROUNDS, { before: settleDisk });
    return { serial: perSecond(serial), group64: perSecond(group64) };
  } finally {
    await ours.dispatch.close();
    await ours.call.close();
  }
}

/** Dispatch and call beside other durable runtimes doing one durable effect, where these are installed. */
export const peersSuite: BenchSuite = {
  name: 'peers',
  async run(folder) {
    const started = await Promise.all(PEERS.map((kind) => Peer.start(kind, folder)));
    const peers = started.filter((peer) => peer !== undefined);
    try {
      const missing = PEERS.filter((_, at) => started[at] === undefined).map(({ name }): BenchRow => {
        return { what: name, value: '-', note: 'not installed, or does not start: see bench/peers/README.md' };
      });
      if (peers.length === 0) return { rows: missing, figures: {} };
      const { serial, group64 } = await measure(folder, peers);
      const rows = [...rowsOf('serial', serial, peers), ...rowsOf('group64', group64, peers), ...missing];
      const versions = Object.fromEntries(peers.map(({ name, version }) => [name, version]));
      return { rows, figures: { peers: { versions, serial, group64 } } };
    } finally {
      await Promise.all(peers.map((peer) => peer.stop()));
    }
  },
};
