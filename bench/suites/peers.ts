import { type ChildProcess, fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { builtProgram } from '../../scripts/installed.ts';
import { type Contender, interleave, type Measured } from '../measure.ts';
import type { BenchRow, BenchSuite } from '../suite.ts';

const CALLERS = 64;
const SERIAL_EFFECTS = 20;
/**
 * More for whoever does more in a second, so that no round is over before it is under way: shorter ones measure how
 * long it takes to come back from the others' rounds, and how callers begin and end.
 */
const GROUP_EFFECTS = { dispatch: CALLERS * 128, call: CALLERS * 32, peer: CALLERS * 8 };
const SERIAL = { dispatch: SERIAL_EFFECTS * 8, call: SERIAL_EFFECTS * 8, peer: SERIAL_EFFECTS };
const ROUNDS = 9;

type Work = keyof typeof GROUP_EFFECTS;

const folderOfPeers = join(import.meta.dirname, '..', 'peers');

/** A program that takes jobs (`peer.mjs`): Holdfast in one of its two ways, or another runtime. */
interface PeerKind {
  readonly name: string;
  readonly work: Work;
  readonly script: string;
  readonly settings: string;
  /** What has to be installed for it. */
  readonly packageName?: string;
}

const LANGGRAPH = '@langchain/langgraph-checkpoint-sqlite';

function peer(name: string, script: string, packageName: string, settings = ''): PeerKind {
  return { name, work: 'peer', script: join(folderOfPeers, script), settings, packageName };
}

const PEERS: readonly PeerKind[] = [
  peer('langgraph', 'langgraph.mjs', LANGGRAPH, 'durable'),
  peer('langgraph_as_installed', 'langgraph.mjs', LANGGRAPH),
  peer('dbos', 'dbos.mjs', '@dbos-inc/dbos-sdk'),
  peer('restate', 'restate.mjs', '@restatedev/restate-sdk'),
];

/** The package as it is installed. */
function ours(): PeerKind[] {
  const script = builtProgram(join(import.meta.dirname, '..', 'children', 'durable-effects.ts'));
  return (['dispatch', 'call'] as const).map((way) => ({ name: way, work: way, script, settings: way }));
}

type Reply = { readonly ready: true } | { readonly ms: number } | { readonly failed: string };

/** One of them in a process of its own that does what it is told. */
class Peer {
  readonly name: string;
  readonly work: Work;
  readonly version: string;
  readonly #child: ChildProcess;

  private constructor(kind: PeerKind, child: ChildProcess) {
    this.name = kind.name;
    this.work = kind.work;
    this.version = kind.packageName === undefined ? '' : versionOf(kind.packageName);
    this.#child = child;
  }

  /** Undefined when it is not installed, or does not start under any Node.js that is here (a native add-on fits one). */
  static async start(kind: PeerKind, folder: string): Promise<Peer | undefined> {
    const { packageName } = kind;
    if (packageName !== undefined && !existsSync(join(folderOfPeers, 'node_modules', packageName))) return undefined;
    const data = join(folder, kind.name);
    mkdirSync(data);
    for (const execPath of new Set([process.execPath, process.env['npm_node_execpath'] ?? process.execPath])) {
      const child = fork(kind.script, [data, kind.settings], { execPath, execArgv: [], silent: true });
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

function contenders(peers: readonly Peer[], effects: Readonly<Record<Work, number>>, callers: number): Contender[] {
  return peers.map((peer) => ({ name: peer.name, run: () => peer.effects(effects[peer.work], callers) }));
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

async function measure(peers: readonly Peer[]): Promise<{ serial: Rates; group64: Rates }> {
  const serial = await interleave(contenders(peers, SERIAL, 1), ROUNDS, { before: settleDisk });
  const group64 = await interleave(contenders(peers, GROUP_EFFECTS, CALLERS), ROUNDS, { before: settleDisk });
  return { serial: perSecond(serial), group64: perSecond(group64) };
}

/** Dispatch and call beside other durable runtimes doing one durable effect, where these are installed. */
export const peersSuite: BenchSuite = {
  name: 'peers',
  async run(folder) {
    const started = await Promise.all([...ours(), ...PEERS].map((kind) => Peer.start(kind, folder)));
    const all = started.filter((one) => one !== undefined);
    const peers = all.filter(({ work }) => work === 'peer');
    try {
      const missing = PEERS.filter((kind) => !peers.some(({ name }) => name === kind.name)).map(
        ({ name }): BenchRow => {
          return { what: name, value: '-', note: 'not installed, or does not start: see bench/peers/README.md' };
        },
      );
      if (peers.length === 0) return { rows: missing, figures: {} };
      const { serial, group64 } = await measure(all);
      const rows = [...rowsOf('serial', serial, peers), ...rowsOf('group64', group64, peers), ...missing];
      const versions = Object.fromEntries(peers.map(({ name, version }) => [name, version]));
      return { rows, figures: { peers: { versions, serial, group64 } } };
    } finally {
      await Promise.all(all.map((one) => one.stop()));
    }
  },
};
