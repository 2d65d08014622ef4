import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { main, type Terminal } from '../../src/cli/index.ts';
import { outputTo } from '../../src/cli/output.ts';
import { fail } from '../../src/core/index.ts';

import { assert, check, holdfast } from '../support/index.ts';
import { ROOT } from '../structure/repository-files.ts';

function recorded(options: { isTTY?: boolean; env?: Record<string, string> } = {}) {
  const text = { stdout: '', stderr: '' };
  const sink = (name: 'stdout' | 'stderr') => ({
    isTTY: options.isTTY,
    write: (part: string) => {
      text[name] += part;
    },
  });
  const terminal: Terminal = { stdout: sink('stdout'), stderr: sink('stderr'), env: options.env ?? {} };
  return { terminal, text };
}

const ESCAPE = '\u001b[';

check('--version says what package.json says, and nothing else', async () => {
  const { version } = JSON.parse(readFileSync(`${ROOT}/package.json`, 'utf8')) as { version: string };
  assert.deepEqual(await holdfast(['--version']), { exit: 0, stdout: `${version}\n`, stderr: '' });
});

check('help lists every command with its summary and ends with 0', async () => {
  const { COMMANDS } = await import('../../src/cli/commands.ts');
  const { terminal, text } = recorded();
  assert.equal(await main(['help'], terminal), 0);
  for (const { name } of COMMANDS) assert.match(text.stdout, new RegExp(`^ {2}${name}\\b`, 'm'));
});

/** The lines that name one command each: groups such as `keys` are left out, the commands in them are not. */
async function commandLines(): Promise<string[][]> {
  const { COMMANDS } = await import('../../src/cli/commands.ts');
  const { terminal } = recorded();
  const lines = await Promise.all(
    COMMANDS.map(async ({ name, load }) => {
      const command = new Command(name);
      (await load()).define(command, { terminal, output: outputTo(terminal, false), run: async () => undefined });
      return command.commands.length > 0 ? command.commands.map((leaf) => [name, leaf.name()]) : [[name]];
    }),
  );
  return lines.flat();
}

check('every command takes --json and --data-dir', async () => {
  const lines = await commandLines();
  assert.ok(lines.length >= 2);
  for (const line of lines) {
    const { terminal, text } = recorded();
    assert.equal(await main([...line, '--help'], terminal), 0);
    assert.match(text.stdout, /--json/, line.join(' '));
    assert.match(text.stdout, /--data-dir <folder>/, line.join(' '));
  }
});

check('a line that makes no sense is USAGE, exit 2, with what resolves it, on standard error', async () => {
  for (const line of [
    [],
    ['nothing-like-it'],
    ['doctor', '--nothing-like-it'],
    ['doctor', '--data-dir'],
    ['doctor', 'x'],
  ]) {
    const { terminal, text } = recorded();
    assert.equal(await main(line, terminal), 2, line.join(' '));
    assert.match(text.stderr, /^USAGE: .+\.\n {2}what resolves it: See `holdfast help`/);
    assert.equal(text.stdout, '');
  }
});

check('with --json an error is the one document on standard output', async () => {
  const { terminal, text } = recorded();
  assert.equal(await main(['doctor', '--nothing-like-it', '--json'], terminal), 2);
  const { error } = JSON.parse(text.stdout) as { error: Record<string, unknown> };
  assert.deepEqual(Object.keys(error), ['code', 'message', 'retryable', 'resolve']);
  assert.equal(error['code'], 'USAGE');
  assert.equal(text.stderr, '');
});

check('an error has the exit code of its row, and shows no stack and no cause', async () => {
  const { terminal, text } = recorded();
  const cause = new Error('SQLITE_BUSY in /some/where/holdfast.db');
  const exit = await outputTo(terminal, false).error(fail('STORE_BUSY', 'Another process is writing.', { cause }));
  assert.equal(exit, 2);
  assert.match(text.stderr, /^STORE_BUSY: Another process is writing\.\n {2}what resolves it: .+\n$/);
});

check(
  'with --json standard output stays one document where an error comes after the answer, or before it',
  async () => {
    const { terminal, text } = recorded();
    const output = outputTo(terminal, true);
    output.result({ document: { state: 'done' }, lines: () => ['done'] });
    assert.equal(await output.error(fail('STORE_FULL', 'The disk is full.')), 2);
    assert.deepEqual(JSON.parse(text.stdout), { state: 'done' });
    const { error } = JSON.parse(text.stderr) as { error: { code: string } };
    assert.equal(error.code, 'STORE_FULL', 'and what comes later is one too, for whoever reads on');
  },
);

check('an error that is not ours tells its kind, never its message', async () => {
  for (const json of [false, true]) {
    const { terminal, text } = recorded();
    const exit = await outputTo(terminal, json).error(new TypeError("ENOENT: open '/some/where/secret'"));
    assert.equal(exit, 2);
    assert.match(text.stdout + text.stderr, /UNEXPECTED.*TypeError/);
    assert.doesNotMatch(text.stdout + text.stderr, /some\/where|ENOENT|\n {4}at /);
  }
});

check('colours are for terminals, and for nobody who asked to be spared them', async () => {
  const painted = async (options: Parameters<typeof recorded>[0]): Promise<boolean> => {
    const { terminal, text } = recorded(options);
    await main(['doctor', '--data-dir', 'not-there'], terminal);
    await main(['nothing-like-it'], terminal);
    return text.stdout.includes(ESCAPE) && text.stderr.includes(ESCAPE);
  };
  assert.equal(await painted({ isTTY: true }), true);
  assert.equal(await painted({ isTTY: true, env: { NO_COLOR: '1' } }), false);
  assert.equal(await painted({ isTTY: true, env: { TERM: 'dumb' } }), false);
  assert.equal(await painted({ isTTY: false }), false);
});

check('an older Node.js gets one clear line and exit 2', async () => {
  const older = "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '22.17.1' } })";
  const result = await holdfast(['doctor'], {
    node: ['--import', `data:text/javascript,${encodeURIComponent(older)}`],
  });
  assert.deepEqual(result, {
    exit: 2,
    stdout: '',
    stderr: 'holdfast needs Node.js 22.18 or newer; this is 22.17.1.\n',
  });
});

check('a control character in what an error repeats is shown, and not sent to the terminal', async () => {
  const { exit, stderr } = await holdfast(['no-such\u001b[31m-command']);
  assert.equal(exit, 2);
  assert.match(stderr, /no-such\\u001b\[31m-command/);
  assert.ok(!stderr.includes('\u001b'));
});
