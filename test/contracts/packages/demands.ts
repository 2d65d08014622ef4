// What the reference program demands of a package that another program made, looked at with nothing of the product but
// its JSON: a second opinion on what we export. Each sentence is one of its measured rules.
import {
  canonicalJson,
  JSON_PROFILES,
  type JsonObject,
  type JsonValue,
  readStrictJson,
  sha256Hex,
} from '../../../src/core/index.ts';
import type { Files } from '../../archive/support/packages.ts';

type Row = Record<string, JsonValue>;
type Find = (what: string, isWrong: boolean) => void;

/** Lists that must be there even when they are empty. */
const LISTS: Readonly<Record<string, readonly string[]>> = {
  session: ['messages'],
  ledger: ['groups', 'execution_attempts'],
  notebook: ['cells'],
  snapshots: ['branches', 'checkpoints', 'operations', 'recovery_journal'],
  artifacts: ['artifacts'],
  environment: ['generations', 'artifact_environment_snapshots'],
  lineage: ['edges'],
  plans: ['plans'],
  review: ['annotations'],
  memory: ['memories'],
  permissions: ['project', 'conversation'],
  capabilities: ['states'],
};

const NAMES = 'api[_-]?key|access[_-]?token|auth[_-]?token|password|passwd|secret|credential|private[_-]?key';
/** The five patterns, over the raw text of a member, so that the spelling of JSON takes part. */
const SECRETS: readonly RegExp[] = [
  /-----BEGIN [^\n]*PRIVATE KEY-----[\s\S]*?-----END [^\n]*PRIVATE KEY-----/,
  /\bBearer\s+[A-Za-z0-9._~+/=-]{8,}/i,
  /\b(?:sk|ark|ghp|gho|github_pat|hf|xox[baprs])[-_][A-Za-z0-9._-]{8,}/i,
  /\b\w*(?:API_KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|PRIVATE_KEY)\w*\s*=(?!\s*"?\[REDACTED\])\s*[^\s#;]/i,
  new RegExp(`["']?(?:${NAMES})["']?\\s*:(?!\\s*"?\\[REDACTED\\])\\s*\\S`, 'i'),
];

const text = (value: JsonValue | undefined): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? null);
const rows = (value: JsonValue | undefined): Row[] => (value ?? []) as Row[];
const fold = (name: string): string => name.normalize('NFKC').toLowerCase();
const isSorted = (names: readonly string[]): boolean =>
  names.every((name, i) => i === 0 || Buffer.compare(Buffer.from(names[i - 1] ?? ''), Buffer.from(name)) < 0);
const differ = (values: readonly unknown[]): boolean => new Set(values).size === values.length;
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;
const isId = (value: unknown): boolean => typeof value === 'string' && value.length >= 1 && value.length <= 512;

/** Every demand that a package does not meet; empty when the reference program takes it. */
export function unmetDemands(files: Files): string[] {
  const unmet: string[] = [];
  const find: Find = (what, isWrong) => void (isWrong && unmet.push(what));
  const documents = new Map(Object.keys(LISTS).map((name) => [name, parsed(files, `${name}.json`)]));
  const of = (name: string): Row => documents.get(name) ?? {};
  seal(files, find);
  for (const [name, lists] of Object.entries(LISTS))
    for (const list of lists) find(`${name}.${list} is a list`, !Array.isArray(of(name)[list]));
  const branches = rows(of('snapshots')['branches']).map((one) => one['branch_id']);
  conversation(of('session'), branches, find);
  ledger(of('ledger'), of('notebook'), branches, find);
  graph(of('snapshots'), of('session'), of('artifacts'), find);
  states(files, find);
  workspace(files, of('snapshots'), of('session'), find);
  artifacts(files, of('artifacts'), find);
  const { project_id: project, root_frame_id: root } = of('session')['source'] as Row;
  for (const state of rows(of('capabilities')['states']))
    find('a capability belongs to the source', state['scope_id'] !== (state['scope'] === 'project' ? project : root));
  return unmet;
}

function parsed(files: Files, name: string): Row {
  const bytes = files.get(name) ?? Buffer.alloc(0);
  return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)) as Row;
}

