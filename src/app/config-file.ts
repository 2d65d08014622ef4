import { existsSync, readFileSync, statSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { basename, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { checkOptions, fail, HoldfastError } from '../core/index.ts';
import type { HttpServer, McpPolicies, StdioServer } from '../mcp/index.ts';
import type { AgentOptions, HoldfastOptions } from './holdfast.ts';
import { CONFIGURED_OPTIONS } from './option-shapes.ts';

/** An MCP server whose tools the agents of a configuration may call. */
export interface McpServerConfig {
  readonly server: StdioServer | HttpServer;
  /** What each of its tools does; one without a policy is `once` and asks a person each time. */
  readonly policies?: McpPolicies;
}

/** An agent of a configuration: its own tools, and those of the servers it names. */
export interface AgentConfig extends AgentOptions {
  readonly mcpServers?: readonly string[];
}

/** What `holdfast.config.ts` says. Secrets are never written here: read them from the environment where they are used. */
export interface HoldfastConfig extends Omit<HoldfastOptions, 'clock' | 'ids' | 'observer' | 'faults'> {
  readonly agents: readonly AgentConfig[];
  readonly mcpServers?: Readonly<Record<string, McpServerConfig>>;
}

/** Gives the configuration its type; `export default defineConfig({ … })`. */
export function defineConfig(config: HoldfastConfig): HoldfastConfig {
  return config;
}

/** Where a configuration is looked for, in the working folder. */
export const CONFIG_FILES = [
  'holdfast.config.ts',
  'holdfast.config.mts',
  'holdfast.config.js',
  'holdfast.config.mjs',
] as const;

/** The name for a new configuration in the working folder: one that Node.js loads as a module. */
export function newConfigFile(): (typeof CONFIG_FILES)[number] {
  return isCommonJs(pathToFileURL('./')) ? 'holdfast.config.mts' : 'holdfast.config.ts';
}

/** Whether the package of this place says that its files are no modules, as `npm init` writes. */
function isCommonJs(place: URL): boolean {
  try {
    const file = findPackageJSON(place);
    const manifest: unknown = file === undefined ? null : JSON.parse(readFileSync(file, 'utf8'));
    return typeof manifest === 'object' && manifest !== null && 'type' in manifest && manifest.type === 'commonjs';
  } catch {
    return false;
  }
}

const FIELDS: ReadonlySet<string> = new Set([
  'agents',
  'mcpServers',
  'dataDir',
  'principal',
  'projectId',
  'policies',
  'approver',
  'approvalExpiresMs',
  'notices',
  'tools',
  'retiredTools',
  'workspaceOf',
  'instanceLeaseMs',
  'closeWaitMs',
  'telemetry',
]);

const AGENT_FIELDS: Readonly<Record<keyof AgentConfig, true>> = {
  name: true,
  model: true,
  tools: true,
  instructions: true,
  settings: true,
  maxTurns: true,
  askForEach: true,
  budgets: true,
  costOf: true,
  retries: true,
  children: true,
  childMode: true,
  maxParallelChildren: true,
  sideBranchMaxTurns: true,
  compactAboveTokens: true,
  purpose: true,
  checkpoints: true,
  autonomy: true,
  listener: true,
  mcpServers: true,
};

/**
 * Loads the configuration that is named, or the one of the working folder; null where there is none. It is a program
 * of the user's and runs as such. Throws CONFIG_MISSING for a named file that is not there, CONFIG_INVALID for one
 * that does not load, exports no configuration, or has a field that is not known.
 */
export async function loadConfigFile(named?: string): Promise<HoldfastConfig | null> {
  const path = named ?? CONFIG_FILES.find((name) => existsSync(name));
  if (path === undefined) return null;
  if (!existsSync(path)) throw fail('CONFIG_MISSING', 'The configuration file that is named is not there.');
  if (statSync(path).isDirectory())
    throw fail('CONFIG_INVALID', 'What was given as the configuration file is a folder.', {
      resolve: `Name the file in it, such as its \`${CONFIG_FILES[0]}\`.`,
    });
  return checkConfig(await importDefault(resolve(path)));
}

async function importDefault(path: string): Promise<unknown> {
  const place = pathToFileURL(path);
  try {
    const loaded: { readonly default?: unknown } = await import(place.href);
    return loaded.default;
  } catch (cause) {
    if (cause instanceof HoldfastError) throw cause;
    throw doesNotLoad(place, cause);
  }
}

/** Of what was thrown only the kind is told: the rest may quote a path, or a secret. */
function doesNotLoad(place: URL, cause: unknown): HoldfastError {
  const file = basename(fileURLToPath(place));
  const [kind, code] = kindOf(cause);
  // Node.js gives a code to a syntax that is wrong in every module, and none to `export` in what it takes for no module.
  if (kind === 'SyntaxError' && code === null && /\.[jt]s$/.test(file) && isCommonJs(place))
    return fail('CONFIG_INVALID', 'The configuration is a module, and its package.json says `"type": "commonjs"`.', {
      cause,
      resolve: `Rename it to \`${file.replace(/[jt]s$/, 'm$&')}\`, or say \`"type": "module"\` in that package.json.`,
    });
  return fail(
    'CONFIG_INVALID',
    `The configuration file does not load (${code === null ? kind : `${kind}, ${code}`}).`,
    {
      cause,
      resolve: `See the whole error with \`node ${file}\` in its folder, and correct the file.`,
    },
  );
}

function kindOf(thrown: unknown): readonly [kind: string, code: string | null] {
  if (!(thrown instanceof Error)) return ['no error was thrown', null];
  const word = (value: unknown): string | null =>
    typeof value === 'string' && /^\w{1,64}$/.test(value) ? value : null;
  return [word(thrown.name) ?? 'Error', 'code' in thrown ? word(thrown.code) : null];
}

function checkConfig(value: unknown): HoldfastConfig {
  if (typeof value !== 'object' || value === null)
    throw fail('CONFIG_INVALID', 'The configuration file must export its configuration as default.');
  const unknown = Object.keys(value).find((field) => !FIELDS.has(field));
  if (unknown !== undefined)
    throw fail('CONFIG_INVALID', `The configuration has a field that is not known: ${unknown.slice(0, 64)}.`);
  if (!('agents' in value) || !Array.isArray(value.agents))
    throw fail('CONFIG_INVALID', 'The configuration must have a list of agents.');
  checkOptions('the configuration', value, CONFIGURED_OPTIONS);
  // One that is misspelled would be passed over, and what it should have bounded, or held, would not be.
  for (const agent of value.agents as readonly object[])
    refuseUnknown('An agent of the configuration', agent, AGENT_FIELDS);
  return value as HoldfastConfig;
}

function refuseUnknown(what: string, given: object, known: Readonly<Record<string, true>>): void {
  const unknown = Object.keys(given).find((field) => !Object.hasOwn(known, field));
  if (unknown !== undefined)
    throw fail('CONFIG_INVALID', `${what} has a field that is not known: ${unknown.slice(0, 64)}.`);
}
