// A desk in a process of its own. The first line of standard input is its job as JSON; it prints one line and ends, or is
// killed at the fault point that the job names. With `ready` it first says so and waits for a second line.
import { createInterface } from 'node:readline';
import { envelopeCode } from '../../../src/operations/index.ts';
import type { FaultPoint } from '../../../src/core/index.ts';
import { refundCall, T0, USER } from '../../fixtures/refund-desk/calls.ts';
import { openDesk } from '../../fixtures/refund-desk/desk.ts';
import { serviceDownstream } from '../../fixtures/refund-desk/service/service.ts';
import { armFaults } from '../../support/index.ts';

export interface DeskJob {
  readonly file: string;
  /** The other side's address; absent where it is the table. */
  readonly service?: string;
  readonly killAt?: FaultPoint;
  readonly now?: number;
  readonly ready?: boolean;
}

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const first = await lines.next();
const job = JSON.parse(String(first.value)) as DeskJob;
const faults = job.killAt ? armFaults({ point: job.killAt, act: 'kill' }) : armFaults();
const { service } = job;
const downstream = service
  ? { downstream: serviceDownstream({ url: (path) => service + path, patienceMs: 20_000 }) }
  : {};
const desk = await openDesk(job.file, { ...downstream, faults, busyTimeoutMs: 30_000, verdicts: true });
if (job.ready) {
  process.stdout.write('ready\n');
  await lines.next();
}
const call = refundCall();
const now = job.now ?? T0;
const result = await desk.operations.dispatch(USER, call, { approvals: desk.approve(USER, call, 'valid', T0), now });
await desk.close();
process.stdout.write(`${envelopeCode(result)} ${result.model_result.execution.delivery}\n`);
process.exit(0);
