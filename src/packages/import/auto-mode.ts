import type { JsonObject } from '../../core/index.ts';
import type { AutoModeImport, AutoModePort } from '../auto-mode/model.ts';
import { portableAutoMode } from '../auto-mode/reduce.ts';
import type { AutoModeScope } from '../auto-mode/scope.ts';
import { refused } from '../auto-mode/shapes.ts';
import { fieldsOf } from './fields.ts';
import type { Identities } from './identities.ts';
import type { PackageReader } from './reader.ts';

/**
 * The autonomous runs that a package tells of, reduced and checked against the whole package, with the new names of
 * what they refer to; null where it tells of none. PACKAGE_AUTO_MODE, also where this store could not keep them.
 */
export function planAutoMode(
  reader: PackageReader,
  ids: Identities,
  port: AutoModePort | undefined,
): AutoModeImport | null {
  const projection = readAutoMode(reader);
  if (projection === null || isEmpty(projection)) return null;
  if (port === undefined) throw refused('history cannot be kept by this store: the package holds autonomous runs');
  return {
    projection,
    branchIdMap: ids.mapOf('branch'),
    turnIdMap: ids.mapOf('turn'),
    versionIdMap: ids.mapOf('version'),
    artifactIdMap: ids.mapOf('artifact'),
    cellIdMap: ids.mapOf('cell'),
    actionGroupIdMap: ids.mapOf('group'),
  };
}

/** The history that a package tells, told again and checked whole; null where it tells of none. PACKAGE_AUTO_MODE. */
export function readAutoMode(reader: PackageReader): JsonObject | null {
  const source = reader.document('review.json').value('auto_mode');
  return source === null ? null : portableAutoMode(source, 'quarantined_import', scopeOf(reader));
}

const LISTS = ['runs', 'events', 'review_runs', 'findings', 'repair_runs', 'permission_assessments'] as const;

const isEmpty = (projection: JsonObject): boolean =>
  projection['historical_selection'] === null && LISTS.every((key) => (projection[key] as JsonObject[]).length === 0);

function scopeOf(reader: PackageReader): AutoModeScope {
  const named = (records: readonly JsonObject[], field: string): Set<string> =>
    new Set(fieldsOf(records, 'a record').flatMap((row) => row.text(field) ?? []));
  const artifacts = reader.records('artifacts.json', 'artifacts');
  const versions = fieldsOf(artifacts, 'an artifact').flatMap((row) => row.objects('versions'));
  const groups = fieldsOf(reader.records('ledger.json', 'groups'), 'an action group');
  const placed = groups.map((row) => {
    const place = { branchId: row.text('branch_id') ?? '', turnId: row.text('turn_id') ?? '' };
    return [row.needText('group_id'), place] as const;
  });
  const branchIds = named(reader.records('snapshots.json', 'branches'), 'branch_id');
  return {
    rootFrameId: reader.sourceRoot,
    branchIds: branchIds.add(reader.sourceRoot),
    artifactIds: named(artifacts, 'artifact_id'),
    versionIds: named(versions, 'version_id'),
    cellIds: named(reader.records('notebook.json', 'cells'), 'producing_cell_id'),
    turnIds: named(
      groups.map(({ record }) => record),
      'turn_id',
    ),
    groups: new Map(placed),
  };
}
