import { spawnSync } from 'node:child_process';
import { assert, check } from '../support/index.ts';
import { commandsOf } from '../support/document-commands.ts';
import { ROOT } from '../structure/repository-files.ts';

/** Whoever runs the tests has run the first half of it. */
const README_COMMAND = 'npm ci && npm run demo';

check(
  'the demo keeps what it says: held, refused, approved over HTTP, killed, unknown everywhere, settled by asking, one effect per intent',
  () => {
    assert.ok(commandsOf('README.md', 'npm').includes(README_COMMAND));
    const { status, stdout, stderr } = spawnSync('npm', ['run', 'demo'], { cwd: ROOT, encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    for (const line of [
      /refused +\{"amount_cents":60000/,
      /approved +\{.*"reason":"damaged"\}, over HTTP, by dana in another process/,
      /killed +SIGKILL/,
      /run +failed, outcome unknown/,
      /refused +UNRESOLVED_TWIN/,
      /ORDER-101.* done \(reported\) +CN-1 \(exactly 1\)/,
      /ORDER-102.* done, settled by status query +CN-2 \(exactly 1\)/,
      /files__write_file .*done, verified/,
      /The audit of everything stored passed\./,
    ])
      assert.match(stdout, line);
  },
);
