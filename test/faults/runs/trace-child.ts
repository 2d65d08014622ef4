// A process that writes to a trace, so that tests can kill it, starve it or let it compete.
//   node trace-child.ts FOLDER TRACE FIRST COUNT [die before rename number N]
import { type FileSystem, nodeFileSystem, systemClock } from '../../../src/core/index.ts';
import { FileTraceStore, newMessage } from '../../../src/runs/index.ts';

const [folder = '', traceId = '', first = '1', count = '0', dieAt = '0'] = process.argv.slice(2);

let renames = 0;
const files: FileSystem = {
  ...nodeFileSystem,
  rename(from, to) {
    renames += 1;
    if (renames === Number(dieAt)) process.kill(process.pid, 'SIGKILL');
    nodeFileSystem.rename(from, to);
  },
};
const store = new FileTraceStore({ folder, files });

for (let sequence = Number(first); sequence < Number(first) + Number(count); sequence += 1) {
  const content = `message-${sequence} ${'.'.repeat(1_500)}`;
  const told = await store
    .addMessage(newMessage({ traceId, role: 'user', sequence, content }, systemClock))
    .then(() => String(sequence))
    .catch((error: { code: string }) => error.code);
  process.stdout.write(`${told}\n`);
}
