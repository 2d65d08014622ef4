import type { Command } from 'commander';
import type { Holdfast, HoldfastConfig } from '../app/index.ts';
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

/** `holdfast serve`: opens the gateway and serves until SIGINT or SIGTERM, or until it was taken for dead: INSTANCE_ENDED. */
export function define(command: Command, context: CommandContext): void {
  command
    .option('--config <file>', 'The configuration (else holdfast.config.ts, else no agents)')
    .option('--host <address>', 'Where to listen; anything but loopback is reached by others', '127.0.0.1')
    .option('--port <n>', 'The port; 0 for any that is free', '8787')
    .option('--quiet', 'No log on standard error')
    .action((options: Options) => context.run(() => serve(context, options)));
}

async function serve(context: CommandContext, options: Options): Promise<ExitCode> {
  const { terminal } = context;
  const { loadConfigFile, openConfigured, readConfiguration } = await import('../app/index.ts');
  const { openGateway } = await import('../gateway/index.ts');
  const port = portOf(options.port);
  const config: HoldfastConfig = {
    approver: OTHERS_DECIDE,
    ...((await loadConfigFile(options.config)) ?? { agents: [] }),
  };
  const { dataDir } = readConfiguration({ env: terminal.env, dataDir: options.dataDir, configured: config.dataDir });
  const signal = nextSignal();
  const log = await logOf(terminal, options);
  const onDamage = ({ runId, code, why }: DamagedRun): void =>
    log.error('serve.run_damaged', { run_id: runId, code, why, resolve: 'holdfast audit' });
  const configured = await openConfigured({ onDamage, ...config }, dataDir);
  for (const { server, name, code, reason } of configured.notOffered)
    log.error('serve.tool_not_offered', { server, tool: name, code, reason });
  const { runs } = configured.holdfast.runtime;
  const unwatch = watchServing(terminal, {
    what: 'gateway',
    runs: () => runs.carriedHere(),
    again: 'Then start it again: holdfast serve takes up what waits and was decided.',
  });
  try {
    const gateway = await openGateway({
      holdfast: configured.holdfast,
      host: options.host,
      port,
      log,
      version: version(),
    });
    try {
      await configured.holdfast.carryOnDecided({
        onError: (runId, error) => log.error('serve.run_failed', { run_id: runId, error: asError(error) }),
      });
      tell(context, gateway.url, await firstToken(configured.holdfast));
      await Promise.race([signal, configured.holdfast.runtime.lost.then(() => refuseToGoOn(log))]);
    } finally {
      await gateway.close();
    }
    return 0;
  } finally {
    await configured.close();
    unwatch();
  }
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

/** Nothing that it held is carried on under another name: a new process takes up what waits, as after any crash. */
function refuseToGoOn(log: Log): never {
  const resolve = 'Start it again: holdfast serve. It takes up what waits and was decided.';
  log.error('serve.taken_for_dead', { code: 'INSTANCE_ENDED', resolve });
  throw fail('INSTANCE_ENDED', 'This process was taken for dead, as while its machine slept.', { resolve });
}

/** Settles at the first signal to stop; a second one ends the process at once, as if it had been killed. */
function nextSignal(): Promise<void> {
  return new Promise((settle) => {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => settle());
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
