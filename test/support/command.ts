import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { installedCommand } from '../../scripts/installed.ts';

/** A checkout's, which runs the sources: for options of Node.js that look at modules. */
const IN_CHECKOUT = join(import.meta.dirname, '..', '..', 'bin', 'holdfast.js');
const LONGEST_MS = 60_000;

export interface CommandResult {
  readonly exit: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Options of Node.js itself, before the command. */
  readonly node?: readonly string[];
}

/** Runs the real command, `holdfast <args>`, in a process of its own, and waits for its end. */
export function holdfast(args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  const { HOLDFAST_DATA_DIR: _, ...inherited } = process.env;
  return new Promise((settle, refuse) => {
    const command = options.node === undefined ? installedCommand() : IN_CHECKOUT;
    const child = spawn(process.execPath, [...(options.node ?? []), command, ...args], {
      cwd: options.cwd,
      env: { ...inherited, ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: LONGEST_MS,
      killSignal: 'SIGKILL',
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.once('error', refuse);
    child.once('close', (exit) => settle({ exit, stdout, stderr }));
  });
}
