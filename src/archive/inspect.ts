import { type JsonObject, type JsonValue, LIMITS, screenInjection } from '../core/index.ts';
import { type Contents, readContents, workspaceFiles } from './contents.ts';
import { isCount, objectOf, objectsOf, recordsOf, textOf } from './documents.ts';
import { hasInvisible, printable } from './printable.ts';
import type { ArchiveOptions } from './reader.ts';
import type { ByteSource } from './source.ts';

export interface InspectOptions extends ArchiveOptions {
  /** How many of the last messages are shown; 20 unless told. */
  readonly messages?: number;
}

/** What is inside a package, for people. Every text is a stranger's, escaped and cut; nothing here is to be believed. */
export interface Inspection {
  /** Whether the package verifies; what does not hold is among the warnings. */
  readonly verified: boolean;
  readonly manifest_sha256: string | null;
  readonly sizes: { readonly archive_bytes: number; readonly files: number; readonly unpacked_bytes: number };
  readonly session: {
    readonly name: string;
    readonly project: string;
    readonly task: string;
    readonly model: string;
    readonly created_at: string | null;
  };
  readonly conversation: { readonly messages: number; readonly last: readonly ShownMessage[] };
  readonly calls: { readonly groups: number; readonly proposed: number; readonly tools: readonly Counted[] };
  readonly cells: number;
  readonly artifacts: readonly ShownArtifact[];
  readonly history: {
    readonly checkpoints: number;
    readonly reverts: number;
    readonly branches: readonly ShownBranch[];
  };
  readonly workspace: { readonly files: number; readonly bytes: number; readonly largest: readonly ShownFile[] };
  readonly warnings: readonly string[];
}

interface ShownMessage {
  readonly role: string;
  readonly at: string | null;
  readonly text: string;
}

interface Counted {
  readonly name: string;
  readonly times: number;
}

interface ShownArtifact {
  readonly name: string;
  readonly type: string;
  readonly versions: number;
  readonly bytes: number | null;
}

interface ShownBranch {
  readonly name: string;
  readonly checkpoints: number;
  readonly active: boolean;
}

interface ShownFile {
  readonly path: string;
  readonly bytes: number;
}

/** How many entries of a list are shown. */
const SHOWN = 20;

/** Looks into a package without trusting it: no store, nothing written, nothing run. */
export async function inspectPackage(source: ByteSource, options: InspectOptions = {}): Promise<Inspection> {
  const contents = await readContents(source, options);
  const { archive, manifest, problems } = contents;
  return {
    verified: problems.length === 0,
    manifest_sha256: manifest.digest === null ? null : printable(manifest.digest, 64),
    sizes: {
      archive_bytes: archive.size,
      files: archive.members.length,
      unpacked_bytes: archive.members.reduce((sum, { size }) => sum + size, 0),
    },
    session: sessionOf(contents),
    conversation: conversationOf(contents, options.messages ?? SHOWN),
    calls: callsOf(contents),
    cells: recordsOf(contents.documents, 'notebook.json', 'cells').length,
    artifacts: artifactsOf(contents),
    history: historyOf(contents),
    workspace: await workspaceOf(contents),
    warnings: [...problems.slice(0, LIMITS.archiveProblems), ...warningsOf(contents)],
  };
}

function sessionOf({ documents }: Contents): Inspection['session'] {
  const session = documents.get('session.json');
  const frame = objectOf(session, 'frame');
  return {
    name: shown(frame?.['name']),
    project: shown(objectOf(session, 'project')?.['name']),
    task: shown(frame?.['task_summary']),
    model: shown(frame?.['model']),
    created_at: timeOf(frame?.['created_at']),
  };
}

const shown = (value: JsonValue | undefined, max?: number): string =>
  typeof value === 'string' ? printable(value, max) : '';

/** Milliseconds since 1970 as a date; null for anything else. */
function timeOf(value: JsonValue | undefined): string | null {
  return isCount(value) && value <= LIMITS.portableUnixSeconds * 1000 ? new Date(value).toISOString() : null;
}

function conversationOf({ documents }: Contents, last: number): Inspection['conversation'] {
  const messages = recordsOf(documents, 'session.json', 'messages');
  const tail = last === 0 ? [] : messages.slice(-last);
  return {
    messages: messages.length,
    last: tail.map((message) => ({
      role: shown(message['role'], 20),
      at: timeOf(message['created_at']),
      text: shown(message['content'], 300),
    })),
  };
}

