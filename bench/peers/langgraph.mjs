import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Annotation, END, START, StateGraph } from '@langchain/langgraph';
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite';
import { takeJobs } from './peer.mjs';

const saver = SqliteSaver.fromConnString(join(process.argv[2], 'langgraph.db'));
const graph = new StateGraph(Annotation.Root({ to: Annotation, note: Annotation }))
  .addNode('send', () => ({ note: randomUUID() }))
  .addEdge(START, 'send')
  .addEdge('send', END)
  .compile({ checkpointer: saver });

takeJobs(() => graph.invoke({ to: 'customer' }, { configurable: { thread_id: randomUUID() }, durability: 'sync' }));
