import type { JsonObject } from '../../../src/core/index.ts';
import {
  bindPrompt,
  loadSnapshot,
  prepareTrace,
  type ProjectLoaders,
  restoreRunner,
  type RunConfig,
  runConfig,
  snapshotOf,
  type TraceStore,
  withSnapshot,
} from '../../../src/runs/index.ts';
import { assert, check, contract } from '../../support/index.ts';
import { QUIET } from './config-fixtures.ts';
import { TRACE_HOMES } from './homes.ts';

const LEGACY = { agent_mode: 'legacy', agent_mode_revision: 1 };

function precreated(store: TraceStore): Promise<RunConfig> {
  const config = runConfig({
    traceId: 'precreated-child',
    model: 'fake',
    systemPrompt: 'fixed child prompt',
    knowledge: QUIET,
  });
  const context = withSnapshot(LEGACY, snapshotOf(config, { memoryIdentity: null }));
  const trace = { traceId: 'precreated-child', mode: 'agent', task: 'child', model: 'fake', context };
  return store.createTrace(trace).then(() => config);
}

const contextOf = async (store: TraceStore, traceId: string): Promise<JsonObject> =>
  (await store.getTrace(traceId))?.context ?? {};

interface NamedRunner {
  readonly named: string;
}

function projects(): { base: NamedRunner; own: NamedRunner; loaders: ProjectLoaders<NamedRunner> } {
  const own = { named: 'project' };
  const loaders = new Map([
    ['legacy_demo', async () => ({ runner: own, config: runConfig({ model: 'default-of-it' }) })],
  ]);
  return { base: { named: 'base' }, own, loaders };
}

for (const kind of TRACE_HOMES) {
  const title = (text: string): string => `${kind.name}: ${text}`;

  contract('RUN-15 RUN-16 RUN-17', title('the prompt is bound when the first history is built'), async (t) => {
    const { store } = await kind.make(t);
    const config = await precreated(store);
    assert.equal(loadSnapshot(await contextOf(store, 'precreated-child')).systemPromptHash, null);
    assert.equal(await bindPrompt(store, 'precreated-child', config.systemPrompt), 'fixed child prompt');
    const snapshot = loadSnapshot(await contextOf(store, 'precreated-child'));
    assert.notEqual(snapshot.systemPromptHash, null);
    assert.equal(snapshot.systemPromptHash?.length, 64);
  });

  check(title('a bound prompt is kept: whoever gives none gets it, another one is refused'), async (t) => {
    const { store } = await kind.make(t);
    await precreated(store);
    await bindPrompt(store, 'precreated-child', 'fixed child prompt');
    assert.equal(await bindPrompt(store, 'precreated-child', null), 'fixed child prompt');
    await assert.rejects(bindPrompt(store, 'precreated-child', 'another'), { code: 'RUN_PROMPT_CHANGED' });
    const context = { ...(await contextOf(store, 'precreated-child')), system_prompt: 'another' };
    await store.updateTrace('precreated-child', { context });
    await assert.rejects(bindPrompt(store, 'precreated-child', null), { code: 'RUN_PROMPT_CHANGED' });
  });

  contract('RUN-18', title('a recursive run of revision 2 may be read, not resumed'), async (t) => {
    const { store } = await kind.make(t);
    const context = { agent_mode: 'recursive', agent_mode_revision: 2 };
    await store.createTrace({ traceId: 'old-recursive', mode: 'agent', task: 'old', context });
    const resuming = prepareTrace(store, runConfig({ traceId: 'old-recursive' }));
    await assert.rejects(resuming, { code: 'RUN_READ_ONLY', message: /recursive_revision_2_read_only/ });
    assert.deepEqual(await contextOf(store, 'old-recursive'), context);
  });

  contract('RUN-19', title('a legacy run gets its snapshot inferred, once'), async (t) => {
    const { store } = await kind.make(t);
    await store.createTrace({ traceId: 'old-legacy', mode: 'agent', model: 'legacy-model', context: LEGACY });
    const prepared = await prepareTrace(store, runConfig({ traceId: 'old-legacy' }));
    assert.equal(prepared.config.model, 'legacy-model');
    assert.equal(loadSnapshot(await contextOf(store, 'old-legacy')).legacyInferred, true);
    await store.updateTrace('old-legacy', { model: 'another-model' });
    const again = await prepareTrace(store, runConfig({ traceId: 'old-legacy' }));
    assert.equal(again.config.model, 'legacy-model', 'the stored snapshot counts from now on');
  });

  contract(
    'RUN-20 RUN-21 RUN-22 RUN-23',
    title("a legacy run of a project goes on with the project's runner"),
    async (t) => {
      const { store } = await kind.make(t);
      const context = { ...LEGACY, project_name: 'legacy_demo' };
      await store.createTrace({ traceId: 'old-project', mode: 'agent', model: 'legacy-project-model', context });
      const { base, own, loaders } = projects();
      const restored = await restoreRunner(store, 'old-project', { base, projects: loaders });
      assert.equal(restored.runner, own);
      assert.equal(restored.config.model, 'legacy-project-model');
      const snapshot = loadSnapshot(await contextOf(store, 'old-project'));
      assert.equal(snapshot.legacyInferred, true);
      assert.equal(snapshot.projectName, 'legacy_demo');
    },
  );

  check(title('a project that is not registered, a missing snapshot and a damaged one are refused'), async (t) => {
    const { store } = await kind.make(t);
    const choice = { base: { named: 'base' }, projects: new Map() };
    const of = async (traceId: string, context: JsonObject): Promise<void> => {
      await store.createTrace({ traceId, mode: 'agent', context });
    };
    await of('unknown', { ...LEGACY, project_name: '../../etc/passwd' });
    await assert.rejects(restoreRunner(store, 'unknown', choice), { code: 'RUN_PROJECT_UNKNOWN' });
    await of('none', {});
    await assert.rejects(restoreRunner(store, 'none', choice), { code: 'RUN_SNAPSHOT_MISSING' });
    await of('damaged', { ...LEGACY, run_config_snapshot: { model: 'x' } });
    await assert.rejects(restoreRunner(store, 'damaged', choice), { code: 'RUN_SNAPSHOT_CORRUPT' });
    await of('odd', { agent_mode: 'legacy', agent_mode_revision: 2 });
    await assert.rejects(restoreRunner(store, 'odd', choice), { message: /legacy_revision_2_read_only/ });
    await of('plain', LEGACY);
    assert.equal((await restoreRunner(store, 'plain', choice)).runner, choice.base);
  });
}
