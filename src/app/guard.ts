import { checkOptions, type Clock, type FaultPoints, guardClock, systemClock } from '../core/index.ts';
import { openFilesystem } from '../effects/index.ts';
import type { GuardedServer, GuardOptions, HostStreams } from '../mcp/index.ts';
import type { DamagedRun } from '../runs/index.ts';
import type { StoreObserver } from '../store/index.ts';
import { openGuardRuns } from './guard-runs.ts';
import { GUARD_OPTIONS, HTTP_GUARD_OPTIONS } from './option-shapes.ts';
import { openRuntime } from './runtime.ts';

export interface GuardBasics {
  readonly dataDir: string;
  /** The text of the policy file. Throws `POLICY_INVALID` before anything is started. */
  readonly policy: string | Uint8Array;
  /** How long a held call keeps its host waiting before it is told to come back. Milliseconds, default 45,000. */
  readonly waitMs?: number;
  /** Told, once the guard is open, how to ask which runs it holds. */
  readonly onOpen?: (runs: () => readonly string[]) => void;
  /** How a command of ours is said to whoever looks after the guard. */
  readonly command?: (text: string) => string;
  readonly clock?: Clock;
  readonly observer?: StoreObserver;
  /** Named fault points, for test harnesses. */
  readonly faults?: FaultPoints;
}

export interface GuardSettings extends GuardBasics {
  readonly server: GuardedServer;
  readonly host: HostStreams;
}

export interface HttpGuardSettings extends GuardBasics {
  /** Where the server is. */
  readonly url: string;
  /** Where hosts find the guard, on this machine's own address; 0 takes a free port. */
  readonly port: number;
  /** One line for the person who looks after the guard. */
  readonly tell: (line: string) => void;
}

export interface RunningHttpGuard {
  /** Where hosts find the guarded server. */
  readonly url: string;
  /** Ends it: what is under way is waited for a little, and is unknown after that. */
  close(): Promise<void>;
}

const WAIT_MS = 45_000;

/** Loaded by whoever guards: what reads policies is a fifth of all code, and most processes guard nothing. */
const loadMcp = () => import('../mcp/index.ts');

/**
 * Runs a guard in front of an MCP server until host or server has gone; answers the server's exit code, null when a
 * signal ended it. Its calls stand in a session of their own, kind `guard`, under a run without a model.
 */
export async function runGuard(settings: GuardSettings): Promise<number | null> {
  checkOptions('runGuard', settings, GUARD_OPTIONS);
  const { guardStdio } = await loadMcp();
  const { options, close, abandon, damaged } = await openGuard(settings);
  const { command = (text: string) => text } = settings;
  for (const run of damaged) settings.host.errors.write(`holdfast: ${command(damagedLine(run))}\n`);
  try {
    const guard = await guardStdio(settings.server, settings.host, options);
    const code = await guard.ended;
    await close();
    return code;
  } catch (error) {
    await abandon();
    throw error;
  }
}

/** The same in front of a server that speaks streamable HTTP, for any number of hosts on this machine. */
export async function runHttpGuard(settings: HttpGuardSettings): Promise<RunningHttpGuard> {
  checkOptions('runHttpGuard', settings, HTTP_GUARD_OPTIONS);
  const { url, port, tell, command = (text: string) => text } = settings;
  const { guardHttp } = await loadMcp();
  const { options, close, abandon, damaged } = await openGuard(settings);
  for (const run of damaged) tell(command(damagedLine(run)));
  try {
    const listener = await guardHttp({ url, port }, { ...options, tell });
    const end = async (): Promise<void> => {
      await listener.close();
      await close();
    };
    return { url: listener.url, close: end };
  } catch (error) {
    await abandon();
    throw error;
  }
}

/** What a person is told of a run that was left as it is. */
export function damagedLine({ runId, code }: DamagedRun): string {
  return `run ${runId} is left as it is, since a record of it is damaged (${code}); to see it: holdfast audit`;
}

interface OpenGuard {
  readonly damaged: readonly DamagedRun[];
  readonly options: Omit<GuardOptions, 'tell'>;
  /** Its run has ended in order. */
  readonly close: () => Promise<void>;
  /** It could not be started, or broke: its run is left as it stands. */
  readonly abandon: () => Promise<void>;
}

async function openGuard(settings: GuardBasics): Promise<OpenGuard> {
  const { dataDir, observer, faults, command } = settings;
  const { readPolicy, sealPolicy } = await loadMcp();
  const policy = readPolicy(settings.policy);
  const filesystem = openFilesystem({ dataDir });
  const sealed = sealPolicy(policy, filesystem);
  const clock = guardClock(settings.clock ?? systemClock);
  const watching = { ...(observer ? { observer } : {}), ...(faults ? { faults } : {}) };
  const runtime = await openRuntime({ dataDir, clock, ...watching });
  const { calls, approvals, damaged, projectId } = runtime;
  const context = { server: policy.server, policy: `${policy.name}@${policy.revision}`, policy_sha256: policy.digest };
  try {
    const run = { name: `guard:${policy.server}`, projectId, context };
    const { place, runs, standing, held, endAll } = await openGuardRuns(runtime, run);
    settings.onOpen?.(held);
    const waitMs = settings.waitMs ?? WAIT_MS;
    const close = async (): Promise<void> => {
      try {
        await endAll();
      } finally {
        await runtime.close();
      }
    };
    return {
      options: {
        calls,
        approvals,
        filesystem,
        place,
        runs,
        standing,
        sealed,
        waitMs,
        ...(command ? { command } : {}),
      },
      damaged,
      close,
      abandon: () => runtime.close(),
    };
  } catch (error) {
    await runtime.close();
    throw error;
  }
}
