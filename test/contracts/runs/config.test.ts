import {
  canonicalJson,
  digestJson,
  isJsonObject,
  JSON_PROFILES,
  type JsonObject,
  readStrictJson,
} from '../../../src/core/index.ts';
import {
  applySnapshot,
  loadSnapshot,
  memoryIdentity,
  runConfig,
  type RunConfig,
  type RunConfigSnapshot,
  SNAPSHOT_KEY,
  snapshotDocument,
  snapshotOf,
  withSnapshot,
} from '../../../src/runs/index.ts';
import { assert, check, contract } from '../../support/index.ts';
import { fixtureOne, fixtureTwo, fixtureVersionTwo, MEMORY, MEMORY_IDENTITY } from './config-fixtures.ts';

const FROZEN_1 = '3b9eb30392ed16c27b5a38350f997e0dc4a818ed1d01f3d72abbca24e526739e';
const FROZEN_2 = '10cf6e3bc4cef036edd64e886df40009e85f25fde4acb5319c812fe48e4e1e0c';

const one = (): RunConfigSnapshot => snapshotOf(fixtureOne(), { memoryIdentity: null });

/** A context as it comes back from a disk. */
function stored(context: JsonObject): JsonObject {
  const read = readStrictJson(canonicalJson(context), JSON_PROFILES.packages);
  assert.ok(isJsonObject(read));
  return read;
}

const storedTwo = (): JsonObject => {
  const parts = { memoryIdentity: MEMORY_IDENTITY, systemPromptHash: 'a'.repeat(64) };
  return stored(withSnapshot({}, snapshotOf(fixtureTwo(), parts)));
};

const restoredTwo = (): RunConfig => applySnapshot(runConfig(), loadSnapshot(storedTwo()));

contract('RUN-01', 'the snapshot of the first fixture has schema version 1', () => {
  assert.equal(one().schemaVersion, 1);
  assert.equal(snapshotDocument(one())['schema_version'], 1);
});

contract('RUN-02', 'a snapshot of version 1 has no application_ref, not even null', () => {
  assert.equal(Object.hasOwn(snapshotDocument(one()), 'application_ref'), false);
});

contract('RUN-03', 'the frozen fixture of version 1 has its frozen hash', () => {
  assert.equal(one().snapshotHash, FROZEN_1);
  assert.equal(snapshotDocument(one())['snapshot_hash'], FROZEN_1);
});

check('the frozen fixture of version 2 has its frozen hash, and reads as what it was', () => {
  const made = snapshotOf(fixtureVersionTwo(), { memoryIdentity: null });
  assert.equal(made.schemaVersion, 2);
  assert.equal(made.snapshotHash, FROZEN_2);
  const restored = applySnapshot(runConfig(), loadSnapshot(stored(withSnapshot({}, made))));
  assert.deepEqual(restored, { ...fixtureVersionTwo(), context: {} });
});

contract('RUN-04 RUN-05 RUN-06 RUN-07', 'model, tools, groups and the mode of children come back', () => {
  const restored = restoredTwo();
  assert.equal(restored.model, 'model-x');
  assert.deepEqual(restored.tools, ['alpha', 'beta']);
  assert.deepEqual(restored.toolGroups, ['ignored-when-tools-explicit']);
  assert.equal(restored.childExecutionMode, 'parallel');
});

contract('RUN-08 RUN-09', 'bounds of children and side branches come back', () => {
  const restored = restoredTwo();
  assert.equal(restored.maxParallelChildren, 4);
  assert.equal(restored.sideBranchMaxTurns, 7);
});

contract('RUN-10 RUN-11 RUN-12', 'knowledge, memory and its identity come back as they were', () => {
  const restored = restoredTwo();
  assert.deepEqual(restored.knowledge['default_scopes'], ['project:test']);
  assert.deepEqual(restored.memory?.files, MEMORY.files);
  assert.equal(loadSnapshot(storedTwo()).memoryIdentity, memoryIdentity(MEMORY));
});

contract('RUN-13', 'the name of the project is lifted out of the context of the configuration', () => {
  const snapshot = loadSnapshot(storedTwo());
  assert.equal(snapshot.projectName, 'demo');
  assert.equal(snapshot.systemPromptHash, 'a'.repeat(64));
});

