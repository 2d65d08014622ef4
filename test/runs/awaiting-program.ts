// node awaiting-program.ts DATA_DIR: begins a run that asks, awaits it with nothing else to do, and says how it ended.
// Its own request is approved by a process that it starts and does not wait for.
import { spawn } from 'node:child_process';
import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { Holdfast } from '../../src/index.ts';
import { callsThenDone, noteTool } from '../calls/desk.ts';

const [dataDir = ''] = process.argv.slice(2);
const holdfast = await Holdfast.open({ dataDir });
const agent = holdfast.agent({ model: callsThenDone([{}]), tools: [noteTool({ needsApproval: true })] });
const run = await agent.run('go');
const decider = [join(import.meta.dirname, 'decider.ts'), dataDir, 'approve'];
spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...decider], {
  stdio: 'ignore',
  detached: true,
}).unref();
await run.wait();
writeSync(1, run.status);
await holdfast.close();
