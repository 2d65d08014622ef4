import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { digestJson, type JsonObject, sha256Hex } from '../../../src/core/index.ts';
import {
  addArtifactVersion,
  addDelivery,
  addRecord,
  ARTIFACT,
  auditSession,
  commitDelivery,
  type CompletionDelivery,
  deliveriesOfVersion,
  exactVersionUrl,
  findVersion,
  LINEAGE_EDGE,
  listMessages,
  listRecords,
  listVersions,
  openGroup,
  promoteDelivery,
  publishDelivery,
  requireRecord,
  WorkspaceStore,
} from '../../../src/sessions/index.ts';
import type { Tx } from '../../../src/store/index.ts';
import { assert, check, contract } from '../../support/index.ts';
import { AGENT, openSessionWorld, OWNER, refusal, type SessionWorld, STRANGER } from '../../support/session-world.ts';

const write = <T>(world: SessionWorld, body: (tx: Tx) => Promise<T>): Promise<T> => world.store.write('t', body);

const bytesOf = (text: string) => {
  const sha256 = sha256Hex(text);
  return { sizeBytes: text.length, checksum: sha256, snapshotSha256: sha256 };
};

/** Puts contents where the bytes of versions are kept. */
async function keepBytes({ store, clock, context: { ids }, file }: SessionWorld, ...texts: string[]): Promise<void> {
  const workspaces = new WorkspaceStore({ store, folder: join(dirname(file), 'workspace-cas'), clock, ids });
  for (const text of texts) await workspaces.keepContent(Readable.from([Buffer.from(text)]));
}

/** A session with one artifact of two versions, and a message that shows what a model said last. */
async function delivered() {
  const world = await openSessionWorld();
  const { root, context } = world;
  await keepBytes(world, 'one', 'second', 'x');
  const made = await write(world, async (tx) => {
    const artifact = await addRecord(tx, context, OWNER, root, ARTIFACT, {
      filename: 'out.csv',
      contentType: 'text/csv',
    });
    const first = await addArtifactVersion(tx, context, OWNER, root, { artifactId: artifact.id, ...bytesOf('one') });
    const second = await addArtifactVersion(tx, context, OWNER, root, {
      artifactId: artifact.id,
      ...bytesOf('second'),
      inputs: [first.id],
    });
    const said = { rootFrameId: root, branchId: root, turnId: 'turn-1', kind: 'finalize', assistantContent: 'Here.' };
    await openGroup(tx, context, AGENT, said);
    return { artifact, first, second };
  });
  const last = async () => {
    const { items } = await world.store.read('t', (tx) => listMessages(tx, OWNER, root));
    const message = items.at(-1);
    if (!message) throw new Error('no message');
    return { ...message, metadata: message.metadata as JsonObject };
  };
  const { messageId } = await last();
  const asked = { rootFrameId: root, messageId, versionIds: [made.second.id], idempotencyKey: 'key-1' };
  const commit = (change: Partial<Parameters<typeof commitDelivery>[3]> = {}): Promise<CompletionDelivery> =>
    write(world, (tx) => commitDelivery(tx, context, OWNER, { ...asked, ...change }));
  const publish = (id: string) => write(world, (tx) => publishDelivery(tx, context, OWNER, root, id));
  return { world, root, context, ...made, last, commit, publish, [Symbol.asyncDispose]: () => world.close() };
}

check('an artifact has its versions in order, the latest known, and says what they were made from', async () => {
  await using made = await delivered();
  const { world, root, artifact, first, second } = made;
  await world.store.read('t', async (tx) => {
    const versions = await listVersions(tx, OWNER, root, artifact.id);
    assert.deepEqual(
      versions.items.map((one) => [one.id, one.filename, one.available]),
      [first, second].map((one) => [one.id, 'out.csv', true]),
    );
    assert.equal((await requireRecord(tx, OWNER, root, ARTIFACT, artifact.id)).latestVersionId, second.id);
    const edges = await listRecords(tx, OWNER, root, LINEAGE_EDGE);
    assert.deepEqual(edges.items, [
      { inputVersionId: first.id, outputVersionId: second.id, producingCellId: null, more: null },
    ]);
    assert.equal((await findVersion(tx, OWNER, second.id)).rootFrameId, root);
    assert.equal((await refusal(findVersion(tx, STRANGER, second.id))).code, 'RECORD_NOT_FOUND');
  });
  using raw = world.raw();
  assert.throws(() => raw.exec("UPDATE artifact_versions SET filename = 'x'"), /immutable/);
  assert.throws(() => raw.exec('DELETE FROM lineage_edges'), /kept/);
});

check('a version without its bytes, and one whose digest disagrees, is not available', async () => {
  await using made = await delivered();
  const { world, root, context, artifact } = made;
  const add = (change: object) =>
    write(world, (tx) => addArtifactVersion(tx, context, OWNER, root, { artifactId: artifact.id, ...change }));
  assert.equal((await add({})).available, false);
  assert.equal((await refusal(add({ ...bytesOf('x'), checksum: sha256Hex('y') }))).code, 'STORE_CONSTRAINT');
  assert.match(String((await refusal(add(bytesOf('never kept')))).cause), /not kept/);
  assert.equal((await refusal(add({ ...bytesOf('x'), snapshotSha256: 'short' }))).code, 'INVALID_VALUE');
  assert.equal((await refusal(add({ artifactId: 'none' }))).code, 'RECORD_NOT_FOUND');
});