function seal(files: Files, find: Find): void {
  const { manifest_sha256: digest, ...sealed } = parsed(files, 'manifest.json');
  const names = [...files.keys()].filter((name) => name !== 'manifest.json');
  const listed = rows(sealed['files']);
  find('the manifest has exactly four members', Object.keys(sealed).sort().join() !== 'files,format,schema_version');
  find('format and version', sealed['format'] !== 'openai4s.session' || sealed['schema_version'] !== 1);
  find('the digest of the manifest', sha256Hex(canonicalJson(sealed as JsonObject)) !== digest);
  find('rows are sorted by path', !isSorted(listed.map((row) => text(row['path']))));
  find(
    'rows and members are the same',
    listed.map((row) => text(row['path'])).join('\n') !== names.toSorted(bytewise).join('\n'),
  );
  find('names differ after folding', !differ(names.map(fold)));
  find('at most 4096 members', files.size > 4096);
  for (const row of listed) {
    const bytes = files.get(text(row['path'])) ?? Buffer.alloc(0);
    find(`size and hash of ${text(row['path'])}`, row['size'] !== bytes.length || row['sha256'] !== sha256Hex(bytes));
    find(`64 MiB of ${text(row['path'])}`, bytes.length > 64 * 1024 * 1024);
    const raw = bytes.toString('utf8').replaceAll('\ufffd', '');
    for (const [i, secret] of SECRETS.entries()) find(`pattern ${i + 1} in ${text(row['path'])}`, secret.test(raw));
  }
}

const bytewise = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

function conversation(session: Row, branches: readonly unknown[], find: Find): void {
  const { project_id: project, root_frame_id: root } = session['source'] as Row;
  find('the session has version 1 and a source', session['schema_version'] !== 1 || !isId(project) || !isId(root));
  find('the root branch is listed', !branches.includes(root));
  find('identities of branches', !branches.every(isId) || !differ(branches));
  const messages = rows(session['messages']);
  find('identities of messages', !differ(messages.map((one) => one['message_id'])));
  for (const { branch_id: branch } of messages)
    find('a message has a branch', branch !== undefined && branch !== null && !branches.includes(branch));
}

function ledger(document: Row, notebook: Row, branches: readonly unknown[], find: Find): void {
  const groups = rows(document['groups']);
  const cells = rows(notebook['cells']);
  const attempts = rows(document['execution_attempts']);
  find(
    'identities of groups',
    !groups.every((one) => isId(one['group_id'])) || !differ(groups.map((one) => one['group_id'])),
  );
  find('ordinals of groups', !differ(groups.map((one) => `${text(one['branch_id'])} ${text(one['ordinal'])}`)));
  for (const group of groups) {
    const sequences = rows(group['events']).map((event) => event['sequence']);
    find('a group has a branch', !branches.includes(group['branch_id']));
    find('sequences of events', !sequences.every(isCount) || !differ(sequences));
    for (const field of ['usage', 'assistant_message'])
      find(`${field} is an object or null`, typeof (group[field] ?? null) !== 'object' || Array.isArray(group[field]));
    const { cost_usd: cost = null } = group;
    find('cost_usd is a number or null', cost !== null && !(Number.isFinite(cost) && Number(cost) >= 0));
  }
  const revisions = cells.map((cell) => cell['state_revision'] ?? cell['cell_index']);
  find('revisions of cells', !differ(revisions) || !revisions.every((one) => isCount(one) && Number(one) >= 1));
  for (const cell of cells) find('the language of a cell', !['python', 'r'].includes(text(cell['language'])));
  find(
    'ordinals of attempts',
    !differ(attempts.map((one) => `${text(one['producing_cell_id'])} ${text(one['attempt_ordinal'])}`)),
  );
  for (const attempt of attempts) {
    const times = ['allocated_at', 'started_at', 'response_at', 'capture_at'].map((name) => attempt[name] ?? null);
    const known = times.filter((time) => time !== null).map(Number);
    find('an attempt has its group', !groups.some((one) => one['group_id'] === attempt['group_id']));
    find('an attempt has its cell', !cells.some((one) => one['producing_cell_id'] === attempt['producing_cell_id']));
    find(
      'milestones in order',
      known.some((time, i) => time < (known[i - 1] ?? time)) || times.slice(0, known.length).includes(null),
    );
    find(
      'an end has its capture',
      ['completed', 'succeeded', 'ok'].includes(text(attempt['terminal_state'])) && times[3] === null,
    );
  }
}

