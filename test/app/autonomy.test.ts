import { Holdfast } from '../../src/index.ts';
import { openSession } from '../../src/sessions/index.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';

check('opening a data folder closes the supervised runs that a dead process had left open', async (t) => {
  const dataDir = await temporaryFolder(t);
  const first = await Holdfast.open({ dataDir });
  const { store, calls, principal, projectId, autonomy } = first.runtime;
  const root = await store.write('test.session', (tx) => openSession(tx, calls.sessions, principal, { projectId }));
  const run = { runId: 'run-1', key: 'start', rootFrameId: root, branchId: root, turnId: 't', executionId: 'e' };
  const rest = { mode: 'auto_fix', selection: {}, budgets: {} } as const;
  await autonomy.startRun(principal, { ...run, ...rest, ownerInstanceId: calls.workerId });
  const beside = await Holdfast.open({ dataDir });
  assert.equal((await autonomy.project(principal, root, root)).run?.['status'], 'running');
  await beside.close();
  await first.close();
  const second = await Holdfast.open({ dataDir });
  const shown = (await second.runtime.autonomy.project(principal, root, root)).run;
  assert.deepEqual([shown?.['status'], shown?.['terminal_reason']], ['review_unavailable', 'daemon_restart']);
  await second.close();
});
