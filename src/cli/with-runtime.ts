import type { Configured, Holdfast, HoldfastConfig } from '../app/index.ts';
import type { DamagedRun } from '../runs/index.ts';
import type { CommandContext, ExitCode } from './commands.ts';

export interface RunOptions {
  readonly dataDir?: string;
  readonly config?: string;
}

/** Opens the data folder with everything that the configuration describes; CONFIG_MISSING where there is none. */
export async function withConfigured(
  context: CommandContext,
  options: RunOptions,
  work: (configured: Configured) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { loadConfigFile } = await import('../app/index.ts');
  const { fail } = await import('../core/index.ts');
  const config = await loadConfigFile(options.config);
  if (!config) throw fail('CONFIG_MISSING', 'There is no holdfast.config.ts in this folder.');
  return workAndClose(await opened(context, options, config), work);
}

async function opened(
  { terminal, output }: CommandContext,
  options: RunOptions,
  config: HoldfastConfig,
): Promise<Configured> {
  const { damagedLine, notOfferedLine, openConfigured, readConfiguration } = await import('../app/index.ts');
  const { dataDir } = readConfiguration({ env: terminal.env, dataDir: options.dataDir, configured: config.dataDir });
  const onDamage = (run: DamagedRun): void =>
    void terminal.stderr.write(`holdfast: ${output.command(damagedLine(run))}\n`);
  const configured = await openConfigured({ onDamage, ...config }, dataDir);
  for (const tool of configured.notOffered) terminal.stderr.write(`holdfast: ${notOfferedLine(tool)}\n`);
  return configured;
}

/**
 * The data folder of a command that looks after it and opens no runtime: the one that a runtime would open. The
 * configuration, a program of the user's, is loaded only where nothing else names the folder.
 */
export async function dataFolderOf({ terminal: { env } }: CommandContext, options: RunOptions): Promise<string> {
  const { loadConfigFile, readConfiguration } = await import('../app/index.ts');
  const { dataDir } = options;
  const isNamed = dataDir !== undefined || env['HOLDFAST_DATA_DIR'] !== undefined;
  if (isNamed) return readConfiguration({ env, dataDir }).dataDir;
  try {
    return readConfiguration({ env, configured: (await loadConfigFile(options.config))?.dataDir }).dataDir;
  } catch (error) {
    const { fail, HoldfastError } = await import('../core/index.ts');
    if (!(error instanceof HoldfastError)) throw error;
    // A guess would be another folder than the one that everybody works in.
    const resolve = `Name the data folder with --data-dir. Or: ${error.resolve}`;
    throw fail(error.code, error.message, { cause: error, resolve });
  }
}

/** What keeps the work from its end most often keeps that of the process from being written down too: the first is told. */
async function workAndClose<T extends Pick<Configured, 'close'>>(opened: T, work: (opened: T) => Promise<ExitCode>) {
  let exit: ExitCode;
  try {
    exit = await work(opened);
  } catch (error) {
    await opened.close().catch(() => undefined);
    throw error;
  }
  await opened.close();
  return exit;
}

/**
 * Opens the data folder for commands that run nothing. The configuration is used where there is one, so that the
 * principal and the tools are known; no MCP server is started.
 */
export async function withoutAgents(
  { terminal, output }: CommandContext,
  options: RunOptions,
  work: (holdfast: Holdfast) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { damagedLine, Holdfast, loadConfigFile, readConfiguration } = await import('../app/index.ts');
  const config = await loadConfigFile(options.config);
  const { agents, mcpServers: _servers, ...settings } = config ?? { agents: [] };
  const { dataDir } = readConfiguration({ env: terminal.env, dataDir: options.dataDir, configured: config?.dataDir });
  const tools = [...new Set([...(settings.tools ?? []), ...agents.flatMap((agent) => agent.tools ?? [])])];
  const onDamage = (run: DamagedRun): void =>
    void terminal.stderr.write(`holdfast: ${output.command(damagedLine(run))}\n`);
  const how = { dataDir, tools, create: false, secretsIn: terminal.env };
  return workAndClose(await Holdfast.open({ onDamage, ...settings, ...how }), work);
}

/** Opens the data folder with the agents of the configuration, where there is one, and with those of the house. */
export async function withAgents(
  context: CommandContext,
  options: RunOptions,
  work: (holdfast: Holdfast) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { loadConfigFile } = await import('../app/index.ts');
  if (await loadConfigFile(options.config)) return withConfigured(context, options, ({ holdfast }) => work(holdfast));
  return withoutAgents(context, options, work);
}

/**
 * Opens the data folder with every tool that can be known: those of MCP servers too, where a configuration names them. A
 * server that cannot be used is told, and keeps nobody from what needs no tool of it.
 */
export async function withEveryTool(
  context: CommandContext,
  options: RunOptions,
  work: (holdfast: Holdfast) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { loadConfigFile } = await import('../app/index.ts');
  const config = await loadConfigFile(options.config);
  if (!config?.mcpServers) return withoutAgents(context, options, work);
  let configured: Configured;
  try {
    configured = await opened(context, options, config);
  } catch (error) {
    const { HoldfastError } = await import('../core/index.ts');
    if (!(error instanceof HoldfastError) || !error.code.startsWith('MCP_')) throw error;
    context.terminal.stderr.write(`holdfast: without the tools of MCP servers: ${error.message} (${error.code})\n`);
    return withoutAgents(context, options, work);
  }
  return workAndClose(configured, ({ holdfast }) => work(holdfast));
}
