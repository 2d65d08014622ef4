import { autonomyContext, exportProjection, importHistory } from '../../autonomy/index.ts';
import { isJsonObject, type JsonObject } from '../../core/index.ts';
import type { SessionContext } from '../../sessions/index.ts';
import type { AutoModePort } from './model.ts';
import { SELECTION } from './shapes.ts';

/** The runs of this installation for packages: its own, proved as they are read, and those that were imported. */
export function autonomyPort(sessions: SessionContext): AutoModePort {
  return {
    async export(tx, principal, rootFrameId) {
      const known = await exportProjection(tx, autonomyContext(sessions), principal, rootFrameId);
      return {
        ...known,
        historical_selection: knownSelection(known.historical_selection),
        review_runs: known.review_runs.map(reviewRecord),
        repair_runs: known.repair_runs.map(stepRecord),
        permission_assessments: known.permission_assessments.map(stepRecord),
      };
    },
    import: (tx, place, history) => importHistory(tx, sessions, place, history),
  };
}

/** The words of a selection that others know: an installation may have words of its own. */
function knownSelection(selection: JsonObject | null): JsonObject | null {
  if (selection === null) return null;
  const known = Object.entries(SELECTION.fields).filter(([field, words]) => {
    const word = selection[field];
    return typeof word === 'string' && word !== '' && (typeof words === 'string' || words.includes(word));
  });
  return Object.fromEntries(known.map(([field]) => [field, selection[field] ?? null]));
}

/** Records of imported runs have the names of the format already. */
const stepRecord = (of: JsonObject): JsonObject => ({
  created_at: of['started_at'] ?? null,
  finished_at: of['completed_at'] ?? null,
  ...of,
});

function reviewRecord(of: JsonObject): JsonObject {
  const reviewer = isJsonObject(of['reviewer']) ? of['reviewer'] : {};
  return {
    round: of['round_index'] ?? null,
    model_profile_id: reviewer['profile_id'] ?? null,
    model_profile_revision: reviewer['profile_revision'] ?? null,
    model_fingerprint: reviewer['model_fingerprint'] ?? null,
    ...stepRecord(of),
  };
}
