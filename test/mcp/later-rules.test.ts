import { putRule } from '../../src/approvals/index.ts';
import { ledgerCalls } from '../../src/calls/index.ts';
import { listGroups } from '../../src/sessions/index.ts';
import { assert, check } from '../support/index.ts';
import { elsewhere, guardWorld } from './guard-world.ts';

check('a read that was answered is written down as it was, whatever rule is made before that', async (t) => {
  for (const decision of ['ask', 'deny'] as const) {
    const world = await guardWorld(t);
    await elsewhere(world.dataDir, async ({ runtime: { store, calls, principal, approvals, runs } }) => {
      await world.call('read', { decision });
      await store.write('test.rule', (tx) =>
        putRule(tx, calls.sessions, principal, { scope: 'global', tool: 'world__read', pattern: '**', decision }),
      );
      assert.equal(await world.end(), 0);
      assert.deepEqual((await approvals.list(principal)).items, [], 'nobody is asked about what was done');
      const [run] = (await runs.list(principal, { limit: 1 })).items;
      const told = await store.read('test.outcomes', async (tx) => {
        const { items } = await listGroups(tx, principal, run?.place.rootFrameId ?? '', {});
        const all = [];
        for (const { groupId } of items) all.push(...(await ledgerCalls(tx, principal, groupId)));
        return all.map(({ toolName, outcome }) => [toolName, outcome?.state]);
      });
      assert.deepEqual(told, [['world__read', 'done']]);
    });
  }
});
