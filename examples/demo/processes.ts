// The processes of the demo: the command as a person would type it, and the billing service.
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const here = import.meta.dirname;
const command = join(here, '..', '..', 'bin', 'holdfast.js');

export interface Settings {
  readonly dataDir: string;
  readonly folder: string;
  readonly billingUrl: string;
}

export interface Finished {
  readonly exit: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Started {
  readonly child: ChildProcess;
  readonly finished: Promise<Finished>;
}

/** Starts `holdfast …` in its own process, in the folder of the configuration. */
export function startHoldfast(args: readonly string[], settings: Settings): Started {
  const child = spawn(process.execPath, [command, ...args, '--data-dir', settings.dataDir], {
    cwd: here,
    env: { ...process.env, DEMO_FOLDER: settings.folder, DEMO_BILLING_URL: settings.billingUrl, NO_COLOR: '1' },
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

/** Runs `holdfast … --json` to its end and reads the one document that it prints. */
export async function holdfastJson<T>(
  args: readonly string[],
  settings: Settings,
): Promise<T & { exit: number | null }> {
  const { exit, stdout, stderr } = await startHoldfast([...args, '--json'], settings).finished;
  try {
    return { ...(JSON.parse(stdout) as T), exit };
  } catch {
    throw new Error(`holdfast ${args.join(' ')} printed no document: ${stderr}`);
  }
}

export interface Billing {
  readonly url: string;
  /** Lets the next commit go unanswered, and settles once it is on the service's own disk. */
  withholdNext(): Promise<{ readonly committed: Promise<string> }>;
  ledger(): Promise<
    readonly {
      readonly credit_note: string;
      readonly reference: string;
      readonly order: string;
      readonly reason: string;
    }[]
  >;
  stop(): void;
}

/** Starts the billing service, which has its own log and its own process. */
export async function startBilling(log: string): Promise<Billing> {
  const child = spawn(process.execPath, [join(here, 'billing-service.ts'), log], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout });
  const waiting: ((line: string) => void)[] = [];
  lines.on('line', (line) => waiting.shift()?.(line));
  const next = (): Promise<string> => new Promise((resolve) => void waiting.push(resolve));
  const { port } = JSON.parse(await next()) as { port: number };
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    async withholdNext() {
      const committed = next().then((line) => (JSON.parse(line) as { committed: string }).committed);
      await fetch(`${url}/withhold`, { method: 'POST' });
      return { committed };
    },
    ledger: async () => (await (await fetch(`${url}/ledger`)).json()) as Awaited<ReturnType<Billing['ledger']>>,
    stop: () => void child.kill('SIGTERM'),
  };
}
