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

export interface Served {
  readonly url: string;
  /** What SIGKILL does to it: no warning, no last word. */
  kill(): Promise<NodeJS.Signals | null>;
}

/** Starts `holdfast serve` on a free port of loopback, and gives its address once it listens. */
export async function startGateway(settings: Settings): Promise<Served> {
  const { child, finished } = startHoldfast(['serve', '--port', '0', '--quiet', '--json'], settings);
  const ended = finished.then(({ stderr }) => Promise.reject(new Error(`holdfast serve ended: ${stderr}`)));
  const { url } = JSON.parse(await Promise.race([firstLine(child), ended])) as { url: string };
  ended.catch(() => undefined);
  return {
    url,
    async kill() {
      child.kill('SIGKILL');
      return (await finished).signal;
    },
  };
}

function firstLine({ stdout }: ChildProcess): Promise<string> {
  if (!stdout) throw new Error('the process has no output');
  const lines = createInterface({ input: stdout });
  return new Promise((resolve) => void lines.once('line', resolve));
}

export interface Approval {
  readonly subject: string;
  readonly tool: string;
  readonly held: string;
  readonly refused: { readonly status: number; readonly code: string };
  readonly approved: string;
  readonly decided_by: string | null;
  readonly run_continues: boolean;
}

/** Has the approver decide in a process of its own: all that it is given is an address and a token. */
export async function decideElsewhere(requestId: string, gateway: Served, token: string): Promise<Approval> {
  const child = spawn(process.execPath, [join(here, 'approver.ts'), requestId], {
    env: { PATH: process.env['PATH'], HOLDFAST_URL: gateway.url, HOLDFAST_TOKEN: token },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<number | null>((resolve) => void child.on('close', resolve));
  const line = await Promise.race([firstLine(child), ended]);
  if (typeof line !== 'string') throw new Error(`the approver ended with ${line}`);
  return JSON.parse(line) as Approval;
}

export interface Billing {
  readonly url: string;
  /** Lets the next commit for an order go unanswered; `committed` settles once it is on the service's own disk. */
  withhold(order: string): Promise<{ readonly committed: Promise<string> }>;
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
    async withhold(order) {
      const committed = next().then((line) => (JSON.parse(line) as { committed: string }).committed);
      await fetch(`${url}/withhold?order=${order}`, { method: 'POST' });
      return { committed };
    },
    ledger: async () => (await (await fetch(`${url}/ledger`)).json()) as Awaited<ReturnType<Billing['ledger']>>,
    stop: () => void child.kill('SIGTERM'),
  };
}
