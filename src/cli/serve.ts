import type { Command } from 'commander';
import type { Configured, Holdfast, HoldfastConfig, Runtime } from '../app/index.ts';
import { fail, type Log } from '../core/index.ts';
import type { DamagedRun } from '../runs/index.ts';
import type { CommandContext, ExitCode } from './commands.ts';
import { watchServing } from './early-end.ts';
import type { Terminal } from './terminal.ts';
import { version } from './version.ts';

interface Options {
  readonly dataDir?: string;
  readonly config?: string;
  readonly host: string;
  readonly port: string;
  readonly quiet?: boolean;
}

/** Whoever started a run may not approve what it wants to do, unless the configuration says so. */
const OTHERS_DECIDE = { roles: ['approver'], subjects: [], requesterMayDecide: false } as const;

/**
 * `holdfast serve`: opens the gateway and serves until SIGINT or SIGTERM. Then nothing more begins, and tool calls that are
 * under way may end, for `closeWaitMs` of the configuration at most; a second signal ends it at once. One that was taken
 * for dead comes back as another.
 */
export function define(command: Command, context: CommandContext): void {
  command
    .option('--host <address>', 'Where to listen; anything but loopback is reached by others', '127.0.0.1')
    .option('--port <n>', 'The port; 0 for any that is free', '8787')
    .option('--quiet', 'No log on standard error')
    .action((options: Options) => context.run(() => serve(context, options)));
}

async function serve(context: CommandContext, options: Options): Promise<ExitCode> {
  const { terminal } = context;
  const { loadConfigFile, openConfigured, readConfiguration } = await import('../app/index.ts');
  const port = portOf(options.port);
  const config: HoldfastConfig = {
    approver: OTHERS_DECIDE,
    ...((await loadConfigFile(options.config)) ?? { agents: [] }),
  };
  const { dataDir } = readConfiguration({ env: terminal.env, dataDir: options.dataDir, configured: config.dataDir });
  const signal = nextSignal();
  const log = await logOf(terminal, options);
  const onDamage = ({ runId, code, why }: DamagedRun): void =>
    log.error('serve.run_damaged', { run_id: runId, code, why, resolve: context.output.command('holdfast audit') });
  let runs = (): readonly string[] => [];
  const unwatch = watchServing(context, {
    what: 'gateway',
    runs: () => runs(),
    again: 'Then start it again: holdfast serve takes up what waits and was decided.',
  });
  const open = () => openConfigured({ onDamage, ...config, comesBack: false }, dataDir);
  try {
    for (let life: Life | null = { open, signal, log, host: options.host, port, before: null }; life !== null; )
      life = await live(context, life, (carried) => (runs = carried));
    return 0;
  } finally {
    unwatch();
  }
}

/** A time under one id of this process: until it is told to stop, or was taken for dead. */
interface Life {
  readonly open: () => Promise<Configured>;
  readonly signal: Promise<void>;
  readonly log: Log;
  readonly host: string;
  readonly port: number;
  /** Where the life before this one listened; null for the first. */
  readonly before: string | null;
}

/**
 * Answers the life that follows: under a new id, with nothing of this one but its address, as a process that was started
 * again would have it. Null where it was told to stop.
 */
async function live(
  context: CommandContext,
  life: Life,
  hold: (runs: () => readonly string[]) => void,
): Promise<Life | null> {
  const { log, host, port, before } = life;
  const { openGateway } = await import('../gateway/index.ts');
  const configured = await life.open();
  const { runtime } = configured.holdfast;
  hold(() => runtime.runs.carriedHere());
  for (const { server, name, code, reason } of configured.notOffered)
    log.error('serve.tool_not_offered', { server, tool: name, code, reason });
  try {
    const gateway = await openGateway({ holdfast: configured.holdfast, host, port, log, version: version() });
    let isLost: boolean;
    try {
      await configured.holdfast.carryOnDecided({
        onError: (runId, error) => log.error('serve.run_failed', { run_id: runId, error: asError(error) }),
      });
      if (before === null) tell(context, gateway.url, await firstToken(configured.holdfast));
      else log.info('serve.came_back', { url: gateway.url });
      isLost = await Promise.race([life.signal.then(() => false), runtime.lost.then(() => true)]);
      if (isLost) await letGo(context, runtime, log);
      else log.info('serve.stopping', { runs: runtime.runs.carriedHere().length });
    } finally {
      // Together: what is carried out here begins nothing more while requests that were begun are answered.
      await Promise.all([gateway.close(), runtime.runs.close()]);
    }
    return isLost ? { ...life, port: Number(new URL(gateway.url).port), before: gateway.url } : null;
  } finally {
    await configured.close();
  }
}

/**
 * Its lease is over, so its runs are let go of as any other process would do it, before they are broken off here: none is
 * told as stopped that nobody stopped, and what others did meanwhile stands. Requests are answered until the last has ended.
 */
async function letGo({ output }: CommandContext, { runs }: Runtime, log: Log): Promise<void> {
  const code = 'INSTANCE_ENDED';
  const resolve = `It goes on as another process; see: ${output.command('holdfast runs list')}`;
  log.error('serve.taken_for_dead', { code, resolve });
  await runs.reconcile();
  await runs.close();
}

const asError = (error: unknown): Error | undefined => (error instanceof Error ? error : undefined);

function portOf(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535) throw fail('USAGE', '--port must be a whole number from 0 to 65535.');
  return port;
}

async function logOf({ stderr }: Terminal, { quiet }: Options): Promise<Log> {
  const { createLog, noLog } = await import('../core/index.ts');
  return quiet ? noLog : createLog({ write: (line) => void stderr.write(`${line}\n`) });
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Settles at the first signal to stop; a second one ends the process at once, as if it had been killed. */
function nextSignal(): Promise<void> {
  return new Promise((settle) => {
    const onSignal = (): void => {
      for (const name of SIGNALS) process.off(name, onSignal);
      settle();
    };
    for (const name of SIGNALS) process.on(name, onSignal);
  });
}

/** A tenant without a token gets one for its owner: to decide, and to make the others. Null where there is one. */
async function firstToken({ runtime }: Holdfast): Promise<string | null> {
  const { createToken, hasToken } = await import('../principals/index.ts');
  const { calls, principal, store } = runtime;
  const { tenant: tenantId, subject: subjectId } = principal;
  return store.write('tokens.first', async (tx) => {
    if (await hasToken(tx, calls.clock, tenantId)) return null;
    const world = { clock: calls.clock, ids: calls.sessions.ids };
    const issued = await createToken(tx, world, {
      tenantId,
      subjectId,
      roles: ['admin', 'approver'],
      name: 'first token',
    });
    return issued.text;
  });
}

function tell({ output }: CommandContext, url: string, token: string | null): void {
  output.result({
    document: { url, token },
    lines: (colours) => [
      `Listening at ${colours.bold(url)}`,
      ...(token === null
        ? []
        : [token, colours.dim('  The first token: it decides, and makes others. It is shown this once.')]),
    ],
  });
}
