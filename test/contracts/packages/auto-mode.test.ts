import { canonicalJson, type JsonObject, type JsonValue, PackageError } from '../../../src/core/index.ts';
import {
  type AutoModeImport,
  type AutoModePlace,
  type AutoModePort,
  type AutoModeScope,
  portableAutoMode,
} from '../../../src/packages/index.ts';
import { assert, check, contract } from '../../support/index.ts';
import { HIDDEN, listOf, payloadAt, reseal, runHistory } from './run-history.ts';
import { makeSource, ROOT } from './source.ts';
import { documentsOf } from './summary.ts';
import { openPackageWorld, OWNER } from './world.ts';

const SCOPE: AutoModeScope = {
  rootFrameId: 'root',
  branchIds: new Set(['root']),
  artifactIds: new Set(['artifact-1']),
  versionIds: new Set(['version-1']),
  cellIds: new Set(['cell-1']),
  turnIds: new Set(['turn-source']),
  groups: new Map([['group-1', { branchId: 'root', turnId: 'turn-source' }]]),
};

function refused(history: JsonValue, text: RegExp, scope: AutoModeScope | undefined = SCOPE): void {
  assert.throws(
    () => portableAutoMode(history, 'local', scope),
    (error) => error instanceof PackageError && error.code === 'PACKAGE_AUTO_MODE' && text.test(error.message),
  );
}

function changed(change: (history: JsonObject) => void): JsonObject {
  const history = runHistory('root', 'version-1');
  change(history);
  return history;
}

contract('PKG-98 PKG-99 PKG-100', 'a record of another scope, a wrong subject and a stale digest are refused', () => {
  refused(
    changed((history) => {
      (listOf(history, 'review_runs')[0] as JsonObject)['execution_id'] = 'other-execution';
    }),
    /scope does not match/,
  );
  refused(
    changed((history) => {
      payloadAt(history, 3)['subject_entity_kind'] = 'approval_action';
      reseal(history);
    }),
    /subject pair/,
  );
  const stale = changed((history) => {
    payloadAt(history, 0)['mode'] = 'review_only';
  });
  assert.throws(() => portableAutoMode(stale, 'local'), /digest mismatch/);
});

/** A finding of the one review, in whatever form. */
const withFinding = (form: JsonObject): JsonObject =>
  changed((history) => {
    const { run_id, root_frame_id, branch_id, turn_id, execution_id } = listOf(history, 'runs')[0] as JsonObject;
    const finding = {
      finding_id: 'finding-1',
      review_run_id: 'review-run-source',
      ...({ run_id, root_frame_id, branch_id, turn_id, execution_id } as JsonObject),
      candidate_id: 'candidate-source',
      fingerprint: 'finding-fingerprint-1',
      severity: 'minor',
      category: 'evidence',
      claim: 'A bounded legacy reference needs review.',
      evidence_refs: ['cell-1'],
      status: 'resolved',
      created_at: 103,
      updated_at: 103,
      ...form,
    };
    history['findings'] = [finding];
    payloadAt(history, 3)['finding_count'] = 1;
    reseal(history);
  });

contract('PKG-101', 'a finding of the early form names lists of what it named one of', () => {
  const early = { artifact_id: 'artifact-1', version_id: 'version-1', producing_cell_id: 'cell-1' };
  const [finding] = listOf(portableAutoMode(withFinding(early), 'local', SCOPE), 'findings');
  assert.deepEqual(
    [finding?.['artifact_ids'], finding?.['version_ids'], finding?.['cell_ids']],
    [['artifact-1'], ['version-1'], ['cell-1']],
  );
  assert.equal(Object.hasOwn(finding ?? {}, 'artifact_id'), false);
  refused(withFinding({ artifact_ids: ['elsewhere'] }), /unknown identity/);
});

contract('PKG-102 PKG-103', 'a run that stopped at a candidate comes out inert, and nothing is in force', () => {
  const portable = portableAutoMode(
    changed((history) => {
      const [run] = listOf(history, 'runs');
      Object.assign(run as JsonObject, { status: 'candidate' });
      delete run?.['finished_at'];
      delete run?.['terminal_reason'];
      listOf(history, 'events').pop();
    }),
    'local',
    SCOPE,
  );
  const [run] = listOf(portable, 'runs');
  assert.deepEqual(
    [run?.['source_claimed_status'], run?.['status'], run?.['terminal_reason']],
    ['candidate', 'unverified', 'portable_execution_inert'],
  );
  assert.equal((portable['effective_selection'] as JsonObject)['preset'], 'off');
  assert.deepEqual(portableAutoMode(portable, 'local', SCOPE), portable, 'reducing it again changes nothing');
});

contract('PKG-104 PKG-105', 'a history that is no object, and one that is too large, before its digests', () => {
  refused([], /must be an object/);
  refused(
    changed((history) => {
      payloadAt(history, 0)['counts'] = Object.fromEntries(Array.from({ length: 4097 }, (_, at) => [`${at}`, at]));
    }),
    /object is too large/,
  );
});

