import {
  bytesSource,
  deepVerify,
  openPackage,
  preflightPackage,
  type RecordLimits,
} from '../../../src/archive/index.ts';
import { digestJson, type JsonObject, PackageError, sha256Hex } from '../../../src/core/index.ts';
import { at, edited, editDocument, filesOf, oracle, oracleNames, resealed } from '../../archive/support/packages.ts';
import { assert, check, contract } from '../../support/index.ts';

const preflight = async (bytes: Buffer, limits?: RecordLimits) =>
  preflightPackage(await openPackage(bytesSource(bytes)), limits);

/** What an import looks at before its first write refuses the package, with this in its text. */
async function refused(bytes: Buffer | Promise<Buffer>, text: RegExp, limits?: RecordLimits): Promise<void> {
  await assert.rejects(preflight(await bytes, limits), (error) => {
    assert.ok(error instanceof PackageError, String(error));
    assert.match(error.message, text);
    return true;
  });
}

type Edit = (document: JsonObject) => void;
const list = (document: JsonObject, key: string): JsonObject[] => document[key] as JsonObject[];
const first = (document: JsonObject, key: string): JsonObject => list(document, key)[0] as JsonObject;

check('every real package that a careful importer takes is importable, and the others are not', async () => {
  const not = new Map([
    ['h2-case-twins', /one on some file systems/],
    ['h4-excluded-in-checkpoint', /unknown identity/],
    ['h5-artifact-twins', /one name on some file systems/],
    ['h6-not-a-number', /not one strict JSON object/],
  ]);
  for (const name of oracleNames()) {
    const { importable, problems } = await deepVerify(bytesSource(oracle(name)));
    assert.equal(importable, !not.has(name), `${name}: ${problems.join()}`);
    if (!importable) assert.match(problems.join(), not.get(name) as RegExp);
  }
});

contract('PKG-34', 'a plan inside a checkpoint state that was edited, under a manifest that fits', async () => {
  const edit: Edit = (document) => {
    at(document['checkpoint_states'], 0, 'state', 'plans', 0)['title'] = 'Another title';
  };
  await refused(edited('b-notebook', 'snapshots.json', edit), /checksum mismatch/);
});

contract('PKG-37 PKG-38', 'artifact and version names that are secret or lead outside', async () => {
  await refused(
    edited('b-notebook', 'artifacts.json', (document) => void (first(document, 'artifacts')['filename'] = '.env')),
    /secret or unsafe artifact/,
  );
  const version: Edit = (document) =>
    void (first(first(document, 'artifacts'), 'versions')['filename'] = '../../escaped.txt');
  await refused(edited('b-notebook', 'artifacts.json', version), /unsafe artifact filename/);
});

contract('PKG-43', 'a listed extra file with a Bearer token in it is named, its token is not', async () => {
  const files = await filesOf('a-minimal');
  const token = `${'Bea'}rer abcdefghijklmnop`;
  files.set('artifact_observations.json', Buffer.from(JSON.stringify({ note: token })));
  await refused(resealed(files), /secret material.*artifact_observations\.json$/);
});

contract('PKG-44 PKG-45', 'a cell listed twice, and an attempt of a cell that is missing', async () => {
  const twice: Edit = (document) => void list(document, 'cells').push({ ...first(document, 'cells') });
  await refused(edited('b-notebook', 'notebook.json', twice), /identity|unknown/);
  const dangling: Edit = (document) =>
    void (first(document, 'execution_attempts')['producing_cell_id'] = 'cell-nowhere');
  await refused(edited('b-notebook', 'ledger.json', dangling), /identity|unknown/);
});

