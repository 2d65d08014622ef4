import { type Clock, type FaultPoints, guardClock, systemClock } from '../core/index.ts';
import { openFilesystem } from '../effects/index.ts';
import { type GuardedServer, guardStdio, type HostStreams, readPolicy, sealPolicy } from '../mcp/index.ts';
import { closeModellessRun, openModellessRun } from '../runs/index.ts';
import type { StoreObserver } from '../store/index.ts';
import { openRuntime } from './runtime.ts';

export interface GuardSettings {
  readonly dataDir: string;
  /** The text of the policy file. Throws `POLICY_INVALID` before anything is started. */
  readonly policy: string | Uint8Array;
  readonly server: GuardedServer;
  readonly host: HostStreams;
  /** How long a held call keeps its host waiting before it is told to come back. Milliseconds, default 45,000. */
  readonly waitMs?: number;
  readonly clock?: Clock;
  readonly observer?: StoreObserver;
  /** Named fault points, for test harnesses. */
  readonly faults?: FaultPoints;
}

const WAIT_MS = 45_000;

/**
 * Runs a guard in front of an MCP server until host or server has gone; answers the server's exit code, null when a
 * signal ended it. Its calls stand in a session of their own, kind `guard`, under a run without a model.
 */
export async function runGuard(settings: GuardSettings): Promise<number | null> {
  const { dataDir, server, host, observer, faults } = settings;
  const policy = readPolicy(settings.policy);
  const filesystem = openFilesystem({ dataDir });
  const sealed = sealPolicy(policy, filesystem);
  const clock = guardClock(settings.clock ?? systemClock);
  const watching = { ...(observer ? { observer } : {}), ...(faults ? { faults } : {}) };
  const runtime = await openRuntime({ dataDir, clock, ...watching });
  const { calls, approvals, principal, projectId } = runtime;
  const ownerInstanceId = calls.workerId;
  const context = { server: policy.server, policy: `${policy.name}@${policy.revision}`, policy_sha256: policy.digest };
  try {
    const run = { name: `guard:${policy.server}`, projectId, ownerInstanceId, context };
    const place = await openModellessRun(calls, principal, run);
    const waitMs = settings.waitMs ?? WAIT_MS;
    const guard = await guardStdio(server, host, { calls, approvals, filesystem, place, sealed, waitMs });
    const code = await guard.ended;
    await closeModellessRun(calls, place, ownerInstanceId);
    return code;
  } finally {
    await runtime.close();
  }
}
