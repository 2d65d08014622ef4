import { compareCodePoints, isJsonObject, type JsonObject, type JsonValue } from '../../core/index.ts';

/** What the notes are made from: the documents in the shape in which they are exported. */
export interface NotesInput {
  readonly rootFrameId: string;
  readonly projectName: string;
  readonly environment: JsonObject;
  readonly artifacts: JsonObject;
  readonly lineage: JsonValue;
}

/** `REPRODUCE.md`: what a reader of a package may look at and rely on. A function of its input alone, in UTF-8. */
export function reproductionNotes(input: NotesInput): Buffer {
  const { rootFrameId, projectName, environment, artifacts, lineage } = input;
  const lines = [
    `# How to read and reproduce this session`,
    '',
    `Project: ${oneLine(projectName)}`,
    `Source session: \`${oneLine(rootFrameId)}\``,
    '',
    '## Check it first',
    '',
    'Run `holdfast verify FILE`, or `openai4s verify-package FILE` with the reference program. Both compare every file',
    'with `manifest.json`. That shows that nothing changed since the export; it does not establish who produced the',
    'package, nor that anything in it is true. The package carries no signature.',
    '',
    '## What it was made with',
    '',
    ...runtimeLines(objectsIn(environment, 'artifact_environment_snapshots')),
    `- kernel generations recorded: ${objectsIn(environment, 'generations').length}`,
    '',
    'The packages of each environment are listed in `environment.json`.',
    '',
    '## What it holds',
    '',
    `- \`${objectsIn(artifacts, 'artifacts').length}\` artifact(s), described in \`artifacts.json\`, their bytes under \`artifact-data/\``,
    `- \`${edgesOf(lineage).length}\` lineage edge(s) in \`lineage.json\`: which version was made from which`,
    '- the executed cells in `notebook.json`, the ledger of actions in `ledger.json`',
    '- the workspace under `workspace/`, one tree for each checkpoint of `snapshots.json`',
    '',
    'Opened elsewhere, the session is locked and nothing in it runs until a person confirms a fresh restart.',
    '',
  ];
  return Buffer.from(lines.join('\n'));
}

/** Text of a stranger stays on its line. */
const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}`]/gu, ' ');

function objectsIn(document: JsonObject, key: string): JsonObject[] {
  const list = document[key];
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
}

function edgesOf(lineage: JsonValue): JsonObject[] {
  if (Array.isArray(lineage)) return lineage.filter(isJsonObject);
  return isJsonObject(lineage) ? objectsIn(lineage, 'edges') : [];
}

interface Runtime {
  readonly key: string;
  readonly text: string;
  readonly packages: number;
}

/** One line for each environment that can be told apart; of those that cannot, the one with the most packages. */
function runtimeLines(snapshots: readonly JsonObject[]): string[] {
  if (snapshots.length === 0) return ['- runtime: not recorded for any artifact'];
  const runtimes = new Map<string, Runtime>();
  for (const runtime of snapshots.map(runtimeOf)) {
    const known = runtimes.get(runtime.key);
    if (!known || known.packages < runtime.packages) runtimes.set(runtime.key, runtime);
  }
  return [...runtimes.values()]
    .toSorted((a, b) => compareCodePoints(a.key, b.key))
    .map(({ text, packages }) => `- runtime: ${text}, ${packages} package(s)`);
}

function runtimeOf(snapshot: JsonObject): Runtime {
  const text = (field: string): string => {
    const value = snapshot[field];
    return typeof value === 'string' ? oneLine(value) : '';
  };
  const [kind, version, platform] = [text('kind') || 'unknown', text('python_version'), text('platform') || 'unknown'];
  const [name, generation] = [text('environment_name'), text('generation_id')];
  const named = name === '' ? '' : ` (${name})`;
  return {
    key: [kind, version, platform, name, generation].join('\0'),
    text: `${kind}${version === '' ? '' : ` ${version}`} on ${platform}${named}`,
    packages: packagesOf(snapshot),
  };
}

function packagesOf({ package_count: count, packages }: JsonObject): number {
  if (typeof count === 'number' && Number.isInteger(count)) return count;
  return Array.isArray(packages) ? packages.length : 0;
}