contract('PKG-46 PKG-47', 'an active child branch without a head, and two different active branches', async () => {
  const files = await filesOf('c2-active-child');
  editDocument(files, 'snapshots.json', (document) => {
    const child = list(document, 'branches').find(({ parent_branch_id: parent }) => parent !== null);
    if (child) child['head_checkpoint_id'] = null;
  });
  await refused(resealed(files), /child branch head/);
  const other: Edit = (document) => {
    const child = list(document, 'branches').find(({ parent_branch_id: parent }) => parent !== null);
    at(document['workspace'])['active_branch_id'] = child?.['branch_id'] ?? null;
  };
  await refused(edited('c-branches', 'snapshots.json', other), /active branch does not match/);
});

/** Edits the first checkpoint that carries a history projection. */
async function withProjection(edit: (metadata: JsonObject) => void): Promise<Buffer> {
  return edited('c-branches', 'snapshots.json', (document) => {
    const reverted = list(document, 'checkpoints').find(
      (checkpoint) => at(checkpoint, 'metadata')['history_projection'],
    );
    edit(at(reverted, 'metadata'));
  });
}

contract('PKG-48', 'a history projection whose base is not in the package', async () => {
  const bytes = withProjection(
    (metadata) => void (at(metadata, 'history_projection')['base_checkpoint_id'] = 'cp-elsewhere'),
  );
  await refused(bytes, /unknown identity/);
});

check('cursors that point past the recorded events have no event boundary', async () => {
  const cursor: Edit = (document) => void (first(document, 'checkpoints')['auto_event_cursor'] = 999);
  await refused(edited('c-branches', 'snapshots.json', cursor), /no event boundary/);
  const resume = (metadata: JsonObject) =>
    void (at(metadata, 'history_projection', 'resume_cursors')['auto_event_cursor'] = 999);
  await refused(withProjection(resume), /no event boundary/);
  const boolean: Edit = (document) => void (first(document, 'checkpoints')['cell_cursor'] = true);
  await refused(edited('c-branches', 'snapshots.json', boolean), /not a non-negative integer/);
});

contract('PKG-51', 'a delivery envelope in a message whose record is missing, with the whole list', async () => {
  await refused(
    edited('d2-deliveries', 'artifacts.json', (document) => void delete document['completion_deliveries']),
    /missing its ledger/,
  );
});

interface Delivery {
  readonly record: JsonObject;
  readonly envelope: JsonObject;
  readonly entry: JsonObject;
  readonly version: JsonObject;
}

/** Edits one published delivery and what belongs to it; with `reseal` its own digest is made to fit again. */
async function withDelivery(edit: (delivery: Delivery) => void, reseal = false): Promise<Buffer> {
  const files = await filesOf('d2-deliveries');
  editDocument(files, 'session.json', (session) =>
    editDocument(files, 'artifacts.json', (artifacts) => {
      const record = list(artifacts, 'completion_deliveries').find(
        ({ status }) => status === 'published',
      ) as JsonObject;
      const message = list(session, 'messages').find(({ message_id: id }) => id === record['message_id']);
      const envelope = at(message, 'metadata', 'completion_delivery');
      const entry = at(record, 'manifest', 'artifacts', 0);
      const version = list(artifacts, 'artifacts')
        .flatMap((artifact) => list(artifact, 'versions'))
        .find(({ version_id: id }) => id === entry['version_id']) as JsonObject;
      edit({ record, envelope, entry, version });
      if (!reseal) return;
      record['manifest_sha256'] = digestJson(at(record, 'manifest'));
      envelope['manifest_sha256'] = record['manifest_sha256'];
    }),
  );
  return resealed(files);
}

const DELIVERY = /completion delivery|artifact snapshot byte metadata/;

contract('PKG-130 PKG-131', 'a delivery on a branch or frame outside the package', async () => {
  await refused(
    withDelivery(({ record }) => void (record['branch_id'] = 'br-elsewhere')),
    DELIVERY,
  );
  await refused(
    withDelivery(({ record }) => void (record['frame_id'] = 'f-elsewhere')),
    DELIVERY,
  );
});

