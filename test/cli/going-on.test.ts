import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert, check, type ConfiguredFolder, configuredFolder, LETTER_AGENT } from '../support/index.ts';
import { endLeases } from '../support/leases.ts';

const RUN = /^run ([0-9a-f]{32})/m;
const APPROVE = /holdfast (approvals approve [0-9a-f]{32} --digest [0-9a-f]{64})/;
const GO_ON = /to go on: holdfast (runs resume [0-9a-f]{32})/;

const found = (text: string, what: RegExp): string => what.exec(text)?.[1] ?? `nothing like ${String(what)}`;

/** What is shown of a run when its process, which has ended, is known to be gone. */
async function shownOnceKnown({ folder, holdfast }: ConfiguredFolder, id: string): Promise<string> {
  endLeases(join(folder, '.holdfast'));
  return (await holdfast('runs', 'show', id)).stdout;
}

check('a run that was decided elsewhere says that it waits to be resumed, and by which command', async (t) => {
  const { holdfast } = await configuredFolder(t, LETTER_AGENT);
  const run = await holdfast('run', 'Write to Ada.');
  const id = found(run.stdout, RUN);
  assert.doesNotMatch(run.stdout, GO_ON, 'it says already what to do first');
  await holdfast(...found(run.stdout, APPROVE).split(' '));
  assert.match((await holdfast('runs', 'list')).stdout, new RegExp(`${id}  waits to be resumed`));
  const shown = (await holdfast('runs', 'show', id)).stdout;
  assert.match(shown, /waits to be resumed/);
  assert.equal(found(shown, GO_ON), `runs resume ${id}`);
  const resumed = await holdfast(...found(shown, GO_ON).split(' '));
  assert.deepEqual([resumed.exit, RUN.test(resumed.stdout), GO_ON.test(resumed.stdout)], [0, true, false]);
});

check(
  'a tool that ends the process ends no run: exit code 1, what had started is told, and how to go on',
  async (t) => {
    const ending = 'if (!existsSync("twice")) { writeFileSync("twice", ""); process.exit(0); } return {};';
    for (const effect of ['read', 'once']) {
      const agent = LETTER_AGENT.replace("effect: 'once'", `effect: '${effect}'`)
        .replace('needsApproval: true', 'needsApproval: false')
        .replace('return { posted: to };', ending);
      const world = await configuredFolder(t, agent);
      const { holdfast } = world;
      const run = await holdfast('run', 'Write to Ada.');
      assert.deepEqual([run.exit, run.stdout], [1, '']);
      const id = found(run.stderr, /until it is known: holdfast runs show ([0-9a-f]{32})/);
      const shown = await shownOnceKnown(world, id);
      if (effect === 'once') assert.match(shown, /failed, outcome unknown/);
      else assert.equal((await holdfast(...found(shown, GO_ON).split(' '))).exit, 0);
    }
  },
);

check('who names an agent that the configuration has not is told which it has', async (t) => {
  const { holdfast } = await configuredFolder(t, LETTER_AGENT);
  const { exit, stderr } = await holdfast('run', 'Write to Ada.', '--agent', 'nobody');
  assert.equal(exit, 2);
  assert.match(stderr, /^AGENT_UNKNOWN: .*\n {2}what resolves it: Name one that it has with --agent: agent\n/);
});

check('what a configuration or a tool leaves open keeps no command from its end, and that is said', async (t) => {
  const pool = 'const pool = setInterval(() => {}, 1000);'; // as a connection of a database does
  const { holdfast } = await configuredFolder(t, `${pool}${LETTER_AGENT}`);
  const run = await holdfast('run', 'Write to Ada.');
  assert.deepEqual([run.exit, /^holdfast: .*kept this process open/m.test(run.stderr)], [3, true]);
  const list = await holdfast('approvals', 'list', '--json');
  const { requests } = JSON.parse(list.stdout) as { readonly requests: readonly object[] };
  assert.deepEqual([list.exit, requests.length], [0, 1]);
});

