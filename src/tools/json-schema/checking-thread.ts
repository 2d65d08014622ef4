import { LIMITS } from '../../core/index.ts';
import { Worker } from 'node:worker_threads';
import type { SchemaIssue } from '../model.ts';
import type { WorkerAnswer, WorkerJob } from './schema-worker.ts';

interface Waiting {
  readonly schemaId: number;
  readonly schemaText: string;
  readonly valueText: string;
  readonly tell: (issues: readonly SchemaIssue[]) => void;
}

interface Thread {
  readonly worker: Worker;
  readonly knownSchemas: Set<number>;
}

// Enough for the largest value and its copies; a pattern's own memory is not counted here.
const THREAD_MEMORY_MB = 128;
/** The thread's program in this package's folder: the source in a checkout, else the built file, which is not beside this. */
const THREAD_PROGRAM = import.meta.url.endsWith('.ts')
  ? 'src/tools/json-schema/schema-worker.ts'
  : 'dist/tools/json-schema/schema-worker.js';
const NOT_CHECKED = 'this value could not be checked';
const NOT_STARTED = 'the checking thread did not start';

/**
 * The one thread on which strangers' patterns run. Checks run one after another; one that passes its deadline is told
 * as an issue and its thread is ended, so that no pattern can hold up the process. Started at the first need, and
 * never a reason for the process to stay alive.
 */
export class CheckingThread {
  readonly #queue: Waiting[] = [];
  #thread: Thread | null = null;
  #running: Waiting | null = null;
  #ready = false;
  #timer: NodeJS.Timeout | undefined;
  #jobs = 0;

  check(schemaId: number, schemaText: string, valueText: string): Promise<readonly SchemaIssue[]> {
    if (this.#queue.length >= LIMITS.workerQueueItems)
      return Promise.resolve([{ path: '', message: 'too many values are waiting to be checked' }]);
    return new Promise((tell) => {
      this.#queue.push({ schemaId, schemaText, valueText, tell });
      this.#next();
    });
  }

  #next(): void {
    if (this.#running !== null) return;
    const next = this.#queue.shift();
    if (next === undefined) {
      this.#thread?.worker.unref();
      return;
    }
    this.#running = next;
    const thread = this.#thread ?? this.#started();
    if (thread === null) return this.#finish([{ path: '', message: NOT_STARTED }]);
    thread.worker.ref();
    if (this.#ready) this.#send(thread, next);
    else this.#arm(LIMITS.workerStartMs, NOT_STARTED);
  }

  /** Null where the system gives no thread, or Node.js may start none: a check is refused then, and the next one tries. */
  #started(): Thread | null {
    try {
      return this.#start();
    } catch {
      return null;
    }
  }

  #start(): Thread {
    const worker = new Worker(new URL(THREAD_PROGRAM, import.meta.resolve('holdfast/package.json')), {
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: THREAD_MEMORY_MB },
    });
    const thread = { worker, knownSchemas: new Set<number>() };
    worker.on('message', (answer: WorkerAnswer) => this.#heard(thread, answer));
    worker.on('error', () => this.#lost(thread, NOT_CHECKED));
    worker.on('exit', () => this.#lost(thread, NOT_CHECKED));
    this.#thread = thread;
    this.#ready = false;
    return thread;
  }

  #send(thread: Thread, waiting: Waiting): void {
    const known = thread.knownSchemas.has(waiting.schemaId);
    thread.knownSchemas.add(waiting.schemaId);
    this.#jobs += 1;
    const { schemaId, schemaText, valueText } = waiting;
    const job: WorkerJob = { job: this.#jobs, schemaId, schemaText: known ? null : schemaText, valueText };
    this.#arm(LIMITS.workerCheckMs, `checking took longer than ${LIMITS.workerCheckMs} ms`);
    thread.worker.postMessage(job);
  }

  #heard(thread: Thread, answer: WorkerAnswer): void {
    if (thread !== this.#thread) return;
    if (answer.ready) {
      this.#ready = true;
      if (this.#running !== null) this.#send(thread, this.#running);
    } else if (answer.job === this.#jobs) this.#finish(answer.issues);
  }

  #arm(ms: number, message: string): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const thread = this.#thread;
      if (thread === null) return;
      this.#lost(thread, message);
      void thread.worker.terminate();
    }, ms);
  }

  #lost(thread: Thread, message: string): void {
    if (thread !== this.#thread) return;
    this.#thread = null;
    this.#ready = false;
    if (this.#running === null) return;
    this.#finish([{ path: '', message }]);
  }

  #finish(issues: readonly SchemaIssue[]): void {
    clearTimeout(this.#timer);
    const done = this.#running;
    this.#running = null;
    done?.tell(issues);
    this.#next();
  }
}
