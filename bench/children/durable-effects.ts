// node durable-effects.js FOLDER dispatch|call
// Holdfast among its peers: in a process of its own, as each of them, it does the effects that it is sent.
import { join } from 'node:path';
import { takeJobs } from '../peers/peer.mjs';
import { CallWork } from '../suites/call-work.ts';
import { DispatchWork } from '../suites/dispatch-work.ts';

/** As many as ever ask at once. */
const MOST_CALLERS = 64;

const [folder = '', way = ''] = process.argv.slice(2);
if (way === 'dispatch') {
  const work = await DispatchWork.open(join(folder, 'dispatch.db'));
  process.on('disconnect', () => void work.close());
  takeJobs(() => work.inTwoCommits());
} else {
  const work = await CallWork.open(folder, MOST_CALLERS);
  process.on('disconnect', () => void work.close());
  takeJobs((caller) => work.call(caller));
}
