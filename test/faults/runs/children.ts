import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';

/** Starts a script in a process of its own, killed at the test's end; `shell` is what a shell does before it. */
export function startChild(t: TestContext, script: string, args: readonly string[], shell?: string): ChildProcess {
  const command = [process.execPath, '--disable-warning=ExperimentalWarning', script, ...args];
  const [first = '', ...rest] =
    shell === undefined ? command : ['bash', '-c', `${shell}; exec "$@"`, 'bash', ...command];
  const child = spawn(first, rest, { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  return child;
}

export interface Finished {
  readonly lines: readonly string[];
  readonly signal: NodeJS.Signals | null;
}

/** Waits for a child's end: the lines that it told, and the signal that ended it. */
export async function finished(child: ChildProcess): Promise<Finished> {
  const [output] = await Promise.all([text(child.stdout ?? Readable.from([])), once(child, 'exit')]);
  return { lines: output.split('\n').filter(Boolean), signal: child.signalCode };
}
