import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Holdfast, type ModelFunction } from '../../src/index.ts';
import { forkBranch, listCheckpoints } from '../../src/sessions/index.ts';
import { callsThenDone, noteTool } from '../calls/desk.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';

check('a new run is not shown what a revert has hidden, and on a fork it is shown what came before', async (t) => {
  const folder = await temporaryFolder(t);
  const work = join(folder, 'work');
  mkdirSync(work);
  const holdfast = await Holdfast.open({ dataDir: join(folder, 'data'), workspaceOf: () => work });
  t.after(() => holdfast.close());
  const { runtime } = holdfast;
  const told: string[] = [];
  const model: ModelFunction = ({ messages }) => {
    told.push(messages.map(({ text }) => text).join(' | '));
    return `heard ${messages.length}`;
  };
  const agent = holdfast.agent({ name: 'talks', model, tools: [] });
  const writer = holdfast.agent({
    name: 'writes',
    model: callsThenDone([], [{}]),
    tools: [noteTool()],
    checkpoints: 'before_writes',
  });
  const first = await agent.run('My name is Ada.');
  const rootFrameId = first.view.sessionId;
  await writer.run('Write the forbidden word.', { rootFrameId });
  const { items } = await runtime.store.read('test', (tx) => listCheckpoints(tx, runtime.principal, rootFrameId));
  const point = items[0]?.checkpointId ?? '';
  const { history } = runtime.histories;
  await agent.run('Tell a secret.', { rootFrameId });
  const { branchId } = await runtime.store.write('test', (tx) =>
    forkBranch(tx, runtime.calls.sessions, runtime.principal, { rootFrameId, fromCheckpointId: point }),
  );
  await history.revert(runtime.principal, rootFrameId, point);

  await agent.run('Who am I?', { rootFrameId });
  assert.match(told.at(-1) ?? '', /My name is Ada\..*Who am I\?/);
  assert.doesNotMatch(told.at(-1) ?? '', /secret/);

  await agent.run('And here?', { rootFrameId, branchId });
  assert.match(told.at(-1) ?? '', /My name is Ada\..*And here\?/);
  assert.doesNotMatch(told.at(-1) ?? '', /secret|Who am I/);
});
