import { join } from 'node:path';
import * as doc from '../../src/autonomy/documents.ts';
import type { AutoEventType, AutoReview } from '../../src/autonomy/model.ts';
import * as sql from '../../src/autonomy/queries.ts';
import { digestJson } from '../../src/core/index.ts';
import { Holdfast } from '../../src/index.ts';
import { openSession } from '../../src/sessions/index.ts';
import type { Tx } from '../../src/store/index.ts';
import { median } from '../measure.ts';
import type { BenchSuite } from '../suite.ts';

const FEW = 100;
const MANY = 100_000;
const PAGE = 50;
const PAGES = 40;
const BATCH = 10_000;
const HASH = 'a'.repeat(64);

interface World {
  readonly holdfast: Holdfast;
  readonly root: string;
  /** Selects on the log since it was last asked. */
  readonly selects: () => number;
}

async function open(dataDir: string): Promise<World> {
  let selects = 0;
  const observer = (event: { readonly kind: string; readonly text?: string }): void => {
    const text = event.text?.toUpperCase() ?? '';
    if (event.kind === 'statement' && text.trimStart().startsWith('SELECT') && text.includes('FROM AUTO_MODE_EVENTS'))
      selects += 1;
  };
  const holdfast = await Holdfast.open({ dataDir, observer });
  const { store, calls, principal, projectId } = holdfast.runtime;
  const root = await store.write('bench.session', (tx) => openSession(tx, calls.sessions, principal, { projectId }));
  const taken = (): number => {
    const count = selects;
    selects = 0;
    return count;
  };
  return { holdfast, root, selects: taken };
}

/** Writes an event at a place that is known, as `appendAutoEvent` writes it at the next one. */
async function append(tx: Tx, review: AutoReview, type: AutoEventType, told: doc.Told, at: number): Promise<void> {
  const event = {
    ...doc.scopeOf(review),
    event_id: `auto-event-${at}`,
    event_cursor: at,
    sequence: at,
    idempotency_key: told.key,
    type,
    request_sha256: told.request,
    payload: told.payload,
    payload_sha256: digestJson(told.payload),
    created_at: told.at,
  };
  await tx.run(sql.EVENTS.insert, sql.EVENTS.params(event));
}

/** One run with one review by the program, and copies of it under ids of their own, each as the program writes it. */
async function fill({ holdfast, root }: World, audits: number): Promise<void> {
  const { autonomy, principal, store, calls } = holdfast.runtime;
  const scope = { runId: 'run', rootFrameId: root, branchId: root, turnId: 't', executionId: 'e', key: 'start' };
  const rest = { mode: 'review_only', selection: {}, budgets: {}, ownerInstanceId: calls.workerId } as const;
  await autonomy.startRun(principal, { ...scope, ...rest });
  const evidence = { complete: true };
  const candidate = { candidateId: 'c', candidateSnapshotSha256: HASH };
  const evidenceSnapshotSha256 = digestJson(evidence);
  const set = { evidenceSnapshotSha256, artifactSetSha256: HASH };
  await autonomy.recordCandidate(principal, 'run', { key: 'candidate', ...candidate, ...set });
  await autonomy.startReview(principal, 'run', {
    ...candidate,
    reviewRunId: 'review-0',
    auditId: 'audit-0',
    key: 'review-0:start',
    evidenceSnapshot: evidence,
    evidenceSnapshotSha256,
    roundIndex: 0,
    attempt: 1,
    reviewer: { profile_id: 'reviewer', profile_revision: 1, model_fingerprint: HASH },
  });
  const assessment = { public_summary: 'It is right.' };
  const end = { key: 'review-0:end', status: 'completed', verdict: 'pass', assessment } as const;
  await autonomy.completeReview(principal, 'review-0', end);
  const [row = {}] = await store.read('bench.review', (tx) => tx.all(sql.REVIEWS_OF_RUN, ['run']));
  const first: AutoReview = sql.REVIEWS.read(row);
  for (let from = 1; from < audits; from += BATCH)
    await store.write('bench.fill', async (tx) => {
      for (let i = from; i < Math.min(audits, from + BATCH); i += 1) {
        const name = `review-${i}`;
        const keys = { start_idempotency_key: `${name}:start`, completion_idempotency_key: `${name}:end` };
        const review = { ...first, ...keys, review_run_id: name, audit_id: `audit-${i}` };
        await tx.run(sql.REVIEWS.insert, sql.REVIEWS.params(review));
        // The start, the candidate and the first review are events 1 to 4.
        await append(tx, review, 'auto_audit_started', doc.reviewStarted(review), 3 + 2 * i);
        await append(tx, review, 'auto_audit_completed', doc.reviewCompleted(review, []), 4 + 2 * i);
      }
    });
}

/** Milliseconds of a page of the newest fifty, each proved, and the selects on the log that one takes. */
async function pages({ holdfast, root, selects }: World): Promise<{ readonly ms: number; readonly selects: number }> {
  const { autonomy, principal } = holdfast.runtime;
  const took: number[] = [];
  selects();
  for (let i = 0; i < PAGES; i += 1) {
    const started = performance.now();
    const rows = await autonomy.audits(principal, { rootFrameId: root, branchId: root, limit: PAGE });
    took.push(performance.now() - started);
    if (rows.length !== PAGE || rows.some((row) => row['verdict'] !== 'pass')) throw new Error('a page is not whole');
  }
  return { ms: median(took), selects: selects() / PAGES };
}

export const auditsSuite: BenchSuite = {
  name: 'audits',
  async run(folder) {
    const few = await open(join(folder, 'few'));
    const many = await open(join(folder, 'many'));
    await fill(few, FEW);
    await fill(many, MANY);
    // Each by turns, so that what the machine does meanwhile falls on both.
    const rounds = { few: [] as number[], many: [] as number[], selects: 0 };
    for (let i = 0; i < 5; i += 1) {
      rounds.few.push((await pages(few)).ms);
      const { ms, selects } = await pages(many);
      rounds.many.push(ms);
      rounds.selects = selects;
    }
    await few.holdfast.close();
    await many.holdfast.close();
    const [small, large] = [median(rounds.few), median(rounds.many)];
    const growth = large / small;
    const rows = [
      { what: `a page of ${PAGE} audits among ${FEW}`, value: `${small.toFixed(2)} ms` },
      { what: `a page of ${PAGE} audits among ${MANY}`, value: `${large.toFixed(2)} ms` },
      { what: 'growth', value: growth.toFixed(2), note: 'must be at most 1.2' },
      { what: 'selects on the log for a page', value: String(rounds.selects), note: 'must be at most 2' },
    ];
    return { rows, figures: { ratios: { audit_page_growth: Number(growth.toFixed(3)) } } };
  },
};
