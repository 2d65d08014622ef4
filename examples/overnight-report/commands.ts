// The command as a person would type it, in the folder of the configuration.
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';

const here = import.meta.dirname;
const command = join(here, '..', '..', 'bin', 'holdfast.js');

/** One night: where the agent works, and which author and which accident it gets. */
export interface Night {
  readonly dataDir: string;
  readonly desk: string;
  readonly author?: string;
  /** The report with this text in it is written and never answered for. */
  readonly hold?: string;
}

export interface Finished {
  readonly exit: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export function holdfast(
  night: Night,
  args: readonly string[],
): { readonly child: ChildProcess; readonly finished: Promise<Finished> } {
  const { dataDir, desk, author, hold } = night;
  const child = spawn(process.execPath, [command, ...args, '--data-dir', dataDir], {
    cwd: here,
    env: {
      ...process.env,
      NO_COLOR: '1',
      OVERNIGHT_DESK: desk,
      ...(author === undefined ? {} : { OVERNIGHT_AUTHOR: author }),
      ...(hold === undefined ? {} : { OVERNIGHT_HOLD: hold }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const texts = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      texts[stream] += text;
    });
  const finished = new Promise<Finished>((resolve) => {
    child.on('close', (exit, signal) => resolve({ exit, signal, ...texts }));
  });
  return { child, finished };
}

/** What `--json` prints of a run, as far as the story needs it. */
export interface RunDocument {
  readonly run_id: string;
  readonly session_id: string;
  readonly status: string;
  readonly text: string;
  readonly calls: readonly { readonly call_id: string; readonly tool: string; readonly outcome: string | null }[];
  readonly supervision: {
    readonly status: string;
    readonly reason: string | null;
    readonly stop_reason: string | null;
    readonly reviews: number;
    readonly repairs: number;
    readonly findings: readonly {
      readonly severity: string;
      readonly claim: string;
      readonly evidence: readonly string[];
    }[];
  };
}

/** Runs a command to its end and reads the one document that it prints. */
export async function document<T>(
  night: Night,
  args: readonly string[],
): Promise<T & { readonly exit: number | null }> {
  const { exit, stdout, stderr } = await holdfast(night, [...args, '--json']).finished;
  try {
    return { ...(JSON.parse(stdout) as T), exit };
  } catch {
    throw new Error(`holdfast ${args.join(' ')} printed no document: ${stderr}`);
  }
}
