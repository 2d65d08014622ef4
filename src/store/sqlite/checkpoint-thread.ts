import { Worker } from 'node:worker_threads';

/**
 * The thread's whole program, as text: from a file it would bring the loader of modules along, and from sources the
 * type stripper too, which are many times the size of what it does.
 */
const PROGRAM = `
const { parentPort, workerData } = require('node:worker_threads');
process.emitWarning = () => undefined;
const { DatabaseSync } = require('node:sqlite');
const database = new DatabaseSync(workerData.file);
database.exec(workerData.settings);
const copy = database.prepare('PRAGMA wal_checkpoint(PASSIVE)');
parentPort.on('message', (ask) => {
  if (ask === 'close') {
    database.close();
    parentPort.close();
    return;
  }
  try {
    const { busy, log } = copy.get();
    parentPort.postMessage({ frames: busy === 0 ? log : -1 });
  } catch ({ message, code, errcode, errstr }) {
    parentPort.postMessage({ error: { message, code, errcode, errstr } });
  }
});
`;

/** Enough for Node.js itself in a thread; the program keeps nothing. */
const LIMITS_OF_THREAD = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1, stackSizeMb: 1 };

/** What became of a copy: so many frames in the WAL, none because another process is at it, or SQLite's error. */
export type Copied =
  | { readonly kind: 'copied'; readonly frames: number }
  | { readonly kind: 'busy' }
  | { readonly kind: 'failed'; readonly error: Error }
  /** There is no thread: it could not be started, or it ended. */
  | { readonly kind: 'no_thread' };

type Answer = { readonly frames: number } | { readonly error: { readonly message: string } };

/**
 * A connection of its own in a thread of its own that copies the WAL back while the writer goes on. It never keeps a
 * process alive. Errors come as the driver made them, in shape.
 */
export class CheckpointThread {
  readonly #worker: Worker;
  #tell: ((copied: Copied) => void) | undefined;
  #ended = false;

  /** @throws what Node.js throws where threads may not be made */
  constructor(file: string, settings: string) {
    const workerData = { file, settings };
    this.#worker = new Worker(PROGRAM, {
      eval: true,
      execArgv: [],
      workerData,
      resourceLimits: LIMITS_OF_THREAD,
      // It prints nothing. To pass that on, Node.js would open this process's own streams, which changes how they write.
      stdout: true,
      stderr: true,
    });
    this.#worker.on('message', (answer: Answer) => this.#answer(copiedOf(answer)));
    this.#worker.on('error', () => this.#end());
    this.#worker.on('exit', () => this.#end());
    // Last: who listens to messages keeps the process alive.
    this.#worker.unref();
  }

  /** Copies once; one copy at a time. `tell` is called once, from the event loop. */
  copy(tell: (copied: Copied) => void): void {
    if (this.#ended) return tell({ kind: 'no_thread' });
    this.#tell = tell;
    this.#worker.postMessage('copy');
  }

  /** Waits for a copy under way and for the connection to be closed. */
  async close(): Promise<void> {
    if (this.#ended) return;
    this.#worker.ref();
    const ended = new Promise<void>((resolve) => this.#worker.once('exit', () => resolve()));
    this.#worker.postMessage('close');
    await ended;
  }

  #answer(copied: Copied): void {
    const tell = this.#tell;
    this.#tell = undefined;
    tell?.(copied);
  }

  #end(): void {
    this.#ended = true;
    this.#answer({ kind: 'no_thread' });
  }
}

function copiedOf(answer: Answer): Copied {
  if ('error' in answer) return { kind: 'failed', error: Object.assign(new Error(answer.error.message), answer.error) };
  return answer.frames < 0 ? { kind: 'busy' } : { kind: 'copied', frames: answer.frames };
}
