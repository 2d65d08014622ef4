// Decides what waits in a data folder, from a process of its own: node decider.ts DATA_DIR approve|reject [PAUSE_MS]
// Says when each decision was durable, one JSON line each (milliseconds since 1970).
import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Holdfast } from '../../src/index.ts';

const [dataDir = '', decision = 'approve', pauseMs = '0'] = process.argv.slice(2);
const holdfast = await Holdfast.open({ dataDir });
const { approvals, principal } = holdfast.runtime;
for (const { requestId, digest } of (await approvals.pending(principal, { limit: 500 })).items) {
  await approvals.decide(principal, [{ requestId, digest, decision: decision === 'reject' ? 'reject' : 'approve' }]);
  writeSync(1, `${JSON.stringify({ decided: requestId, at: Date.now() })}\n`);
  await sleep(Number(pauseMs));
}
await holdfast.close();