/** A store that keeps a given history, and notes what it is given. */
class Spy implements AutoModePort {
  readonly calls: { place: AutoModePlace; history: AutoModeImport }[] = [];

  async export(): Promise<JsonObject> {
    return runHistory(ROOT, 'v-source');
  }

  async import(_tx: unknown, place: AutoModePlace, history: AutoModeImport): Promise<void> {
    this.calls.push({ place, history });
  }
}

async function exportedHistory() {
  const autoMode = new Spy();
  const world = await openPackageWorld({ autoMode });
  await makeSource(world);
  const exported = await world.packages.export(OWNER, ROOT);
  const bytes = exported.data();
  exported.close();
  const documents = await documentsOf(bytes);
  return { world, autoMode, bytes, documents, history: documents('review.json')['auto_mode'] as JsonObject };
}

contract('PKG-31 PKG-106 PKG-108', 'what is exported hides what is private, and claims no verification', async () => {
  const { world, history } = await exportedHistory();
  await using _world = world;
  const text = canonicalJson(history);
  for (const hidden of [...Object.values(HIDDEN), 'authorization', 'credential'])
    assert.ok(!text.includes(hidden), hidden);
  assert.deepEqual([history['schema_version'], history['trust_state']], [1, 'local']);
  const [run] = listOf(history, 'runs');
  assert.deepEqual(
    [run?.['source_claimed_status'], run?.['status'], run?.['terminal_reason']],
    ['verified', 'unverified', 'portable_proof_incomplete'],
  );
  const events = listOf(history, 'events');
  assert.equal(events.length, 7);
  assert.ok(events.every(({ payload_sha256: sealed }) => typeof sealed === 'string' && sealed.length === 64));
});

contract('PKG-107', 'a permission assessment travels with eighteen members and nothing else', async () => {
  const { world, history } = await exportedHistory();
  await using _world = world;
  assert.deepEqual(history['permission_assessments'], [
    {
      action_digest: 'c'.repeat(64),
      assessment_digest: '1'.repeat(64),
      assessment_id: 'assessment-source',
      audit_id: 'permission-audit-source',
      audit_request_digest: 'f'.repeat(64),
      branch_id: ROOT,
      created_at: 104,
      decision_id: 'decision-source',
      execution_id: 'execution-source',
      finished_at: 105,
      outcome: 'denied',
      policy_version: 'policy-v1',
      public_summary: 'Denied by policy.',
      risk: 'critical',
      root_frame_id: ROOT,
      run_id: 'auto-run-source',
      status: 'completed',
      turn_id: 'turn-source',
    },
  ]);
});

contract(
  'PKG-109 PKG-110 PKG-111 PKG-112',
  'the store is given a history without authority, its place, and the new names',
  async () => {
    const { world, autoMode, bytes } = await exportedHistory();
    await using _world = world;
    const imported = await world.packages.import(OWNER, bytes);
    assert.equal(autoMode.calls.length, 1);
    const { place, history } = autoMode.calls[0] ?? assert.fail('it was not called');
    assert.deepEqual(place, {
      rootFrameId: imported.root_frame_id,
      projectId: imported.project_id,
      resumeExecution: false,
    });
    const { projection } = history;
    assert.equal(projection['trust_state'], 'quarantined_import');
    assert.deepEqual(projection['effective_selection'], {
      preset: 'off',
      result_review_mode: 'off',
      approvals_reviewer: 'user',
    });
    assert.equal((projection['historical_selection'] as JsonObject)['preset'], 'autonomous');
    assert.equal(history.branchIdMap.get(ROOT), imported.root_frame_id);
    assert.ok(history.versionIdMap.get('v-source'));
    assert.ok(history.actionGroupIdMap.size > 0);
  },
);

contract('PKG-04', 'a package with runs has the twelve documents and no other', async () => {
  const { readAll } = await import('../../archive/support/read-all.ts');
  const { DOCUMENTS } = await import('../../../src/archive/index.ts');
  const { world, bytes } = await exportedHistory();
  await using _world = world;
  const names = [...(await readAll(bytes)).keys()].filter((name) => !name.includes('/') && name.endsWith('.json'));
  assert.deepEqual(names.filter((name) => name !== 'manifest.json').sort(), [...DOCUMENTS].sort());
});

check('a store that keeps no runs exports that there were none, and refuses a package that has some', async () => {
  const { world, bytes } = await exportedHistory();
  await using _world = world;
  await using without = await openPackageWorld({ autoMode: null });
  await assert.rejects(without.packages.import(OWNER, bytes), /cannot be kept by this store/);
  assert.equal(without.count('projects'), 0);
  await makeSource(without);
  using exported = await without.packages.export(OWNER, ROOT);
  const empty = (await documentsOf(exported.data()))('review.json')['auto_mode'] as JsonObject;
  assert.deepEqual([empty['runs'], empty['events'], empty['trust_state']], [[], [], 'local']);
});
