import type { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { newSigningKey } from '../../src/archive/index.ts';
import { ledgerDigest } from '../../src/autonomy/ledger.ts';
import { readHead, type SessionHead, writeHead } from '../../src/autonomy/index.ts';
import { canonicalJson, digestJson, type JsonObject, sha256Hex } from '../../src/core/index.ts';
import { readGroupLedger } from '../../src/sessions/index.ts';
import { assertNothingBetter, disarm, pausedRun, rowsOf, type Stored } from '../support/autonomy-attacks.ts';
import { type AutonomyWorld, behind } from '../support/autonomy-world.ts';
import { assert, check } from '../support/index.ts';
import { OWNER } from '../support/session-world.ts';

const parsed = (row: Stored, column: string): JsonObject => JSON.parse(String(row[column])) as JsonObject;

/** Rewrites an event with its payload's digest and its request's, as the rules make them. */
function rewriteEvent(db: DatabaseSync, key: unknown, request: string, change: JsonObject): void {
  const [event] = rowsOf(db, 'auto_mode_events').filter((row) => row['idempotency_key'] === key);
  const json = canonicalJson({ ...parsed(event ?? {}, 'payload_json'), ...change });
  db.prepare(
    'UPDATE auto_mode_events SET payload_json = ?, payload_sha256 = ?, request_sha256 = ? WHERE rowid = ?',
  ).run(json, sha256Hex(json), request, event?.['at'] ?? 0);
}

/** Everything of a review made again around another text, or another claim of its finding. */
function rewriteReview(db: DatabaseSync, text: string, of: 'summary' | 'claim'): void {
  const [review = {}] = rowsOf(db, 'review_runs');
  const [finding = {}] = rowsOf(db, 'review_findings');
  const claim = of === 'claim' ? text : String(finding['claim']);
  const list = (column: string) => parsed(finding, `${column}_json`) as unknown as string[];
  const assessment = of === 'summary' ? { public_summary: text } : parsed(review, 'assessment_json');
  const summary = of === 'summary' ? text : String(review['public_summary']);
  const completion = {
    status: String(review['status']),
    verdict: String(review['verdict']),
    assessment,
    findings: [
      {
        finding_id: String(finding['finding_id']),
        fingerprint: String(finding['fingerprint']),
        severity: String(finding['severity']),
        category: String(finding['category']),
        claim,
        evidence_refs: list('evidence_refs'),
        artifact_ids: list('artifact_ids'),
        version_ids: list('version_ids'),
        cell_ids: list('cell_ids'),
        status: 'open',
      },
    ],
    usage: null,
  };
  const envelope = canonicalJson({
    audit_request_digest: String(review['audit_request_digest']),
    subject_kind: 'result_review',
    subject_entity_kind: 'candidate_evidence_snapshot',
    attempt: Number(review['attempt']),
    ...completion,
    durable: true,
    retry_state: 'terminal',
  });
  const request = digestJson(completion);
  db.prepare('UPDATE review_findings SET claim = ?').run(claim);
  db.prepare(
    `UPDATE review_runs SET assessment_json = ?, public_summary = ?, completion_request_sha256 = ?,
       assessment_envelope_json = ?, assessment_digest = ?`,
  ).run(canonicalJson(assessment), summary, request, envelope, sha256Hex(envelope));
  const change = { assessment_digest: sha256Hex(envelope), public_summary: summary };
  rewriteEvent(db, review['completion_idempotency_key'], request, change);
}

/** What the run was started with, made again around other budgets. */
function rewriteStart(db: DatabaseSync, text: string): void {
  const [run = {}] = rowsOf(db, 'auto_mode_runs');
  const [selection, budgets] = [parsed(run, 'selection_json'), { note: text }];
  const names = ['root_frame_id', 'branch_id', 'turn_id', 'execution_id', 'mode'];
  const of = Object.fromEntries(names.map((name) => [name, String(run[name])]));
  const request = digestJson({ ...of, selection, budgets });
  db.prepare('UPDATE auto_mode_runs SET budgets_json = ?, request_sha256 = ?').run(canonicalJson(budgets), request);
  rewriteEvent(db, run['idempotency_key'], request, { budgets });
}

/** What an action gave back in a sealed group, with the seal made again. */
async function rewriteLedger(world: AutonomyWorld, text: string): Promise<void> {
  const groupId = behind(world, (db) => {
    disarm(db);
    const [event = {}] = rowsOf(db, 'action_events').filter((row) => row['type'] === 'result');
    const result = canonicalJson({ ...parsed(event, 'result'), note: text });
    db.prepare('UPDATE action_events SET result = ? WHERE rowid = ?').run(result, event['at'] ?? 0);
    return String(event['group_id']);
  });
  const ledger = await world.store.read('test.ledger', (tx) => readGroupLedger(tx, groupId));
  const seal = ledger ? ledgerDigest(ledger) : '';
  behind(world, (db) => {
    disarm(db);
    db.prepare('UPDATE repair_execution_groups SET ledger_sha256 = ? WHERE action_group_id = ?').run(seal, groupId);
  });
}

/** The whole history of supervised runs taken away. */
function removeAll(db: DatabaseSync): void {
  for (const table of [
    'auto_mode_events',
    'review_findings',
    'review_runs',
    'repair_execution_groups',
    'repair_runs',
    'permission_review_assessments',
    'auto_mode_runs',
  ])
    db.exec(`DELETE FROM ${table}`);
}

const around =
  (rewrite: (db: DatabaseSync, text: string) => void) =>
  (world: AutonomyWorld, text: string): Promise<void> => {
    behind(world, (db) => {
      disarm(db);
      rewrite(db, text);
    });
    return Promise.resolve();
  };

const WAYS: Readonly<Record<string, (world: AutonomyWorld, text: string) => Promise<void>>> = {
  'a summary of a review': around((db, text) => rewriteReview(db, text, 'summary')),
  'a claim of a finding': around((db, text) => rewriteReview(db, text, 'claim')),
  'what the run was started with': around(rewriteStart),
  'what an action gave back': rewriteLedger,
  'the whole history, gone': around(removeAll),
};

async function headOf(world: AutonomyWorld): Promise<SessionHead> {
  return world.autonomy.sessionHead(OWNER, world.root);
}

/** Every table as it is, to be put back. */
const keep = (world: AutonomyWorld) =>
  behind(world, (db) => new Map(TABLES.map((table) => [table, rowsOf(db, table)] as const)));
const TABLES = [
  'auto_mode_runs',
  'auto_mode_events',
  'review_runs',
  'review_findings',
  'repair_runs',
  'repair_execution_groups',
  'permission_review_assessments',
  'action_events',
] as const;

function putBack(world: AutonomyWorld, kept: ReturnType<typeof keep>): void {
  behind(world, (db) => {
    disarm(db);
    for (const [table, rows] of kept) {
      db.exec(`DELETE FROM ${table}`);
      for (const { at, ...row } of rows) {
        const names = Object.keys(row);
        const text = `INSERT INTO ${table} (rowid, ${names.join(', ')}) VALUES (?, ${names.map(() => '?').join(', ')})`;
        db.prepare(text).run(at ?? 0, ...Object.values(row));
      }
    }
  });
}

check('whoever makes every digest again is not seen by any read, and is by a head that was signed before', async () => {
  await using world = await pausedRun();
  const { privatePem, publicText } = newSigningKey();
  const stored = writeHead({ madeAt: 1, tenant: OWNER.tenant, sessions: [await headOf(world)] }, privatePem);
  const [then] = readHead(stored, publicText).sessions;
  const before = keep(world);
  const word = fc.stringMatching(/^[a-z]{1,12}$/);
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...Object.keys(WAYS)), word, async (way, text) => {
      await WAYS[way]?.(world, text);
      const seen = await assertNothingBetter(world, `${way}: ${text}`);
      // A history that is gone shows no run at all; nothing of the rest fails a proof.
      assert.equal(seen, way === 'the whole history, gone' ? 'seen' : 'unseen', way);
      assert.deepEqual((await world.autonomy.auditRuns(OWNER, world.root)).problems, [], way);
      assert.ok(then && (await world.autonomy.checkHead(OWNER, then)).length > 0, way);
      putBack(world, before);
    }),
    { numRuns: 30 },
  );
  assert.deepEqual(then && (await world.autonomy.checkHead(OWNER, then)), []);
});

