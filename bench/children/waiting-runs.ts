// node [--expose-gc] bench/children/waiting-runs.ts DATA_DIR RUNS
// Says on one line how many megabytes so many waiting runs add to a process that was idle: resident as it is, or with
// --expose-gc what is left of the heap after a collection.
import { Holdfast, type ModelFunction, tool } from '../../src/index.ts';

const [dataDir = '', count = '1000'] = process.argv.slice(2);
const TOGETHER = 50;

const calls: ModelFunction = () => ({ calls: [{ callId: 'c1', toolName: 'note', arguments: {} }] });
const inputSchema = { type: 'object', properties: {}, additionalProperties: false } as const;
const note = tool({
  name: 'note',
  description: 'Notes.',
  inputSchema,
  effect: 'idempotent',
  needsApproval: true,
  execute: () => undefined,
});

async function megabytes(): Promise<number> {
  if (!global.gc) return process.memoryUsage.rss() / 1024 / 1024;
  for (let i = 0; i < 3; i += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    global.gc();
  }
  return process.memoryUsage().heapUsed / 1024 / 1024;
}

const holdfast = await Holdfast.open({ dataDir });
const agent = holdfast.agent({ model: calls, tools: [note] });
// The first runs load code and fill caches; they are not what waiting costs.
for (let i = 0; i < TOGETHER; i += 1) void (await agent.run('go')).wait();
const before = await megabytes();
for (let i = 0; i < Number(count); i += TOGETHER) {
  const runs = await Promise.all(Array.from({ length: TOGETHER }, () => agent.run('go')));
  for (const run of runs) void run.wait();
}
const added = (await megabytes()) - before;
await holdfast.close();
process.stdout.write(`${JSON.stringify({ added })}\n`);
