import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Annotation, END, START, StateGraph } from '@langchain/langgraph';
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite';
import { takeJobs } from './peer.mjs';

const [, , folder, settings] = process.argv;
const saver = SqliteSaver.fromConnString(join(folder, 'langgraph.db'));
if (settings === 'durable') makeDurable(saver);
const graph = new StateGraph(Annotation.Root({ to: Annotation, note: Annotation }))
  .addNode('send', () => ({ note: randomUUID() }))
  .addEdge(START, 'send')
  .addEdge('send', END)
  .compile({ checkpointer: saver });

takeJobs(() => graph.invoke({ to: 'customer' }, { configurable: { thread_id: randomUUID() }, durability: 'sync' }));

/** After the saver has touched its file: better-sqlite3 falls back to NORMAL at the first use of a WAL database. */
function makeDurable({ db }) {
  db.pragma('journal_mode = WAL');
  db.prepare('SELECT count(*) FROM sqlite_schema').get();
  db.pragma('synchronous = FULL');
  if (db.pragma('synchronous', { simple: true }) !== 2) throw new Error('the saver is not durable');
}
