import { join } from 'node:path';
import { verifyRun } from '../../src/effects/index.ts';
import { Holdfast } from '../../src/index.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';
import { callsThenDone, noteTool } from './desk.ts';

const TARGET = {
  kind: 'external',
  role: 'note',
  namespace: 'notes',
  endpointId: 'here',
  serverId: 'notes',
  toolId: 'take_note',
} as const;

for (const [what, other, verified] of [
  ['the same thing', TARGET, false],
  ['something else', { ...TARGET, toolId: 'others' }, true],
] as const)
  check(
    `a look during which another call changed ${what} proves ${verified ? 'all the same' : 'nothing'}`,
    async (t) => {
      const [ended, looked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const dataDir = join(await temporaryFolder(t), 'data');
      const holdfast = await Holdfast.open({
        dataDir,
        observer: (event) => {
          if (event.kind === 'committed' && event.names.includes('calls.finish')) ended.resolve();
        },
      });
      t.after(() => holdfast.close());
      let isThere = false;
      const leaves = noteTool({
        name: 'leaves',
        parallel: true,
        resources: () => [TARGET],
        postconditions: () => [{ role: 'note', predicate: 'exists' }],
        execute: () => {
          isThere = true;
          return { ok: true };
        },
        observe: async () => {
          const exists = isThere;
          looked.resolve();
          await ended.promise;
          return [{ role: 'note', mechanism: 'remote_readback', coverage: 'complete', exists }];
        },
      });
      const removes = noteTool({
        name: 'removes',
        parallel: true,
        resources: () => [other],
        execute: async () => {
          await looked.promise;
          isThere = false;
          return { ok: true };
        },
      });
      const model = callsThenDone([{ name: 'leaves' }, { name: 'removes' }]);
      const run = await holdfast.agent({ model, tools: [leaves, removes] }).run('go');
      const outcomes = run.view.calls.map(({ outcome }) => outcome);
      assert.deepEqual(
        outcomes.map((outcome) => outcome && [outcome.state, 'verified' in outcome && outcome.verified]),
        [
          ['done', verified],
          ['done', false],
        ],
      );
      const { store, principal } = holdfast.runtime;
      const ref = { tenantId: principal.tenant, subjectId: principal.subject };
      const { effects } = await store.read('test.effects', (tx) => verifyRun(tx, ref, { runId: run.id }));
      const [first] = effects;
      assert.deepEqual(
        [first?.atCompletion.verdict, first?.now.verdict],
        verified ? ['verified', 'verified'] : ['unverified', 'unverified'],
      );
    },
  );
