// node closing-program.ts DATA_DIR: awaits a run that waits for a person, closes at once, and has nothing else to do.
import { writeSync } from 'node:fs';
import { Holdfast } from '../../src/index.ts';
import { callsThenDone, noteTool } from '../calls/desk.ts';

const [dataDir = ''] = process.argv.slice(2);
const holdfast = await Holdfast.open({ dataDir });
const agent = holdfast.agent({ model: callsThenDone([{}]), tools: [noteTool({ needsApproval: true })] });
const run = await agent.run('go');
void run.wait();
await holdfast.close();
writeSync(1, 'closed');