check('a delivery names exact bytes, is made once for its key, and its message names it', async () => {
  await using made = await delivered();
  const { world, root, second, first, commit, last } = made;
  const delivery = await commit();
  const manifest = delivery.manifest as JsonObject;
  assert.equal(delivery.manifestSha256, digestJson(manifest));
  assert.deepEqual(manifest['artifacts'], [
    {
      artifact_id: second.artifactId,
      version_id: second.id,
      filename: 'out.csv',
      content_type: 'text/csv',
      size_bytes: 6,
      sha256: sha256Hex('second'),
      url: exactVersionUrl(second.id),
    },
  ]);
  assert.deepEqual(await commit(), delivery);
  assert.equal((await refusal(commit({ versionIds: [first.id] }))).code, 'DELIVERY_CONFLICT');
  const { metadata } = await last();
  const envelope = { delivery_id: delivery.id, manifest_sha256: delivery.manifestSha256, status: 'committed' };
  assert.deepEqual(metadata['completion_delivery'], envelope);
  await world.store.read('t', async (tx) => {
    assert.deepEqual(await deliveriesOfVersion(tx, second.id), [delivery.id]);
    assert.equal((await auditSession(tx, OWNER, root)).problemCount, 0);
  });
});

check(
  'a delivery that is empty, repeats a version, lacks bytes or says other than the version is refused',
  async () => {
    await using made = await delivered();
    const { world, root, context, artifact, second, commit } = made;
    const bare = await write(world, (tx) => addArtifactVersion(tx, context, OWNER, root, { artifactId: artifact.id }));
    for (const versionIds of [[], [second.id, second.id], [bare.id]])
      assert.equal((await refusal(commit({ versionIds }))).code, 'DELIVERY_INVALID');
    assert.equal((await refusal(commit({ versionIds: ['none'] }))).code, 'RECORD_NOT_FOUND');
    assert.equal((await refusal(commit({ messageId: 'none' }))).code, 'RECORD_NOT_FOUND');
    const good = await commit();
    const { id: _goodId, ...unsealed } = { ...good, manifestSha256: sha256Hex('x'), idempotencyKey: 'k' };
    const undigested = write(world, (tx) => addDelivery(tx, context, OWNER, root, unsealed));
    assert.equal((await refusal(undigested)).code, 'DELIVERY_INVALID');
    const [entry] = (good.manifest as { artifacts: JsonObject[] }).artifacts;
    for (const change of [{ sha256: sha256Hex('x') }, { size_bytes: 7 }, { url: '/elsewhere' }, { filename: 'b' }]) {
      const manifest = { ...(good.manifest as JsonObject), artifacts: [{ ...entry, ...change }] };
      const { id: _id, ...values } = { ...good, manifest, manifestSha256: digestJson(manifest), idempotencyKey: 'k' };
      const other = write(world, (tx) => addDelivery(tx, context, OWNER, root, values));
      assert.equal((await refusal(other)).code, 'DELIVERY_INVALID');
    }
  },
);

check('a delivery is published once, and changes in nothing else', async () => {
  await using made = await delivered();
  const { world, commit, publish, last } = made;
  const delivery = await commit();
  world.clock.advance(5);
  const published = await publish(delivery.id);
  assert.deepEqual([published.status, published.publishedAt], ['published', world.clock.nowMs()]);
  world.clock.advance(5);
  assert.deepEqual(await publish(delivery.id), published);
  const envelope = (await last()).metadata['completion_delivery'] as JsonObject;
  assert.deepEqual([envelope['status'], envelope['published_at']], ['published', published.publishedAt]);
  using raw = world.raw();
  for (const sql of [
    "UPDATE completion_deliveries SET status = 'committed', published_at = NULL",
    "UPDATE completion_deliveries SET manifest = '{}'",
    'DELETE FROM completion_deliveries',
    'DELETE FROM completion_delivery_artifacts',
  ])
    assert.throws(() => raw.exec(sql), /published once|kept/, sql);
});

contract(
  'PKG-120',
  'a candidate that a review found good is verified, by which review, and stays so when published',
  async () => {
    await using made = await delivered();
    const { world, root, commit, publish, last } = made;
    const delivery = await commit({ candidate: true });
    assert.equal((await last()).metadata['review_status'], 'candidate');
    const verdict = { verdict: 'pass', round: 1 };
    const asked = { rootFrameId: root, deliveryId: delivery.id, reviewRunId: 'review-1', verdict };
    const promote = () => write(world, (tx) => promoteDelivery(tx, OWNER, asked));
    await promote();
    const said = async () => {
      const { metadata } = await last();
      return [metadata['review_status'], metadata['review_run_id'], metadata['candidate_verdict_metadata_sha256']];
    };
    const verified = ['verified', 'review-1', digestJson(verdict)];
    assert.deepEqual(await said(), verified);
    await publish(delivery.id);
    assert.deepEqual(await said(), verified);
    assert.equal((await refusal(promote())).code, 'DELIVERY_CONFLICT');
    assert.equal((await world.store.read('t', (tx) => auditSession(tx, OWNER, root))).problemCount, 0);
  },
);

check('the address of a version is one segment, whatever its id', () => {
  assert.equal(exactVersionUrl("a/b?(c)'"), '/api/v1/artifacts/versions/a%2Fb%3F%28c%29%27');
  assert.throws(() => exactVersionUrl('..'), { code: 'INVALID_VALUE' });
});
