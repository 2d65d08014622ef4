import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { assert, check, configuredFolder, installedCommand, LETTER_AGENT } from '../support/index.ts';

/** Pipes that say they are a terminal: Node.js alone can make no other, and the command sees no difference. */
const TERMINAL = `data:text/javascript,${encodeURIComponent(`
  for (const stream of [process.stdin, process.stdout, process.stderr]) stream.isTTY = true;
  process.stdin.setRawMode = () => process.stdin;
  process.stdout.columns = 100;
`)}`;

const LONGEST_MS = 60_000;
const KEYS = { enter: '\r', down: '\u001b[B', wipe: '\u0015', interrupt: '\u0003' };

/**
 * Runs the command as at a terminal; each step waits for words on the screen, does what somebody else does meanwhile, then
 * types. Gives exit code and screen.
 */
async function typed(
  t: TestContext,
  cwd: string,
  args: readonly string[],
  steps: readonly (readonly [RegExp, string, (() => Promise<void>)?])[],
) {
  const child = spawn(process.execPath, ['--import', TERMINAL, installedCommand(), ...args], {
    cwd,
    env: { ...process.env, TERM: 'xterm' },
    timeout: LONGEST_MS,
    killSignal: 'SIGKILL',
  });
  t.after(() => void child.kill('SIGKILL'));
  let screen = '';
  const left = [...steps];
  let from = 0;
  const see = (part: string): void => {
    screen += stripVTControlCharacters(part);
    const [what, keys, meanwhile] = left[0] ?? [];
    if (!what?.test(screen.slice(from))) return;
    left.shift();
    from = screen.length;
    void (meanwhile?.() ?? Promise.resolve()).then(() => type(keys ?? ''));
  };
  const type = (keys: string): void => {
    if (keys === KEYS.interrupt) child.kill('SIGINT');
    else for (const [i, key] of keys.split('|').entries()) setTimeout(() => child.stdin.write(key), 50 * (i + 1));
    // A pipe, unlike a terminal, keeps its reader alive until it ends.
    if (left.length === 0) setTimeout(() => child.stdin.end(), 1000);
  };
  child.stdout.setEncoding('utf8').on('data', see);
  child.stderr.setEncoding('utf8').on('data', see);
  const [exit] = (await once(child, 'close')) as [number | null];
  assert.deepEqual(left, [], `nobody was asked: ${screen}`);
  return { exit, screen };
}

const ASKED = /May it\?/;

check('on a terminal run shows the call and its digest, asks, and goes on when it is approved: exit 0', async (t) => {
  const { folder, json } = await configuredFolder(t, LETTER_AGENT);
  const { exit, screen } = await typed(t, folder, ['run', 'Write to Ada'], [[ASKED, KEYS.enter]]);
  assert.equal(exit, 0, screen);
  assert.match(screen, /post wants to run[\s\S]*\{"to":"Ada"\}[\s\S]*digest [0-9a-f]{64}/);
  assert.match(screen, /… post[\s\S]*post: done \(reported\)/, 'calls are shown as they happen');
  assert.equal(readFileSync(join(folder, 'letters.txt'), 'utf8'), 'Ada\n');
  const { document } = await json('approvals', 'list', '--all');
  const [request] = document['requests'] as { digest: string; decided_by: string }[];
  assert.ok(screen.includes(request?.digest ?? 'none'));
  assert.equal(request?.decided_by, 'owner');
});

check('what is edited at the prompt is what is carried out, and the run says so', async (t) => {
  const { folder } = await configuredFolder(t, LETTER_AGENT);
  const edit = `${KEYS.down}|${KEYS.enter}`;
  const steps = [
    [ASKED, edit],
    [/The whole arguments/, `${KEYS.wipe}|{"to":"Bob"}|${KEYS.enter}`],
  ] as const;
  const { exit, screen } = await typed(t, folder, ['run', 'Write to Ada'], steps);
  assert.equal(exit, 0, screen);
  assert.equal(readFileSync(join(folder, 'letters.txt'), 'utf8'), 'Bob\n');
});

