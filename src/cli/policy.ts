import type { Command } from 'commander';
import type { CommandContext, ExitCode } from './commands.ts';
import { readPolicyFile, readSmallFile } from './small-files.ts';

interface TestOptions {
  readonly policy: string;
  readonly dataDir?: string;
}

/** `holdfast policy test CALL`: what the guard would do with a call, and why. Nothing is started. */
export function define(command: Command, context: CommandContext): void {
  command
    .command('test')
    .description('Say what would happen to a call, and why; exit code 0 passes, 3 waits, 1 refused')
    .argument('<call>', 'JSON such as {"name":"write_file","arguments":{"path":"a.txt"}}, or @FILE')
    .option('--policy <file>', 'The policy file', 'holdfast.policy.json')
    .action((call: string, options: TestOptions) => context.run(() => test(context, call, options)));
}

const EXITS = { allow: 0, ask: 3, deny: 1 } as const;

async function test({ output, terminal }: CommandContext, text: string, options: TestOptions): Promise<ExitCode> {
  const { readConfiguration } = await import('../app/index.ts');
  const { JSON_PROFILES, readStrictJson } = await import('../core/index.ts');
  const { openFilesystem } = await import('../effects/index.ts');
  const mcp = await import('../mcp/index.ts');
  const policy = mcp.readPolicy(readPolicyFile(options.policy));
  const { dataDir } = readConfiguration({ env: terminal.env, dataDir: options.dataDir });
  const sealed = mcp.sealPolicy(policy, openFilesystem({ dataDir }));
  const given = text.startsWith('@') ? readSmallFile('the call file', text.slice(1)) : text;
  const call = mcp.readProposedCall(readStrictJson(given, JSON_PROFILES.wire));
  const verdict = mcp.judgeCall(sealed, call.name, call.arguments);
  output.result({
    document: mcp.explanationDocument(sealed, call),
    lines: () => mcp.explainCall(sealed, call),
  });
  return verdict.passes ? 0 : EXITS[verdict.decision];
}
