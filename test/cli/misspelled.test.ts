import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert, check, configuredFolder, LETTER_AGENT } from '../support/index.ts';

check(
  'a configuration with a field that is misspelled, or of a wrong shape, is refused by every command',
  async (t) => {
    const { folder, json } = await configuredFolder(t, LETTER_AGENT);
    const file = join(folder, 'holdfast.config.ts');
    const text = readFileSync(file, 'utf8');
    const commands = [
      ['run', 'x'],
      ['runs', 'list'],
      ['operations', 'audit'],
      ['backup', '--to', 'b.db'],
    ] as const;
    for (const [from, to, code, named] of [
      ["name: 'agent',", "name: 'agent', askForEech: true,", 'CONFIG_INVALID', 'askForEech'],
      ["name: 'agent',", "name: 'agent', maxturns: 2,", 'CONFIG_INVALID', 'maxturns'],
      ['agents: [{', 'agents: [null, {', 'INVALID_VALUE', 'agents[0]'],
      ['model, tools }', 'model, tools: 5 }', 'INVALID_VALUE', 'agents[0].tools'],
      ['agents: [', 'tools: {}, agents: [', 'INVALID_VALUE', 'tools'],
      ['agents: [', 'dataDir: 5, agents: [', 'INVALID_VALUE', 'dataDir'],
    ] as const) {
      assert.ok(text.includes(from));
      writeFileSync(file, text.replace(from, to));
      for (const command of commands) {
        const { exit, document } = await json(...command);
        assert.deepEqual([exit, document.error?.code], [2, code], `${to} ${command.join(' ')}`);
        assert.ok(JSON.stringify(document.error).includes(named), `${to} ${JSON.stringify(document.error)}`);
      }
    }
    writeFileSync(file, text.replace("name: 'agent',", "name: 'agent', budgets: { maxTokns: 1000 },"));
    const { document } = await json('run', 'x');
    assert.equal(document.error?.code, 'INVALID_VALUE', 'a bound that is misspelled is none');
    assert.match(JSON.stringify(document.error), /budgets\.maxTokns is not known/);
  },
);

check('help of a command in a group says what that command takes', async (t) => {
  const { holdfast } = await configuredFolder(t, LETTER_AGENT);
  const { exit, stdout } = await holdfast('help', 'runs', 'show');
  assert.deepEqual([exit, /^Usage: holdfast runs show \[options\] <run>$/m.test(stdout)], [0, true]);
  assert.match((await holdfast('help', 'runs')).stdout, /^Usage: holdfast runs /m);
});
