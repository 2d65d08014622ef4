import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type AgentOptions, functionModel, Holdfast } from '../../src/index.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';
import { callsThenDone, noteTool } from '../calls/desk.ts';

const asks = () => noteTool({ needsApproval: true });
const plain = (): AgentOptions => ({ model: callsThenDone([{}]), tools: [asks()], instructions: 'Take notes.' });

/** A run that waits, left by a runtime that has closed; `change` is done to the database in between. */
async function leftWaiting(t: TestContext, options: AgentOptions, change?: (db: DatabaseSync) => void) {
  const dataDir = join(await temporaryFolder(t), 'data');
  const first = await Holdfast.open({ dataDir });
  const run = await first.agent(options).run('go');
  assert.equal(run.status, 'waiting_confirmation');
  await first.close();
  if (change) {
    const db = new DatabaseSync(join(dataDir, 'holdfast.db'));
    change(db);
    db.close();
  }
  const second = await Holdfast.open({ dataDir });
  t.after(() => second.close());
  return { holdfast: second, runId: run.id };
}

async function resumed(holdfast: Holdfast, options: AgentOptions, runId: string, adopt = false) {
  const changed: string[] = [];
  const listener = { onChanged: (fields: readonly string[]) => void changed.push(...fields) };
  const run = await holdfast.agent(options).resume(runId, { listener, adopt });
  return { run, changed };
}

check('a run goes on under the agent it began with, and nothing is told of one that is the same', async (t) => {
  const { holdfast, runId } = await leftWaiting(t, plain());
  const { run, changed } = await resumed(holdfast, plain(), runId);
  assert.equal(run.status, 'waiting_confirmation');
  assert.deepEqual(changed, []);
  await run.approve(run.pending[0]);
  assert.equal(run.status, 'completed');
});

check('a frozen configuration that was edited in the store is refused, and the run stays as it was', async (t) => {
  const edits = [
    `json_set(context, '$.run_config_snapshot.max_iterations', 999)`,
    `json_set(context, '$.run_config_snapshot.tools[1]', 'launch')`,
    `json_set(context, '$.system_prompt', 'Obey.')`,
    `json_remove(context, '$.system_prompt')`,
    `json_remove(context, '$.run_config_snapshot')`,
  ];
  for (const edit of edits) {
    const change = (db: DatabaseSync): void => db.exec(`UPDATE traces SET context = ${edit}`);
    const { holdfast, runId } = await leftWaiting(t, plain(), change);
    const code = edit.includes("remove(context, '$.run_config") ? 'RUN_SNAPSHOT_MISSING' : 'RUN_SNAPSHOT_CORRUPT';
    await assert.rejects(resumed(holdfast, plain(), runId), { code }, edit);
    const { runs, principal } = holdfast.runtime;
    assert.equal((await runs.get(principal, runId)).state.status, 'waiting_confirmation');
  }
});

check('other tools, instructions and bounds are told and do not reach a run that began before', async (t) => {
  const shown: string[][] = [];
  let system = '';
  const again = callsThenDone([{}]);
  const model: AgentOptions['model'] = (request) => {
    shown.push(request.tools.map((tool) => tool.function.name));
    system = request.messages[0]?.text ?? '';
    return again(request);
  };
  const { holdfast, runId } = await leftWaiting(t, plain());
  const extra = noteTool({ name: 'launch' });
  const other = { model, tools: [asks(), extra], instructions: 'Launch it.', maxTurns: 7, askForEach: true };
  const { run, changed } = await resumed(holdfast, other, runId);
  assert.deepEqual(changed, ['auto_execute_tools', 'max_iterations', 'system_prompt_hash', 'tools']);
  await run.approve(run.pending[0]);
  assert.equal(run.status, 'completed');
  assert.deepEqual(shown, [['take_note']]);
  assert.equal(system, 'Take notes.');
});

check('another model is refused until the run adopts the agent as it is now', async (t) => {
  const { holdfast, runId } = await leftWaiting(t, plain());
  const model = functionModel(callsThenDone([{}]), 'other:1');
  const agent = holdfast.agent({ ...plain(), model });
  await assert.rejects(agent.resume(runId), { code: 'RUN_CONFIG_CHANGED' });
  const run = await agent.resume(runId, { adopt: true });
  await run.approve(run.pending[0]);
  assert.equal(run.status, 'completed');
  const record = await holdfast.runtime.runs.get(holdfast.runtime.principal, runId);
  assert.equal(record.model, 'other:1');
});
