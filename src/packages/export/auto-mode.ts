import { digestJson, HoldfastError, type JsonObject } from '../../core/index.ts';
import { NO_AUTO_MODE, portableAutoMode } from '../auto-mode/reduce.ts';
import { type AutoModeScope, LEFT_OUT_FIELDS, payloadOf, textOf } from '../auto-mode/scope.ts';
import type { AutoModePort } from '../auto-mode/model.ts';
import { type DocumentTools, groupsOfBranch } from './documents.ts';
import { notExportable } from './guard.ts';
import type { SafeText } from './safe-text.ts';

type Tools = Omit<DocumentTools, 'autoMode' | 'secretTools'>;

/**
 * What a package says of a session's autonomous runs: reduced, without the names of artifacts, versions and cells that
 * stay behind, redacted, and digested again after that. SESSION_NOT_EXPORTABLE for a history that does not hold together.
 */
export async function autoModeDocument(
  port: AutoModePort | undefined,
  tools: Tools,
  cellIds: ReadonlySet<string>,
  safe: Pick<SafeText, 'value'>,
): Promise<JsonObject> {
  try {
    const { rootFrameId } = tools.session;
    const source = await port?.export(tools.tx, tools.principal, rootFrameId);
    if (source === undefined) return NO_AUTO_MODE;
    const trust = source['trust_state'] === 'quarantined_import' ? 'quarantined_import' : 'local';
    const portable = portableAutoMode(source, trust);
    if ((portable['runs'] as JsonObject[]).length === 0) return portable;
    const scope = await scopeOf(tools, cellIds);
    return portableAutoMode(travelling(portable, scope, safe), trust, scope);
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code === 'EXPORT_SOURCE_CHANGED') throw error;
    throw notExportable(`the history of its autonomous runs does not hold together: ${error.message}`, error);
  }
}

async function scopeOf(
  { tx, session, branches, artifacts }: Tools,
  cellIds: ReadonlySet<string>,
): Promise<AutoModeScope> {
  const groups = new Map<string, { branchId: string; turnId: string }>();
  for (const { branchId } of branches)
    for await (const { groupId, turnId } of groupsOfBranch(tx, branchId)) groups.set(groupId, { branchId, turnId });
  const versions = artifacts.artifacts.flatMap(({ versions: all }) => all as JsonObject[]);
  return {
    rootFrameId: session.rootFrameId,
    branchIds: new Set(branches.map(({ branchId }) => branchId)),
    artifactIds: artifacts.artifactIds,
    versionIds: new Set(versions.filter((one) => one['available'] === true).map((one) => textOf(one, 'version_id'))),
    cellIds,
    turnIds: new Set([...groups.values()].map(({ turnId }) => turnId)),
    groups,
  };
}

const RECORDS = ['runs', 'review_runs', 'findings', 'repair_runs', 'permission_assessments'] as const;

/** The history as it leaves: the same names are left out everywhere, so that it still holds together. */
function travelling(history: JsonObject, scope: AutoModeScope, safe: Pick<SafeText, 'value'>): JsonObject {
  const change = (record: JsonObject): JsonObject => safe.value(withoutLeftOut(record, scope)) as JsonObject;
  const events = (history['events'] as JsonObject[]).map((event) => {
    const payload = change(payloadOf(event));
    return { ...event, payload, payload_sha256: digestJson(payload) };
  });
  const records = RECORDS.map((key) => [key, (history[key] as JsonObject[]).map(change)]);
  return { ...history, ...(Object.fromEntries(records) as JsonObject), events };
}

function withoutLeftOut(record: JsonObject, scope: AutoModeScope): JsonObject {
  const kept = { ...record };
  for (const [known, fields] of LEFT_OUT_FIELDS)
    for (const field of fields) {
      const names = kept[field];
      if (Array.isArray(names))
        kept[field] = names.filter((name) => typeof name === 'string' && scope[known].has(name));
    }
  return kept;
}