contract(
  'PKG-132 PKG-133 PKG-135 PKG-136',
  'an entry that differs from its version, under digests that fit',
  async () => {
    await refused(
      withDelivery(({ entry }) => void (entry['filename'] = 'another.txt'), true),
      DELIVERY,
    );
    await refused(
      withDelivery(({ entry }) => void (entry['content_type'] = 'text/x-other'), true),
      DELIVERY,
    );
    await refused(
      withDelivery(({ entry }) => void (entry['sha256'] = '0'.repeat(64)), true),
      DELIVERY,
    );
    await refused(
      withDelivery(({ entry }) => void (entry['url'] = '/api/v1/artifacts/versions/v-other'), true),
      DELIVERY,
    );
  },
);

contract('PKG-134', 'sizes of version and entry that agree with each other and not with the bytes', async () => {
  const raise = (record: JsonObject) => void (record['size_bytes'] = (record['size_bytes'] as number) + 1);
  const bytes = withDelivery(({ entry, version }) => {
    raise(entry);
    raise(version);
  }, true);
  await refused(bytes, DELIVERY);
});

contract('PKG-137 PKG-138 PKG-139', 'a time, an envelope and a content digest that do not fit', async () => {
  const early = withDelivery(({ record, envelope }) => {
    record['published_at'] = (record['created_at'] as number) - 1;
    envelope['published_at'] = record['published_at'];
  });
  await refused(early, DELIVERY);
  await refused(
    withDelivery(({ envelope }) => void (envelope['manifest_sha256'] = '0'.repeat(64))),
    DELIVERY,
  );
  await refused(
    withDelivery(({ record }) => void (record['content_sha256'] = '0'.repeat(64))),
    DELIVERY,
  );
});

contract('PKG-140', 'one relation more than the bound', async () => {
  await refused(oracle('d2-deliveries'), /delivery Artifact relations/, { packageDeliveryRelations: 0 });
});

check('deliveries whose checking would take too much work are refused', async () => {
  await refused(oracle('d2-deliveries'), /verification work exceeds its limit/, { deliveryWorkBytes: 1 });
});

check('each list is counted before its records are read', async () => {
  const limits = {
    packageMessages: 'messages',
    packagePlans: 'plans',
    packageCells: 'cells',
    packageBranches: 'branches',
  } as const;
  for (const [name, noun] of Object.entries(limits))
    await refused(oracle('b-notebook'), new RegExp(`^too many ${noun}$`), { [name]: 0 });
  await refused(oracle('b-notebook'), /^too many artifact versions$/, { packageArtifactVersions: 1 });
  await refused(oracle('b-notebook'), /^too many workspace entries$/, { packageWorkspaceEntries: 1 });
});

