import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { assert, check } from '../support/index.ts';

const demo = join(import.meta.dirname, '..', '..', 'examples', 'demo', 'demo.ts');

check(
  'the demo keeps what it says: held, refused, killed, unknown everywhere, settled by asking, one effect per intent',
  () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [demo], { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    for (const line of [
      /refused +\{"amount_cents":60000/,
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