function graph(snapshots: Row, session: Row, document: Row, find: Find): void {
  const checkpoints = rows(snapshots['checkpoints']);
  const byId = new Map(checkpoints.map((one) => [one['checkpoint_id'], one]));
  const { root_frame_id: root } = session['source'] as Row;
  const versions = rows(document['artifacts']).flatMap((one) =>
    rows(one['versions']).map((version) => version['version_id']),
  );
  find('identities of checkpoints', !differ(checkpoints.map((one) => one['checkpoint_id'])));
  for (const branch of rows(snapshots['branches'])) {
    const { branch_id: id, parent_branch_id: parent = null, base_checkpoint_id: base = null } = branch;
    if (id === root) find('the root has no parent', parent !== null || base !== null);
    else
      find(
        'a branch has base and head',
        byId.get(base)?.['branch_id'] !== parent || !isId(branch['head_checkpoint_id']),
      );
    const walked = new Set<JsonValue>();
    for (let at = branch['head_checkpoint_id'] ?? null; at !== null && at !== base && !walked.has(at); ) {
      walked.add(at);
      at = byId.get(at)?.['parent_checkpoint_id'] ?? null;
    }
    const own = checkpoints.filter((one) => one['branch_id'] === id).map((one) => one['checkpoint_id']);
    find(
      'from head to base is the whole branch',
      own.length !== walked.size || !own.every((one) => walked.has(one ?? null)),
    );
  }
  for (const one of checkpoints) {
    const { source_kind: kind = null, source_id: source = null } = one;
    find(
      'source kind and id come together',
      (kind === null) !== (source === null) || ![null, 'cell', 'message'].includes(kind as null),
    );
    for (const cursor of ['action_cursor', 'message_cursor', 'cell_cursor'])
      find(cursor, (one[cursor] ?? null) !== null && !isCount(one[cursor]));
    for (const named of rows(one['artifact_versions']))
      find(
        'a checkpoint names what travels',
        !versions.includes(typeof named === 'string' ? named : named['version_id']),
      );
  }
}

/** Digested as it is spelled: `1.0` is not `1`. */
function states(files: Files, find: Find): void {
  const exact = readStrictJson(files.get('snapshots.json') ?? '', JSON_PROFILES.packages) as Row;
  for (const { schema_version: version, state = null, state_sha256: digest } of rows(exact['checkpoint_states']))
    find('the seal of a state', version !== 1 || sha256Hex(canonicalJson(state)) !== digest);
}

function workspace(files: Files, snapshots: Row, session: Row, find: Find): void {
  const { active_branch_id: branch, active_source_tree_id: active, tree_map: map } = snapshots['workspace'] as Row;
  const source = session['source'] as Row;
  find('the workspace is of the active branch', branch !== (source['active_branch_id'] ?? source['root_frame_id']));
  find('the active tree is mapped', !Object.hasOwn(map as Row, text(active)));
  for (const id of Object.values(map as Row)) {
    const tree = parsed(files, `workspace/trees/${text(id)}.json`);
    const { version = null, entries = null, skipped = null } = tree;
    find(
      'the name of a tree',
      tree['tree_id'] !== id || sha256Hex(canonicalJson({ version, entries, skipped })) !== id,
    );
    find('entries are sorted', !isSorted(rows(entries).map((entry) => text(entry['path']))));
    for (const entry of rows(entries)) {
      find('the members of an entry', Object.keys(entry).sort().join() !== 'blob,mode,path,size');
      find(
        'the mode of an entry',
        !isCount(entry['mode']) || Number(entry['mode']) < 1 || Number(entry['mode']) > 0o777,
      );
      find('the bytes of an entry', files.get(`workspace/blobs/${text(entry['blob'])}`)?.length !== entry['size']);
    }
    for (const name of rows(skipped))
      find('the members of what is left out', Object.keys(name).sort().join() !== 'path,reason');
  }
}

function artifacts(files: Files, document: Row, find: Find): void {
  const all = rows(document['artifacts']);
  find('names of artifacts differ after folding', !differ(all.map((one) => fold(text(one['filename'])))));
  find(
    'identities of versions',
    !differ(all.flatMap((one) => rows(one['versions']).map((version) => version['version_id']))),
  );
  for (const { filename, versions, latest_version_id: latest } of all) {
    const name = text(filename);
    find(
      'the name of an artifact',
      name !== name.trim() ||
        Buffer.byteLength(name) > 255 ||
        /[<>:"/\\|?*]/.test(name) ||
        Buffer.from(name).some((byte) => byte < 0x20),
    );
    const available = rows(versions).filter((version) => version['available'] === true);
    find('the latest version is there', !available.some((version) => version['version_id'] === latest));
    for (const version of rows(versions)) find('a version repeats the name', version['filename'] !== filename);
    for (const version of available)
      find('the bytes of a version', !files.has(`artifact-data/${text(version['snapshot_sha256'])}`));
  }
}