check('an error outside any call that ends the process says so, names the run and what shows it', async (t) => {
  const later = "setInterval(() => { throw new RangeError('in /some/where'); }, 1); await sleep(2000); return {};";
  const agent = LETTER_AGENT.replace('needsApproval: true', 'needsApproval: false')
    .replace('execute: (', 'execute: async (')
    .replace('return { posted: to };', later)
    .replace("to: 'Ada'", 'to: messages.at(-1).text');
  const world = await configuredFolder(t, agent);
  const { holdfast } = world;
  const run = await holdfast('run', 'Ada');
  const id = found(run.stderr, /holdfast runs show ([0-9a-f]{32})/);
  assert.deepEqual([run.exit, run.stdout], [1, '']);
  assert.match(run.stderr, /^RUN_PROCESS_ENDED: An error outside any call \(RangeError\) ended the process of run /m);
  assert.match(run.stderr, /What had started is unknown until it is known\.$/m);
  assert.doesNotMatch(run.stderr, /UNEXPECTED|some.where|ended before its run/);
  const told = await holdfast('run', 'Bob', '--json');
  const { error } = JSON.parse(told.stdout) as { readonly error: Record<string, string> };
  assert.deepEqual([told.exit, error['code']], [1, 'RUN_PROCESS_ENDED']);
  assert.match(error['resolve'] ?? '', /^See what is known of it: holdfast runs show [0-9a-f]{32}\. /);
  assert.match(await shownOnceKnown(world, id), /failed, outcome unknown/);
});

check(
  'what ends the process before its command is done is one document with --json, and never exit code 0',
  async (t) => {
    const exits = LETTER_AGENT.replace('needsApproval: true', 'needsApproval: false').replace(
      'return { posted: to };',
      'process.exit(0);',
    );
    const { holdfast, json } = await configuredFolder(t, exits);
    const told = await json('run', 'Write to Ada.');
    assert.deepEqual([told.exit, told.document.error?.code], [1, 'RUN_PROCESS_ENDED']);
    assert.match(JSON.stringify(told.document.error), /See what is known of it: holdfast runs show [0-9a-f]{32}\./);
    const loading = await configuredFolder(t, `process.exit(0);${LETTER_AGENT}`);
    const audit = await loading.json('audit');
    assert.deepEqual([audit.exit, audit.document.error?.code], [2, 'UNEXPECTED'], 'nobody takes it for a passed audit');
    const said = await loading.holdfast('audit');
    assert.deepEqual([said.exit, said.stdout], [2, '']);
    assert.match(said.stderr, /^UNEXPECTED: The process ended before its command was done\.\n {2}what resolves/);
    const waiting = await configuredFolder(t, `await new Promise(() => undefined);${LETTER_AGENT}`);
    const never = await waiting.json('audit');
    assert.deepEqual([never.exit, never.document.error?.code], [2, 'UNEXPECTED']);
    assert.equal((await holdfast('runs', 'list')).exit, 0);
  },
);

check('a run that is left waiting tells whoever is to decide before its command ends', async (t) => {
  const { folder, holdfast } = await configuredFolder(t, LETTER_AGENT);
  const file = join(folder, 'holdfast.config.ts');
  const command = [process.execPath, '-e', "require('fs').writeFileSync('told', require('fs').readFileSync(0))"];
  const notices = `defineConfig({ notices: { command: ${JSON.stringify(command)} },`;
  writeFileSync(file, readFileSync(file, 'utf8').replace('defineConfig({', notices));
  const run = await holdfast('run', 'Write to Ada.');
  assert.equal(run.exit, 3);
  const { request_id: told } = JSON.parse(readFileSync(join(folder, 'told'), 'utf8')) as { request_id: string };
  assert.ok(run.stdout.includes(told));
});

check('an error that cuts a run short after a call had started names the run and what shows it', async (t) => {
  const back = 'const { now } = Date; Date.now = () => now() - 3_600_000; return {};';
  const agent = LETTER_AGENT.replace('needsApproval: true', 'needsApproval: false')
    .replace('return { posted: to };', back)
    .replace("to: 'Ada'", 'to: messages.at(-1).text');
  const world = await configuredFolder(t, agent);
  const told = await world.holdfast('run', 'Ada', '--json');
  const { error } = JSON.parse(told.stdout) as { readonly error: Record<string, string> };
  assert.deepEqual([told.exit, error['code']], [1, 'CLOCK_WENT_BACK']);
  const id = found(
    error['resolve'] ?? '',
    /^See what .* before anything is tried again: holdfast runs show ([0-9a-f]{32})\. /,
  );
  assert.match(await shownOnceKnown(world, id), /failed, outcome unknown/);
});

check('a run whose last reply was cut is completed, and says that its text is not whole', async (t) => {
  const model = "const tools = []; const model = () => ({ text: 'half a', finishReason: 'length' });";
  const { holdfast, json } = await configuredFolder(t, model);
  const run = await holdfast('run', 'Tell all.');
  assert.equal(run.exit, 0);
  assert.match(run.stdout, /^run [0-9a-f]{32} {2}completed\n {2}cut: .* its text is not whole\n\nhalf a$/m);
  const { document } = await json('runs', 'show', found(run.stdout, RUN));
  assert.deepEqual([document['status'], document['cut']], ['completed', 'length']);
  assert.match((await holdfast('runs', 'list')).stdout, /^[0-9a-f]{32} {2}completed, cut {2}Tell all\.$/m);
});
