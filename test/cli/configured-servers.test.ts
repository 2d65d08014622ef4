import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { assert, check, type CommandResult, configuredFolder, LETTER_AGENT } from '../support/index.ts';

const SERVER = join(import.meta.dirname, '..', 'fixtures', 'mcp', 'odd-server.ts');

/** A folder whose agent writes through an MCP server that misbehaves as `mode` says; a person has to allow it. */
async function folderWith(t: TestContext, mode: string, tool = 'odd__good') {
  const made = await configuredFolder(t, LETTER_AGENT.replace("toolName: 'post'", `toolName: '${tool}'`));
  const config = join(made.folder, 'holdfast.config.ts');
  const configure = (args: readonly string[]): void => {
    const servers = `{ odd: { server: { command: process.execPath, args: ${JSON.stringify(args)} }, policies } }`;
    const text = readFileSync(config, 'utf8').replace(/export default[^]*/, '');
    const lines = [
      `export default defineConfig({ mcpServers: ${servers}, agents: [{ name: 'agent', model, mcpServers: ['odd'] }] });`,
      "function policies(tool) { return tool.name === 'good' ? { effect: 'once', needsApproval: true, editable: ['to'] } : undefined; }",
    ];
    writeFileSync(config, `${text}${lines.join('\n')}\n`);
  };
  configure([SERVER, mode, '']);
  return { ...made, breakServer: () => configure(['-e', 'process.exit(3)']) };
}

const lastId = ({ stdout }: CommandResult, word: string): string =>
  new RegExp(`${word} ([0-9a-f]{32})`).exec(stdout)?.[1] ?? '';

check(
  "a server's tools that cannot be used are told, and a request for one that can is edited without a run",
  async (t) => {
    const { holdfast } = await folderWith(t, 'schemas');
    const run = await holdfast('run', 'Write to Ada.');
    assert.equal(run.exit, 3, run.stderr);
    for (const name of ['loop', 'remote', 'huge'])
      assert.match(
        run.stderr,
        new RegExp(`the tool ${name} of the MCP server odd is not offered: .*TOOL_SCHEMA_INVALID`),
      );
    const id = lastId(run, 'approve');
    const edited = await holdfast('approvals', 'edit', id, '--arguments', '{"to":"Bob"}');
    assert.deepEqual([edited.exit, /allowed/.test(edited.stdout), /Bob/.test(edited.stdout)], [0, true, true]);
  },
);

check("a server's malformed tool is told by name and a call to it refused; its good tools are used", async (t) => {
  const { holdfast } = await folderWith(t, 'malformed');
  const run = await holdfast('run', 'Write to Ada.');
  assert.equal(run.exit, 3, run.stderr);
  assert.match(run.stderr, /the tool bare of the MCP server odd is not offered: .*inputSchema.*MCP_TOOLS_INVALID/);
  const init = await holdfast('mcp', 'init', '--name', 'odd', '--', process.execPath, SERVER, 'malformed');
  assert.deepEqual(
    [init.exit, /the policy does not name the tool bare: /.test(init.stderr), /for 2 tools/.test(init.stdout)],
    [0, true, true],
  );
  const other = await folderWith(t, 'malformed', 'odd__bare');
  const refused = await other.holdfast('run', 'Write to Ada.');
  assert.equal(refused.exit, 0, refused.stderr);
  assert.match(refused.stdout, /odd__bare.*TOOL_UNKNOWN/);
});

check(
  'a server that does not start keeps nobody from an audit or a verdict, and an edit says what it lacks',
  async (t) => {
    const { holdfast, breakServer } = await folderWith(t, 'schemas');
    const id = lastId(await holdfast('run', 'Write to Ada.'), 'approve');
    breakServer();
    const edit = await holdfast('approvals', 'edit', id, '--arguments', '{"to":"Bob"}');
    assert.deepEqual([edit.exit, /^TOOL_UNKNOWN: The tool odd__good/m.test(edit.stderr)], [1, true]);
    const audit = await holdfast('audit');
    assert.deepEqual(
      [audit.exit, /without the tools of MCP servers: .*MCP_CONNECT_FAILED/.test(audit.stderr)],
      [0, true],
    );
    const said = ['--done', '--reason', 'I looked'];
    const verdict = await holdfast('operations', 'settle', `status_${'0'.repeat(32)}`, ...said);
    assert.match(verdict.stderr, /^OPERATION_NOT_FOUND/m);
    assert.equal((await holdfast('approvals', 'approve', id)).exit, 0);
  },
);