contract('RUN-14', 'a snapshot that was changed in its store is refused as a hash mismatch', () => {
  const context = storedTwo();
  (context[SNAPSHOT_KEY] as JsonObject)['model'] = 'tampered';
  assert.throws(() => loadSnapshot(context), { code: 'RUN_SNAPSHOT_CORRUPT', message: /hash mismatch/ });
});

check('every field of a snapshot is under its hash, and so is a field that was added', () => {
  const document = storedTwo()[SNAPSHOT_KEY] as JsonObject;
  for (const name of Object.keys(document)) {
    const context = storedTwo();
    delete (context[SNAPSHOT_KEY] as JsonObject)[name];
    assert.throws(() => loadSnapshot(context), { code: 'RUN_SNAPSHOT_CORRUPT' }, name);
  }
  const added = storedTwo();
  (added[SNAPSHOT_KEY] as JsonObject)['application_ref'] = null;
  assert.throws(() => loadSnapshot(added), { code: 'RUN_SNAPSHOT_CORRUPT', message: /hash mismatch/ });
});

check('a context without a snapshot and a newer version are refused, each with its own code', () => {
  assert.throws(() => loadSnapshot({}), { code: 'RUN_SNAPSHOT_MISSING' });
  assert.throws(() => loadSnapshot({ [SNAPSHOT_KEY]: [] }), { code: 'RUN_SNAPSHOT_CORRUPT' });
  const document: JsonObject = { ...snapshotDocument(one()), schema_version: 3 };
  const { snapshot_hash: _, ...unsealed } = document;
  const context = { [SNAPSHOT_KEY]: { ...unsealed, snapshot_hash: digestJson(unsealed) } };
  assert.throws(() => loadSnapshot(context), { code: 'RUN_SNAPSHOT_NEWER' });
});

check('a version 1 that carries a field of version 2 under a fitting hash is refused all the same', () => {
  const document: JsonObject = { ...snapshotDocument(one()), application_ref: null };
  const { snapshot_hash: _, ...unsealed } = document;
  const context = { [SNAPSHOT_KEY]: { ...unsealed, snapshot_hash: digestJson(unsealed) } };
  assert.throws(() => loadSnapshot(context), { code: 'RUN_SNAPSHOT_CORRUPT', message: /unknown field/ });
});

check('the same memory has the same identity whatever the order of its files, and another one another', () => {
  const turned = { ...MEMORY, files: { 'journals/**': 'journal', 'identity.md': 'identity' } };
  assert.equal(memoryIdentity(turned), MEMORY_IDENTITY);
  assert.notEqual(memoryIdentity({ ...MEMORY, dreamPrompt: 'another' }), MEMORY_IDENTITY);
});

check('numbers keep their spelling from the disk to the hash', () => {
  const read = readStrictJson('{"top_k":1.0,"seed":12345678901234567890}', JSON_PROFILES.packages) as JsonObject;
  const made = snapshotOf(runConfig({ extraLlmParams: read }), { memoryIdentity: null });
  assert.equal(loadSnapshot(stored(withSnapshot({}, made))).snapshotHash, made.snapshotHash);
});

check('a configuration that can never be right is refused, naming the field', () => {
  const wrong: readonly [Partial<RunConfig>, string][] = [
    [{ model: '' }, 'model'],
    [{ temperature: Number.NaN }, 'the frozen part'],
    [{ temperature: -1 }, 'temperature'],
    [{ maxIterations: 0 }, 'max_iterations'],
    [{ maxIterations: 1.5 }, 'max_iterations'],
    [{ tools: ['a', ' '] }, 'tools'],
    [{ sideBranchMaxTurns: 1_001 }, 'side_branch_max_turns'],
    [{ childExecutionMode: 'both' as 'parallel' }, 'child_execution_mode'],
    [{ budgets: { maxTokens: 0, maxCostMicros: null, maxWallMs: null } }, 'budgets.max_tokens'],
    [{ context: [] as unknown as JsonObject }, 'context'],
  ];
  for (const [fields, field] of wrong)
    assert.throws(() => runConfig(fields), { code: 'RUN_CONFIG_INVALID', details: { field } }, field);
  assert.throws(() => runConfig({ traceId: '../x' }), { code: 'TRACE_ID_INVALID' });
});
