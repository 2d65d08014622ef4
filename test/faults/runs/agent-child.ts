// The second actor of a run, in a process of its own.
//   node agent-child.ts FOLDER TRACE BATCH ACTION [die before rename number N]
// Prints what it was answered, as JSON; side effects go to FOLDER/../effects.log, a line each.
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { type FileSystem, HoldfastError, nodeFileSystem } from '../../../src/core/index.ts';
import { AgentRunner, type CallDecision, fileRunHome, runConfig } from '../../../src/runs/index.ts';
import {
  DANGER,
  reviewTool,
  SAFE,
  scripted,
  TOOLS,
  withoutResults,
  writingTools,
} from '../../contracts/runs/agents.ts';

const [folder = '', traceId = '', batchId = '', action = '', dieAt = '0'] = process.argv.slice(2);

let renames = 0;
const files: FileSystem = {
  ...nodeFileSystem,
  rename(from, to) {
    renames += 1;
    if (renames === Number(dieAt)) process.kill(process.pid, 'SIGKILL');
    nodeFileSystem.rename(from, to);
  },
};
const tools = writingTools((effect) => {
  appendFileSync(join(folder, '..', 'effects.log'), `${JSON.stringify(effect)}\n`);
  if (action === 'approve-and-hang') {
    process.stdout.write('"executing"\n');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60_000);
  }
});
tools.register(
  reviewTool((reviewed) =>
    appendFileSync(join(folder, '..', 'effects.log'), `${JSON.stringify(['reviewed', reviewed])}\n`),
  ),
);
const replies = action === 'start' ? [{ calls: [DANGER, SAFE] }] : [];
const own = fileRunHome({ folder, files });
const home = action === 'approve-without-results' ? withoutResults(own) : own;
const runner = new AgentRunner({ home, tools, model: scripted(...replies) });

const DECISIONS: Readonly<Record<string, CallDecision>> = {
  approve: { toolCallId: 'danger-1', decision: 'approve' },
  'approve-without-results': { toolCallId: 'danger-1', decision: 'approve' },
  'approve-and-hang': { toolCallId: 'danger-1', decision: 'approve' },
  edit: { toolCallId: 'danger-1', decision: 'approve', editedArguments: { value: 9, fixed: 'fixed' } },
  tamper: { toolCallId: 'danger-1', decision: 'approve', editedArguments: { value: 1, fixed: 'tampered' } },
  reject: { toolCallId: 'danger-1', decision: 'reject' },
};

async function act(): Promise<unknown> {
  const decision = DECISIONS[action];
  if (decision !== undefined) return runner.decide(traceId, batchId, [decision]);
  if (action === 'stop') return runner.stop(traceId);
  if (action === 'reconcile') return runner.reconcile();
  if (action === 'heal')
    return runner.healOrphanedCalls(traceId, runConfig({ autoExecuteTools: false, tools: ['review_task_result'] }));
  if (action === 'start') return runner.run([{ role: 'user', content: 'run tools' }], runConfig({ ...TOOLS, traceId }));
  return runner.run([], runConfig({ traceId }));
}

try {
  process.stdout.write(`${JSON.stringify(await act())}\n`);
  await runner.running.get(traceId);
} catch (error) {
  if (!(error instanceof HoldfastError)) throw error;
  process.stdout.write(`${JSON.stringify({ code: error.code, http: error.httpStatus, message: error.message })}\n`);
}