check('every edit of a row that a head covers shows with it, what no claim rests on among them', async () => {
  await using world = await pausedRun();
  const then = await headOf(world);
  for (const table of TABLES) {
    const [row = {}] = behind(world, (db) => rowsOf(db, table));
    for (const [column, value] of Object.entries(row)) {
      if (column === 'at' || column === 'root_frame_id') continue;
      const put = (to: Stored[string] | bigint): boolean =>
        behind(world, (db) => {
          disarm(db);
          try {
            db.prepare(`UPDATE ${table} SET ${column} = ? WHERE rowid = ?`).run(to, row['at'] ?? 0);
            return true;
          } catch {
            return false;
          }
        });
      const near = typeof value === 'number' ? value + 1 : value === null ? 1 : `${value} `;
      for (const changed of [near, typeof value === 'number' ? 9_007_199_254_740_993n : '{']) {
        if (!put(changed)) continue;
        const problems = await world.autonomy.checkHead(OWNER, then);
        assert.ok(problems.length > 0, `${table}.${column} = ${changed}`);
        // A run of another word is none that began here.
        const runs = column === 'trust_state' ? 0 : 1;
        const audited = await world.autonomy.auditRuns(OWNER, world.root);
        assert.equal(audited.runs, runs, `${table}.${column} = ${changed}`);
        put(value);
      }
    }
  }
  assert.deepEqual(await world.autonomy.checkHead(OWNER, then), []);
});

check('a head is believed only as it was made, with the key it was made with', async () => {
  await using world = await pausedRun();
  const { privatePem, publicText } = newSigningKey();
  const head = { madeAt: 7, tenant: OWNER.tenant, sessions: [await headOf(world)] };
  const signed = writeHead(head, privatePem);
  const refused = { code: 'AUDIT_HEAD_INVALID' };
  assert.deepEqual(readHead(signed, publicText).sessions, readHead(signed, privatePem).sessions);
  assert.throws(() => readHead(signed, newSigningKey().publicText), refused);
  assert.throws(() => readHead(signed, null), refused);
  assert.throws(() => readHead(writeHead(head, null), publicText), refused);
  assert.equal(readHead(writeHead(head, null), null).madeAt, 7);
  const document = JSON.parse(signed) as JsonObject;
  for (const name of Object.keys(document)) {
    const { [name]: _, ...without } = document;
    assert.throws(() => readHead(canonicalJson(without), publicText), refused, name);
  }
  assert.throws(() => readHead(signed.replace('"made_at":7', '"made_at":8'), publicText), refused);
  for (const text of ['', '{}', '[]', 'null', '{"format":"holdfast-head","version":1}'])
    assert.throws(() => readHead(text, null), refused, text);
});
