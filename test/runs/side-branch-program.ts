// node side-branch-program.ts DATA_DIR RUN: resumes the run, and dies by SIGKILL after the second turn of its side branch.
import { Holdfast } from '../../src/index.ts';
import { noteTool } from '../calls/desk.ts';

const [dataDir = '', runId = ''] = process.argv.slice(2);
let left = 2;
const holdfast = await Holdfast.open({
  dataDir,
  observer: (event) => {
    const turn = event.kind === 'committed' && event.names.includes('runs.side-branch-turn');
    if (turn && (left -= 1) === 0) process.kill(process.pid, 'SIGKILL');
  },
});
const model = () => ({ text: 'hm', calls: [{ toolName: 'take_note', arguments: { note: 'no' } }] });
await holdfast.agent({ model, tools: [noteTool({ needsApproval: true })] }).resume(runId);
