import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TestContext } from 'node:test';
import { recoverCall, type Recovered } from '../../src/calls/index.ts';
import type { Holdfast, Run } from '../../src/index.ts';
import { assert, check, manualClock } from '../support/index.ts';
import { callsThenDone, noteTool, openDesk } from './desk.ts';

/** A fault of the database itself: the statement is refused by a trigger, as by any other writer's rule. */
function refuseStatements(dataDir: string, name: string, when: string): () => void {
  const sql = (text: string): void => {
    const database = new DatabaseSync(join(dataDir, 'holdfast.db'));
    try {
      database.exec(`PRAGMA busy_timeout = 5000; ${text}`);
    } finally {
      database.close();
    }
  };
  sql(`CREATE TRIGGER ${name} ${when} BEGIN SELECT RAISE(ABORT, 'refused by a test'); END`);
  return () => sql(`DROP TRIGGER ${name}`);
}

const NO_RESULT = `BEFORE INSERT ON action_events WHEN NEW.type = 'result'`;
const NO_RECEIPT = 'BEFORE INSERT ON local_receipts';

async function deskWithFault(t: TestContext, given: Parameters<typeof noteTool>[0]) {
  const clock = manualClock(Date.now());
  const { holdfast, dataDir } = await openDesk(t, { clock, instanceLeaseMs: 600_000 });
  return { clock, holdfast, dataDir, agent: holdfast.agent({ model: callsThenDone([{}]), tools: [noteTool(given)] }) };
}

function recover({ runtime }: Holdfast, { view }: Run): Promise<Recovered> {
  const recovery = { filesystem: runtime.filesystem, signal: new AbortController().signal, redeliver: true };
  return recoverCall(runtime.calls, runtime.principal, view.calls[0]?.statusRef ?? '', recovery);
}

for (const [what, when, afterwards] of [
  ['its ledger line is refused: the receipts alone are kept, and say done once they are read back', NO_RESULT, 'done'],
  ['its receipts are refused: it stays unknown until it is settled', NO_RECEIPT, 'unknown'],
] as const)
  check(`a call whose second transaction fails is unknown; ${what}`, async (t) => {
    let world = 0;
    const desk = await deskWithFault(t, { execute: () => ({ at: (world += 1) }) });
    const mend = refuseStatements(desk.dataDir, 'no_second', when);
    const run = await desk.agent.run('go');
    const told = run.view.calls[0]?.outcome;
    assert.deepEqual([told?.state, run.status], ['unknown', 'failed']);
    mend();
    assert.equal(world, 1);
    const { outcome } = await recover(desk.holdfast, run);
    assert.deepEqual([outcome.state, world], [afterwards, 1]);
  });

check('a redelivery whose second transaction fails is unknown, and done once its receipts are read back', async (t) => {
  let sent = 0;
  const execute = () => {
    sent += 1;
    if (sent === 1) throw new Error('connection reset');
    return { ok: true };
  };
  const desk = await deskWithFault(t, { effect: 'idempotent', execute });
  const run = await desk.agent.run('go');
  desk.clock.advance(60_000);
  const mend = refuseStatements(desk.dataDir, 'no_second', NO_RESULT);
  const { outcome, recorded } = await recover(desk.holdfast, run);
  assert.deepEqual(
    [outcome.state, 'code' in outcome && outcome.code, recorded],
    ['unknown', 'OUTCOME_NOT_DURABLE', false],
  );
  mend();
  assert.deepEqual([(await recover(desk.holdfast, run)).outcome.state, sent], ['done', 2]);
});
