import { type Command, Option } from 'commander';
import type { Runtime } from '../app/index.ts';
import { displayText, fail, momentText } from '../core/index.ts';
import { type IssuedToken, type Role, type Token, tokenDocument } from '../principals/index.ts';
import type { CommandContext, ExitCode } from './commands.ts';
import { moreLine, noneLine } from './pages.ts';
import { type RunOptions, withoutAgents } from './with-runtime.ts';

interface TenantOptions extends RunOptions {
  readonly tenant?: string;
}

interface NewOptions extends TenantOptions {
  readonly role: readonly Role[];
  readonly subject: string;
  readonly name?: string;
  readonly days?: string;
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** `holdfast tokens new|list|rotate|revoke`: who may use the gateway, and as what. */
export function define(command: Command, context: CommandContext): void {
  const { run } = context;
  tenantOption(command.command('new'))
    .description('Make a token; it is shown this once, and only its digest is stored')
    .requiredOption('--subject <name>', 'Whose token it is')
    .addOption(
      new Option('--role <role...>', 'What it allows').choices(['agent', 'approver', 'admin']).makeOptionMandatory(),
    )
    .option('--name <text>', 'What it is for, as lists show it')
    .option('--days <n>', 'It ends after so many days (else never)')
    .action((options: NewOptions) => run(() => make(context, options)));
  tenantOption(command.command('list'))
    .description('The tokens of a tenant, oldest first')
    .option('--after <token>', 'The page that follows this one')
    .action((options: TenantOptions & { after?: string }) => run(() => list(context, options)));
  tenantOption(command.command('rotate <token>'))
    .description('Give a token a new secret; the old one is no longer good')
    .action((tokenId: string, options: TenantOptions) => run(() => rotate(context, tokenId, options)));
  tenantOption(command.command('revoke <token>'))
    .description('End a token at once and for ever')
    .action((tokenId: string, options: TenantOptions) => run(() => revoke(context, tokenId, options)));
}

const tenantOption = (command: Command): Command => command.option('--tenant <name>', 'Of this tenant (else your own)');

const worldOf = ({ calls }: Runtime) => ({ clock: calls.clock, ids: calls.sessions.ids });
const tenantOf = (runtime: Runtime, { tenant }: TenantOptions): string => tenant ?? runtime.principal.tenant;

function make(context: CommandContext, options: NewOptions): Promise<ExitCode> {
  return withoutAgents(context, options, async ({ runtime }) => {
    const { createToken } = await import('../principals/index.ts');
    const { ensureTenant } = await import('../store/index.ts');
    const world = worldOf(runtime);
    const tenantId = tenantOf(runtime, options);
    const { subject: subjectId, role: roles, name } = options;
    const expiresAt = options.days === undefined ? null : world.clock.nowMs() + wholeDays(options.days) * DAY_MS;
    const issued = await runtime.store.write('tokens.new', async (tx) => {
      await ensureTenant(tx, world.clock, { tenantId, name: tenantId });
      return createToken(tx, world, { tenantId, subjectId, roles, expiresAt, ...(name === undefined ? {} : { name }) });
    });
    return tell(context, issued);
  });
}

function wholeDays(text: string): number {
  const days = Number(text);
  if (!Number.isInteger(days) || days < 1 || days > 3650)
    throw fail('USAGE', '--days must be a whole number from 1 to 3650.');
  return days;
}

function tell({ output }: CommandContext, { token, text }: IssuedToken): ExitCode {
  output.result({
    document: { ...tokenDocument(token), token: text },
    lines: (colours) => [
      text,
      `  ${tokenLine(token)}`,
      colours.dim('  It is shown this once. Send it as: Authorization: Bearer TOKEN'),
    ],
  });
  return 0;
}

function list(context: CommandContext, options: TenantOptions & { after?: string }): Promise<ExitCode> {
  return withoutAgents(context, options, async ({ runtime }) => {
    const { listTokens } = await import('../principals/index.ts');
    const page = options.after === undefined ? {} : { after: options.after };
    const found = await runtime.store.read('tokens.list', (tx) => listTokens(tx, tenantOf(runtime, options), page));
    context.output.result({
      document: { tokens: found.items.map(tokenDocument), next: found.next },
      lines: (colours) => [
        ...(found.items.length === 0 ? [noneLine(options.after, 'There are none.')] : found.items.map(tokenLine)),
        ...(found.next === null
          ? []
          : [moreLine(colours, 'tokens list', { tenant: options.tenant }, `--after ${found.next}`)]),
      ],
    });
    return 0;
  });
}

function rotate(context: CommandContext, tokenId: string, options: TenantOptions): Promise<ExitCode> {
  return withoutAgents(context, options, async ({ runtime }) => {
    const { rotateToken } = await import('../principals/index.ts');
    const of = { tenantId: tenantOf(runtime, options), tokenId };
    return tell(context, await runtime.store.write('tokens.rotate', (tx) => rotateToken(tx, worldOf(runtime), of)));
  });
}

function revoke(context: CommandContext, tokenId: string, options: TenantOptions): Promise<ExitCode> {
  return withoutAgents(context, options, async ({ runtime }) => {
    const { revokeToken } = await import('../principals/index.ts');
    const of = { tenantId: tenantOf(runtime, options), tokenId };
    const token = await runtime.store.write('tokens.revoke', (tx) => revokeToken(tx, worldOf(runtime), of));
    context.output.result({ document: tokenDocument(token), lines: () => [tokenLine(token)] });
    return 0;
  });
}

function tokenLine(token: Token): string {
  const { tokenId, subjectId, roles, name, expiresAt, revokedAt } = token;
  const ended = revokedAt !== null ? '  revoked' : '';
  const until = expiresAt === null ? '' : `  until ${momentText(expiresAt)}`;
  return `${tokenId}  ${displayText(subjectId)}  ${roles.join(', ')}  ${displayText(name)}${until}${ended}`;
}
