import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type JsonObject, JSON_PROFILES, readStrictJson } from '../../../src/core/index.ts';
import { ORACLE_FOLDER, oracle, oracleNames } from '../../archive/support/packages.ts';
import { assert, check } from '../../support/index.ts';
import { documentsOf, ordered, summaryOf, workspaceSummary } from './summary.ts';
import { openPackageWorld, OWNER } from './world.ts';

const INDEX = readStrictJson(readFileSync(join(ORACLE_FOLDER, 'index.json')), {
  ...JSON_PROFILES.packages,
}) as { packages: Record<string, { expected?: JsonObject }> };

/** What a careful importer refuses: names that are one on some file systems, what is not there, and what is no JSON. */
const REFUSED = ['h2-case-twins', 'h4-excluded-in-checkpoint', 'h5-artifact-twins', 'h6-not-a-number'];

for (const name of oracleNames())
  if (!REFUSED.includes(name))
    check(`${name} imports to what it must be, and what is exported from it imports to the same`, async () => {
      await using world = await openPackageWorld();
      const imported = await world.packages.import(OWNER, oracle(name));
      using exported = await world.packages.export(OWNER, imported.root_frame_id);
      const first = summaryOf(await documentsOf(exported.data()));
      const files = workspaceSummary(world.workspaceOf(imported.root_frame_id));
      const expected = INDEX.packages[name]?.expected;
      if (expected) {
        assert.deepEqual(first, expectedSummary(expected));
        assert.deepEqual(files, expected['workspace']);
        assert.deepEqual({ ...imported.identity_remap }, expected['identity_remap']);
        assert.equal(imported.injection_flags, (expected['quarantine'] as JsonObject)['injection_flags']);
      }
      await using other = await openPackageWorld();
      const again = await other.packages.import(OWNER, exported.data());
      using twice = await other.packages.export(OWNER, again.root_frame_id);
      const second = summaryOf(await documentsOf(twice.data()));
      assert.deepEqual(withoutImports(second), withoutImports(first));
      assert.deepEqual(workspaceSummary(other.workspaceOf(again.root_frame_id)), files);
    });

const VERSION_URL = /\/api\/v1\/artifacts\/versions\/[\w.-]+/g;
const withoutNames = (metadata: string): string =>
  metadata.replaceAll(/"(?:delivery_id|manifest_sha256)":"[^"]*",/g, '');

type Summary = Record<string, unknown>;

/** What each import adds of its own: its note in the ledger, and its generation. */
function withoutImports(summary: Summary): Summary {
  const groups = (summary['action_groups'] as JsonObject[]).filter((group) => group['kind'] !== 'session_import');
  const generations = (summary['generations'] as JsonObject[]).map(({ ended_reason: _reason, ...kept }) => kept);
  return { ...summary, action_groups: groups, generations: generations.length > 0 };
}

/** `index.json` in the shape of our summary: without what we do not tell, in our order. */
function expectedSummary(expected: JsonObject): Summary {
  const list = (key: string): JsonObject[] => expected[key] as JsonObject[];
  const rows = (key: string): unknown[][] => expected[key] as unknown[][];
  return ordered({
    action_groups: list('action_groups').map(({ content_sha256: _sha, turn: _turn, events, ...group }) => ({
      ...group,
      events: (events as JsonObject[]).map(({ resource_keys: _keys, result_text: _result, ...event }) => event),
    })),
    active_branch: expected['active_branch'],
    annotations: expected['annotations'],
    branches: expected['branches'],
    cells: list('cells').map(({ resources_text: _text, ...cell }) => cell),
    checkpoints: list('checkpoints').map(
      ({ enabled_capabilities: _enabled, trust_state: _trust, ...checkpoint }) => checkpoint,
    ),
    execution_attempts: list('execution_attempts').map(
      ({ has_generation: _has, replayed_from: _from, ...attempt }) => attempt,
    ),
    generations: list('generations'),
    lineage: rows('lineage'),
    memories: rows('memories'),
    messages: list('messages').map(({ metadata_text: metadata, content, ...message }) => ({
      branch: message['branch'],
      content: content === null ? null : (content as string).replaceAll(VERSION_URL, 'a local version'),
      created_at: message['created_at'],
      flagged: message['flagged'],
      metadata_text: withoutNames(metadata as string),
      role: message['role'],
      seq: message['seq'],
    })),
    operations: rows('operations').map((row) => row.slice(0, 3)),
    permissions: rows('permissions'),
    plans: list('plans'),
    recovery_journal: rows('recovery_journal'),
    activity_steps: rows('activity_steps').map((row) => row.slice(0, 2)),
    capabilities: rows('capabilities'),
    checkpoint_states: list('checkpoint_states'),
    artifacts: list('artifacts').map(({ versions, ...artifact }) => ({
      ...artifact,
      versions: (versions as JsonObject[]).map(
        ({ environment: _environment, checksum_column: _checksum, ...version }) => version,
      ),
    })),
  });
}
