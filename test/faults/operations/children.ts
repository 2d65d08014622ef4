import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { DeskJob } from './desk-child.ts';

const CHILD = join(import.meta.dirname, 'desk-child.ts');

export interface ChildEnd {
  readonly signal: NodeJS.Signals | null;
  readonly answer: string;
}

/** A desk in a process of its own, started on a job. */
export class DeskChild {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor(job: DeskJob) {
    const child = spawn(process.execPath, [CHILD], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#child = child;
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    child.stdin.write(`${JSON.stringify(job)}\n`);
  }

  async ready(): Promise<void> {
    await this.#lines.next();
  }

  go(): void {
    this.#child.stdin?.write('go\n');
  }

  async end(): Promise<ChildEnd> {
    const ended = new Promise<NodeJS.Signals | null>((resolve) => {
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) resolve(this.#child.signalCode);
      else this.#child.once('exit', (_code, signal) => resolve(signal));
    });
    const line = await this.#lines.next();
    return { signal: await ended, answer: line.done ? '' : line.value };
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}
