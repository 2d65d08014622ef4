// node reasoning-program.ts DATA_DIR: begins a run whose model thinks before it calls; dies by SIGKILL once that is stored.
import { Holdfast } from '../../src/index.ts';
import { noteTool } from '../calls/desk.ts';
import { reasoningModel, THINKING } from './reasoning-model.ts';

const [dataDir = ''] = process.argv.slice(2);
const holdfast = await Holdfast.open({
  dataDir,
  observer: (event) => {
    if (event.kind === 'committed' && event.names.includes('runs.reply')) process.kill(process.pid, 'SIGKILL');
  },
});
await holdfast.agent({ model: reasoningModel([THINKING]), tools: [noteTool({ effect: 'read' })] }).run('go');