check('an edit that may not be made is told, and the person is asked again instead of losing the run', async (t) => {
  const { folder } = await configuredFolder(t, LETTER_AGENT);
  const steps = [
    [ASKED, `${KEYS.down}|${KEYS.enter}`],
    [/The whole arguments/, `${KEYS.wipe}|{"to":"Bob","cc":"Eve"}|${KEYS.enter}`],
    // The refusal and the next question come through two pipes, in any order.
    [/^(?=[^]*APPROVAL_EDIT_FORBIDDEN)[^]*May it\?/, KEYS.enter],
  ] as const;
  const { exit, screen } = await typed(t, folder, ['run', 'Write to Ada'], steps);
  assert.equal(exit, 0, screen);
  assert.equal(readFileSync(join(folder, 'letters.txt'), 'utf8'), 'Ada\n');
});

check('a rejection at the prompt runs nothing and its reason reaches the model', async (t) => {
  const { folder } = await configuredFolder(t, LETTER_AGENT);
  const steps = [
    [ASKED, `${KEYS.down}|${KEYS.down}|${KEYS.enter}`],
    [/Why not\?/, `not today|${KEYS.enter}`],
  ] as const;
  const { exit, screen } = await typed(t, folder, ['run', 'Write to Ada'], steps);
  assert.equal(exit, 0, screen);
  assert.match(screen, /told: NOT STARTED \(APPROVAL_DENIED\): owner said no: not today/);
  assert.equal(existsSync(join(folder, 'letters.txt')), false);
});

check('what is left for later keeps waiting: exit 3, and the command that decides is named', async (t) => {
  const { folder, holdfast } = await configuredFolder(t, LETTER_AGENT);
  const later = `${KEYS.down}|${KEYS.down}|${KEYS.down}|${KEYS.enter}`;
  const { exit, screen } = await typed(t, folder, ['run', 'Write to Ada'], [[ASKED, later]]);
  assert.equal(exit, 3, screen);
  const [, command = ''] = /decide: holdfast (approvals approve \S+ --digest \S+)/.exec(screen) ?? [];
  const [, resume = ''] = /then: holdfast (runs resume \S+)/.exec(screen) ?? [];
  assert.equal((await holdfast(...command.split(' '))).exit, 0);
  const resumed = await holdfast(...resume.split(' '));
  assert.equal(resumed.exit, 0, resumed.stderr);
  assert.equal(readFileSync(join(folder, 'letters.txt'), 'utf8'), 'Ada\n');
});

const waiting = async (json: (...args: string[]) => Promise<{ document: Record<string, unknown> }>) => {
  const { document } = await json('runs', 'list');
  return (document['runs'] as { run_id: string; status: string }[])[0] ?? assert.fail('there is no run');
};

check('an interrupt while a person is asked ends the asking: the run is stopped, and told so, exit 1', async (t) => {
  const { folder, json } = await configuredFolder(t, LETTER_AGENT);
  const { exit, screen } = await typed(t, folder, ['run', 'Write to Ada'], [[ASKED, KEYS.interrupt]]);
  assert.equal(exit, 1, screen);
  assert.match(screen, /Stopping; nothing more is started\.[\s\S]*run \w+ {2}stopped/);
  assert.equal((await waiting(json)).status, 'stopped');
});

check('a run that somebody else stopped while a person was asked is not told as waiting', async (t) => {
  const { folder, holdfast, json } = await configuredFolder(t, LETTER_AGENT);
  const later = `${KEYS.down}|${KEYS.down}|${KEYS.down}|${KEYS.enter}`;
  const stop = async (): Promise<void> => void (await holdfast('runs', 'stop', (await waiting(json)).run_id));
  const { exit, screen } = await typed(t, folder, ['run', 'Write to Ada'], [[ASKED, later, stop]]);
  assert.equal(exit, 1, screen);
  assert.match(screen, /run \w+ {2}stopped/);
  assert.doesNotMatch(screen, /waiting for a decision/);
});