const DOCUMENT_EDITS: readonly (readonly [what: string, name: string, document: string, edit: Edit, text: RegExp])[] = [
  ['a list that is missing', 'a-minimal', 'plans.json', (d) => void delete d['plans'], /list plans is missing/],
  ['a record that is no object', 'a-minimal', 'plans.json', (d) => void (d['plans'] = [1]), /not an object/],
  ['another schema version', 'a-minimal', 'session.json', (d) => void (d['schema_version'] = 2), /schema version/],
  [
    'an empty identity',
    'a-minimal',
    'session.json',
    (d) => void (first(d, 'messages')['message_id'] = ''),
    /no valid identity/,
  ],
  [
    'an identity of 513 characters',
    'a-minimal',
    'session.json',
    (d) => void (first(d, 'messages')['message_id'] = 'x'.repeat(513)),
    /no valid identity/,
  ],
  [
    'a message of another branch',
    'a-minimal',
    'session.json',
    (d) => void (first(d, 'messages')['branch_id'] = 'x'),
    /unknown identity/,
  ],
  ...[2 ** 52 + 1, Number.MAX_SAFE_INTEGER].map(
    (place) =>
      [
        `a group at place ${place}`,
        'b-notebook',
        'ledger.json',
        (d: JsonObject) => void (first(d, 'groups')['ordinal'] = place),
        /no ordinal of its own/,
      ] as const,
  ),
  [
    'an attempt at the last number',
    'b-notebook',
    'ledger.json',
    (d) => void (first(d, 'execution_attempts')['attempt_ordinal'] = Number.MAX_SAFE_INTEGER),
    /no ordinal of its own/,
  ],
  [
    'a group whose first event is gone',
    'b-notebook',
    'ledger.json',
    (d) => void withEvents(d, 2).shift(),
    /are not numbered from 0 on/,
  ],
  [
    'a group whose middle event is gone',
    'b-notebook',
    'ledger.json',
    (d) => void ((withEvents(d, 2)[1] as JsonObject)['sequence'] = 2),
    /are not numbered from 0 on/,
  ],
  [
    'two groups of one ordinal',
    'b-notebook',
    'ledger.json',
    (d) => list(d, 'groups').forEach((group) => (group['ordinal'] = 1)),
    /ordinal of its own/,
  ],
  [
    'milestones out of order',
    'b-notebook',
    'ledger.json',
    (d) => void (first(d, 'execution_attempts')['started_at'] = 1),
    /not in order/,
  ],
  [
    'a milestone that is missing',
    'b-notebook',
    'ledger.json',
    (d) => void (first(d, 'execution_attempts')['response_at'] = null),
    /not in order/,
  ],
  [
    'a revision that is a boolean',
    'b-notebook',
    'notebook.json',
    (d) => void (first(d, 'cells')['state_revision'] = true),
    /state revision/,
  ],
  [
    'an unknown language',
    'b-notebook',
    'notebook.json',
    (d) => void (first(d, 'cells')['language'] = 'cobol'),
    /unknown language/,
  ],
  [
    'an edge to nowhere',
    'b-notebook',
    'lineage.json',
    (d) => void (first(d, 'edges')['input_version_id'] = 'v'),
    /unknown identity/,
  ],
  [
    'a compaction of an unknown group',
    'e-native-tools',
    'ledger.json',
    compactNothing,
    /compaction references an unknown identity/,
  ],
  [
    'a foreign capability scope',
    'b-notebook',
    'capabilities.json',
    (d) => void (first(d, 'states')['scope_id'] = 'x'),
    /unknown identity/,
  ],
  [
    'a chain that leaves its branch',
    'c-branches',
    'snapshots.json',
    (d) => list(d, 'checkpoints').forEach((c) => (c['parent_checkpoint_id'] = null)),
    /one line/,
  ],
  [
    'half a source',
    'c-branches',
    'snapshots.json',
    (d) => void (first(d, 'checkpoints')['source_kind'] = 'cell'),
    /half of its source/,
  ],
  [
    'a tree that is not mapped',
    'c-branches',
    'snapshots.json',
    (d) => void (at(d['workspace'])['active_source_tree_id'] = 'x'),
    /not in the tree map/,
  ],
  [
    'a tree that is not there',
    'c-branches',
    'snapshots.json',
    (d) => mapAllTo(d, 'f'.repeat(64)),
    /workspace tree is missing/,
  ],
  [
    'an artifact without bytes',
    'b-notebook',
    'artifacts.json',
    (d) => void (first(first(d, 'artifacts'), 'versions')['snapshot_sha256'] = 'f'.repeat(64)),
    /does not fit its bytes/,
  ],
  [
    'a latest version that is not there',
    'b-notebook',
    'artifacts.json',
    (d) => void (first(d, 'artifacts')['latest_version_id'] = 'v'),
    /unknown identity/,
  ],
  [
    'a state of another project',
    'b-notebook',
    'snapshots.json',
    (d) => void (first(d, 'checkpoint_states')['project_id'] = 'x'),
    /does not belong/,
  ],
  [
    'a key that names a secret',
    'a-minimal',
    'memory.json',
    (d) => void (d['x'] = { password: 7 }),
    /secret material in: memory\.json/,
  ],
];