function callsOf({ documents }: Contents): Inspection['calls'] {
  const groups = recordsOf(documents, 'ledger.json', 'groups');
  const names = new Map<string, number>();
  let proposed = 0;
  for (const event of groups.flatMap((group) => objectsOf(group['events']))) {
    if (!(textOf(event, 'type') ?? '').endsWith('proposed')) continue;
    proposed += 1;
    // What we export names the tool beside its arguments, of which one may be called `name`.
    const said = objectOf(event, 'result')?.['tool'] ?? objectOf(event, 'canonical_arguments')?.['name'];
    const name = shown(said, 80) || 'code';
    names.set(name, (names.get(name) ?? 0) + 1);
  }
  const tools = [...names].map(([name, times]) => ({ name, times })).sort((a, b) => b.times - a.times);
  return { groups: groups.length, proposed, tools: tools.slice(0, SHOWN) };
}

function artifactsOf({ documents }: Contents): ShownArtifact[] {
  return recordsOf(documents, 'artifacts.json', 'artifacts').map((artifact) => {
    const versions = objectsOf(artifact['versions']);
    const latest = versions.find(({ version_id: id }) => id === artifact['latest_version_id']);
    const bytes = latest?.['size_bytes'];
    return {
      name: shown(artifact['filename']),
      type: shown(artifact['content_type'], 80),
      versions: versions.length,
      bytes: isCount(bytes) ? bytes : null,
    };
  });
}

function historyOf({ documents }: Contents): Inspection['history'] {
  const checkpoints = recordsOf(documents, 'snapshots.json', 'checkpoints');
  const counts = new Map<JsonValue | undefined, number>();
  for (const { branch_id: id } of checkpoints) counts.set(id, (counts.get(id) ?? 0) + 1);
  const active = objectOf(documents.get('snapshots.json'), 'workspace')?.['active_branch_id'];
  return {
    checkpoints: checkpoints.length,
    reverts: checkpoints.filter((checkpoint) => objectOf(objectOf(checkpoint, 'metadata'), 'history_projection'))
      .length,
    branches: recordsOf(documents, 'snapshots.json', 'branches').map((branch) => ({
      name: shown(branch['name'], 80) || shown(branch['branch_id'], 80),
      checkpoints: counts.get(branch['branch_id']) ?? 0,
      active: branch['branch_id'] === active,
    })),
  };
}

async function workspaceOf(contents: Contents): Promise<Inspection['workspace']> {
  const files = [...(await workspaceFiles(contents))].map(([path, { size }]): ShownFile => {
    return { path: printable(path), bytes: isCount(size) ? size : 0 };
  });
  const largest = files.toSorted((a, b) => b.bytes - a.bytes).slice(0, SHOWN);
  return { files: files.length, bytes: files.reduce((sum, { bytes }) => sum + bytes, 0), largest };
}

/** What an importer would take away, and what could mislead a reader. */
function warningsOf({ documents }: Contents): string[] {
  const rules = [
    ...recordsOf(documents, 'permissions.json', 'project'),
    ...recordsOf(documents, 'permissions.json', 'conversation'),
  ];
  const counts = [
    [rules.filter(isAllowing).length, 'permission rules allow something; an import makes them ask'],
    [
      recordsOf(documents, 'capabilities.json', 'states').filter(({ enabled }) => enabled !== false && enabled !== 0)
        .length,
      'capabilities are on; an import turns them off',
    ],
    [
      recordsOf(documents, 'environment.json', 'generations').filter(hasHooks).length,
      'kernel generations carry code to run at their start; an import drops it',
    ],
    [
      recordsOf(documents, 'session.json', 'messages').filter(misleads).length,
      'messages hold control, invisible or direction-changing characters; they are shown escaped',
    ],
    [
      recordsOf(documents, 'session.json', 'messages').filter(instructs).length,
      'messages hold phrases that try to instruct an agent; an import puts a warning before them',
    ],
  ] as const;
  return counts.filter(([count]) => count > 0).map(([count, says]) => `${count} ${says}`);
}

const isAllowing = (rule: JsonObject): boolean => rule['decision'] !== 'ask' && rule['decision'] !== 'deny';

function hasHooks(generation: JsonObject): boolean {
  const bootstrap = objectOf(generation, 'bootstrap');
  const filled = (value: JsonValue | undefined) => Array.isArray(value) && value.length > 0;
  return filled(bootstrap?.['init_hooks']) || filled(bootstrap?.['sidecars']);
}

/** Line breaks and tabs are ordinary in a message. */
const misleads = (message: JsonObject): boolean =>
  hasInvisible((textOf(message, 'content') ?? '').replace(/[\n\r\t]/g, ''));

const instructs = (message: JsonObject): boolean => screenInjection(textOf(message, 'content') ?? '').flagged;
