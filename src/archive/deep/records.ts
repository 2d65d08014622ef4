import { isJsonObject, type JsonObject, type JsonValue } from '../../core/index.ts';
import { isAbsent, isCount, keyOf, objectOf, objectsOf, RECORD_LISTS, textOf } from '../documents.ts';
import { namesOfLedger } from '../ledger-document.ts';
import type { DeepContext } from './context.ts';

/** Lists are there, are lists of objects, and are not too long. Nothing else is looked at before. */
export function checkLists(context: DeepContext): void {
  for (const list of RECORD_LISTS) {
    const value = context.documents.get(list.document)?.[list.key];
    if (value === undefined && !list.required) continue;
    if (!Array.isArray(value))
      context.add('PACKAGE_DOCUMENT_INVALID', `${list.document}: the list ${list.key} is missing`);
    else if (value.length > context.limit(list.limit)) context.add('PACKAGE_LIMIT', `too many ${list.noun}`);
    else if (!value.every(isJsonObject))
      context.add('PACKAGE_DOCUMENT_INVALID', `${list.document}: a record of ${list.key} is not an object`);
  }
  const rules =
    context.records('permissions.json', 'project').length + context.records('permissions.json', 'conversation').length;
  if (rules > context.limit('packagePermissionRules')) context.add('PACKAGE_LIMIT', 'too many permission rules');
  const versions = context
    .records('artifacts.json', 'artifacts')
    .reduce((sum, a) => sum + objectsOf(a['versions']).length, 0);
  if (versions > context.limit('packageArtifactVersions')) context.add('PACKAGE_LIMIT', 'too many artifact versions');
}

/** The session names itself, and every record of a kind that has names has one of its own. */
export function checkIdentities(context: DeepContext): void {
  const session = context.documents.get('session.json');
  if (session?.['schema_version'] !== 1)
    context.add('PACKAGE_DOCUMENT_INVALID', 'session.json: the schema version is not 1');
  const source = objectOf(session, 'source');
  context.identify('project', source?.['project_id']);
  context.identify('root frame', source?.['root_frame_id']);
  for (const { document, key, one, id } of RECORD_LISTS)
    if (id !== undefined) for (const record of context.records(document, key)) context.identify(one, record[id]);
  for (const artifact of context.records('artifacts.json', 'artifacts'))
    for (const version of objectsOf(artifact['versions'])) context.identify('artifact version', version['version_id']);
  for (const { code, text } of namesOfLedger(context.documents.get('ledger.json')).findings) context.add(code, text);
}

/** Messages, groups, attempts, cells and lineage refer only to what is in the package. */
export function checkReferences(context: DeepContext): void {
  for (const message of context.records('session.json', 'messages'))
    context.referIfPresent('a message', 'branch', message['branch_id']);
  checkGroups(context);
  checkAttempts(context);
  checkCells(context);
  for (const edge of context.records('lineage.json', 'edges')) {
    context.refer('a lineage edge', 'artifact version', edge['input_version_id']);
    context.refer('a lineage edge', 'artifact version', edge['output_version_id']);
    context.referIfPresent('a lineage edge', 'cell', edge['producing_cell_id']);
  }
  for (const entry of context.records('snapshots.json', 'recovery_journal')) {
    context.referIfPresent('a recovery journal entry', 'generation', entry['source_generation_id']);
    context.referIfPresent('a recovery journal entry', 'generation', entry['candidate_generation_id']);
  }
  checkScopes(context);
}

/** The highest place that may be taken: what comes after it in the session is counted on from there. */
const LAST_PLACE = 2 ** 52;

const isPlace = (value: JsonValue | undefined): boolean => isCount(value) && value <= LAST_PLACE;

function checkGroups(context: DeepContext): void {
  const places = new Set<string>();
  for (const group of context.records('ledger.json', 'groups')) {
    context.refer('an action group', 'branch', group['branch_id']);
    const { ordinal, event_count: events, in_sequence: inSequence, covers } = group;
    const place = keyOf([group['branch_id'] ?? null, ordinal ?? null]);
    if (!isPlace(ordinal) || places.has(place))
      context.add('PACKAGE_IDENTITY', 'an action group has no ordinal of its own in its branch');
    places.add(place);
    if (events === undefined) context.add('PACKAGE_DOCUMENT_INVALID', 'ledger.json: a group has no list of events');
    else if (inSequence !== true)
      context.add('PACKAGE_IDENTITY', 'the events of an action group are not numbered from 0 on');
    for (const group of Array.isArray(covers) ? covers : [])
      context.referIfPresent('a compaction', 'action group', group);
  }
}

const MILESTONES = ['allocated_at', 'started_at', 'response_at', 'capture_at'] as const;
const NEEDS_CAPTURE: ReadonlySet<unknown> = new Set(['completed', 'succeeded', 'ok']);

function checkAttempts(context: DeepContext): void {
  const places = new Set<string>();
  for (const attempt of context.records('ledger.json', 'execution_attempts')) {
    context.refer('an execution attempt', 'action group', attempt['group_id']);
    context.refer('an execution attempt', 'cell', attempt['producing_cell_id']);
    context.referIfPresent('an execution attempt', 'generation', attempt['generation_id']);
    const place = keyOf([attempt['producing_cell_id'] ?? null, attempt['attempt_ordinal'] ?? null]);
    if (!isPlace(attempt['attempt_ordinal']) || places.has(place))
      context.add('PACKAGE_IDENTITY', 'an execution attempt has no ordinal of its own for its cell');
    places.add(place);
    if (!milestonesInOrder(attempt))
      context.add('PACKAGE_DOCUMENT_INVALID', 'ledger.json: the times of an execution attempt are not in order');
  }
}

/** Each time only after the one before it; a finished attempt was captured. */
function milestonesInOrder(attempt: JsonObject): boolean {
  const times = MILESTONES.map((field) => attempt[field]);
  const firstGap = times.findIndex(isAbsent);
  const given = firstGap < 0 ? times : times.slice(0, firstGap);
  if (!times.slice(given.length).every(isAbsent) || given.length === 0) return false;
  if (given.length < MILESTONES.length && NEEDS_CAPTURE.has(attempt['terminal_state'])) return false;
  return given.every((time, i) => isCount(time) && (i === 0 || time >= (given[i - 1] as number)));
}

function checkCells(context: DeepContext): void {
  const revisions = new Set<unknown>();
  for (const cell of context.records('notebook.json', 'cells')) {
    const revision = cell['state_revision'] ?? cell['cell_index'];
    if (!isCount(revision) || revision < 1 || revisions.has(revision))
      context.add('PACKAGE_IDENTITY', 'a cell has no state revision of its own');
    revisions.add(revision);
    if (cell['language'] !== 'python' && cell['language'] !== 'r')
      context.add('PACKAGE_DOCUMENT_INVALID', 'notebook.json: a cell has an unknown language');
  }
}

function checkScopes(context: DeepContext): void {
  const own: Readonly<Record<string, string>> = { project: context.projectId, session: context.rootId };
  for (const state of context.records('capabilities.json', 'states'))
    if (own[textOf(state, 'scope') ?? ''] !== state['scope_id'])
      context.add('PACKAGE_IDENTITY', 'a capability state references an unknown identity (scope)');
  for (const generation of context.records('environment.json', 'generations'))
    context.refer('a generation', 'branch', generation['branch_id']);
  for (const annotation of context.records('review.json', 'annotations'))
    context.refer('an annotation', 'artifact', annotation['artifact_id']);
}