/** The events of the first group that has so many. */
const withEvents = (document: JsonObject, count: number): JsonObject[] =>
  list(document, 'groups')
    .map((group) => list(group, 'events'))
    .find((events) => events.length >= count) ?? assert.fail('no such group');

function compactNothing(document: JsonObject): void {
  for (const group of list(document, 'groups'))
    for (const event of list(group, 'events'))
      if (event['type'] === 'compaction') at(event, 'result')['covered_through_group_id'] = 'ag-elsewhere';
}

function mapAllTo(document: JsonObject, tree: string): void {
  const map = at(document['workspace'], 'tree_map');
  for (const key of Object.keys(map)) map[key] = tree;
}

for (const [what, name, document, edit, text] of DOCUMENT_EDITS)
  check(`not importable: ${what}`, async () => refused(edited(name, document, edit), text));

/** Edits the active tree and names it anew, as one who can also edit the manifest would. */
async function withTree(edit: (tree: JsonObject) => void, rename = true): Promise<Buffer> {
  const files = await filesOf('h3-long-name');
  const old = [...files.keys()].find((path) => path.startsWith('workspace/trees/')) as string;
  editDocument(files, old, (tree) => {
    edit(tree);
    if (rename)
      tree['tree_id'] = digestJson({
        entries: tree['entries'] ?? null,
        skipped: tree['skipped'] ?? null,
        version: tree['version'] ?? null,
      });
  });
  const tree = files.get(old) as Buffer;
  const id = (JSON.parse(tree.toString()) as { tree_id: string }).tree_id;
  files.delete(old);
  files.set(`workspace/trees/${id}.json`, tree);
  editDocument(files, 'snapshots.json', (document) => mapAllTo(document, id));
  return resealed(files);
}

check('workspace trees: nothing leaves, hides, collides or lies about its bytes', async () => {
  const entry = (change: JsonObject) => (tree: JsonObject) => void Object.assign(first(tree, 'entries'), change);
  await preflight(await withTree(() => {}));
  await refused(withTree(entry({ path: '../escape' })), /unsafe workspace path/);
  await refused(withTree(entry({ path: 'a/.env.local' })), /secret or unsafe workspace path/);
  await refused(withTree(entry({ mode: 0 })), /mode/);
  await refused(withTree(entry({ mode: 0o4755 })), /mode/);
  await refused(withTree(entry({ size: 1 })), /another size/);
  await refused(withTree(entry({ blob: sha256Hex('nothing') })), /missing/);
  await refused(withTree(entry({ note: 'x' })), /not what it seals/);
  await refused(
    withTree((tree) => void list(tree, 'entries').reverse()),
    /not what it seals/,
  );
  await refused(
    withTree((tree) => void (tree['note'] = 1)),
    /not what it seals/,
  );
  await refused(
    withTree((tree) => void list(tree, 'skipped').push({ path: 'a', reason: 'b' }), false),
    /not what it seals/,
  );
});

check('a missing document is named', async () => {
  const files = await filesOf('a-minimal');
  files.delete('plans.json');
  await refused(resealed(files), /required document is missing: plans\.json/);
});

check('a secret is found wherever it lies in a large file, and a word that a window cuts is none', async () => {
  const files = await filesOf('a-minimal');
  const words = 'ordinary words of a long text '.repeat(80_000);
  const token = `${'s'}k-abcdefghijklmnop`;
  const cut = 2 * 1024 * 1024;
  for (const text of [`${words} ${token}`, `${words.slice(0, cut - 8)} ${token} ${words}`]) {
    files.set('extra.txt', Buffer.from(text));
    await refused(resealed(files), /secret material in: extra\.txt/);
  }
  files.set('extra.txt', Buffer.from(`${words} ${'desk-'.repeat(500_000)} ${words}`));
  await preflight(resealed(files));
});
