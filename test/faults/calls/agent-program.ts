// One run of the crash tests' agent in a process of its own: node agent-program.ts DATA_DIR URL run|recover [POINT AT]
// Tells each outcome that it was told, one JSON line each, and dies by SIGKILL where the fault point says. With `recover`
// it only opens what a dead process left, when that one is known to be dead. If it lives, it tells last how often it
// passed each point. To be killed at a renewal of its lease, it holds each call back until there was one more.
import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Holdfast } from '../../../src/index.ts';
import { FAULT_POINTS, type FaultPoint } from '../../../src/core/index.ts';
import { armFaults } from '../../support/faults.ts';
import { defineAgent, INSTANCE_LEASE_MS, KNOWN_DEAD_MS, RENEWED_LEASE_MS, TASK } from './agent.ts';

const [dataDir = '', url = '', what, point, at = '1'] = process.argv.slice(2);
const tell = (line: object): void => void writeSync(1, `${JSON.stringify(line)}\n`);

const renews = point === 'lease-renewed';
const faults = armFaults(
  ...(point === undefined ? [] : [{ point: point as FaultPoint, at: Number(at), act: 'kill' as const }]),
);
const holdfast = await Holdfast.open({
  dataDir,
  instanceLeaseMs: renews ? RENEWED_LEASE_MS : INSTANCE_LEASE_MS,
  faults,
  ...(what === 'recover' ? { clock: { nowMs: () => Date.now() + KNOWN_DEAD_MS } } : {}),
});
tell({ open: true });
let sending = 0;
const untilRenewed = async (): Promise<void> => {
  for (sending += 1; renews && faults.reached('lease-renewed') < sending; ) await sleep(10);
};
const agent = defineAgent(
  holdfast,
  url,
  { onOutcome: (callId, _tool, outcome) => tell({ told: callId, outcome }) },
  untilRenewed,
);
if (what === 'run') {
  const run = await agent.run(TASK);
  while (run.status === 'waiting_confirmation') for (const request of run.pending) await run.approve(request);
}
await holdfast.close();
tell({ passed: Object.fromEntries(FAULT_POINTS.map((each) => [each, faults.reached(each)])) });
