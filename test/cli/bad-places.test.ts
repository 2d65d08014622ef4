import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert, check, configuredFolder, installedCommand, LETTER_AGENT } from '../support/index.ts';

const codeIn = (stdout: string): string | undefined =>
  (JSON.parse(stdout) as { error?: { code?: string } }).error?.code;

check(
  'a data folder that is a file, in no folder, or others can write: each its code, exit 2, nothing made',
  async (t) => {
    const { folder, json } = await configuredFolder(t, LETTER_AGENT);
    writeFileSync(join(folder, 'a-file'), 'mine');
    mkdirSync(join(folder, 'open'));
    chmodSync(join(folder, 'open'), 0o777);
    const before = readdirSync(folder).sort();
    const places = [
      ['a-file', 'DATA_FOLDER_UNSAFE'],
      [join('no', 'such', 'place'), 'DATA_FOLDER_MISSING'],
      ['open', 'DATA_FOLDER_UNSAFE'],
    ] as const;
    for (const [place, code] of places) {
      const { exit, document } = await json('run', 'Write to Ada', '--data-dir', place);
      assert.deepEqual([exit, document.error?.code], [2, code], place);
    }
    assert.deepEqual(readdirSync(folder).sort(), before);
  },
);

check('a disk that takes no more says so, and no call is told as begun', async (t) => {
  const { folder, holdfast: run } = await configuredFolder(t, LETTER_AGENT);
  const command = installedCommand();
  // A limit on the size of files is a real full disk for this process: what is there can be read, nothing can grow.
  const line = `ulimit -f 24; exec '${process.execPath}' '${command}' run 'Write to Ada' --json`;
  const { status, stdout } = spawnSync('bash', ['-c', line], { cwd: folder, encoding: 'utf8' });
  assert.equal(status, 2, stdout);
  assert.match(codeIn(stdout) ?? '', /^STORE_FULL$/);
  assert.equal(existsSync(join(folder, 'letters.txt')), false);
  assert.equal((await run('doctor')).exit, 0, 'what is stored is whole');
});

check('a transcript that ends early ends the run with its code, and what was done before stays done', async (t) => {
  const agent = LETTER_AGENT.replace('needsApproval: true', 'needsApproval: false').replace(
    /const model = [\s\S]*/,
    "const model = recordedModelFromFile('transcript.json');",
  );
  const { folder, json } = await configuredFolder(t, agent);
  const calls = [{ id: 'one', name: 'post', arguments: { to: 'Ada' } }];
  const transcript = { format: 'holdfast-transcript', version: 1, model: 'short', turns: [{ tool_calls: calls }] };
  writeFileSync(join(folder, 'transcript.json'), JSON.stringify(transcript));
  const { exit, document } = await json('run', 'Write to Ada');
  assert.equal(exit, 1, JSON.stringify(document));
  assert.match(String(document['reason']), /transcript/i);
  assert.deepEqual([document['status'], document['outcome']], ['failed', null]);
  const [first] = document['calls'] as { outcome: string }[];
  assert.equal(first?.outcome, 'done');
});
