import type { ReadTx } from '../store/index.ts';
import { pageSize } from './bounds.ts';
import { afterNumber, type PageQuery, readPage } from './history.ts';
import type { ActionGroup, Page, Principal } from './model.ts';
import { GROUP_COLUMNS } from './queries.ts';
import { groupOf } from './rows.ts';

/** A turn of a branch. */
export interface TurnPlace {
  readonly rootFrameId: string;
  readonly branchId: string;
  readonly turnId: string;
}

const OF_TURN = `JOIN sessions s ON s.root_frame_id = g.root_frame_id AND s.tenant_id = ?
WHERE g.root_frame_id = ? AND g.turn_id = ? AND g.branch_id = ?`;

const LIST_NEWEST = `SELECT ${GROUP_COLUMNS} FROM action_groups g ${OF_TURN} AND g.position < ?
ORDER BY g.position DESC LIMIT ?`;
const LIST_OF_KIND = `SELECT ${GROUP_COLUMNS} FROM action_groups g ${OF_TURN} AND g.kind = ? AND g.position > ?
ORDER BY g.position LIMIT ?`;

/** Of each call the newest of its `started` and its results, which is what says how it stands. */
const COUNT_CALLS = `
SELECT word, COUNT(*) AS calls FROM (
  SELECT COALESCE((SELECT CASE e.type WHEN 'started' THEN 'unknown' ELSE json_extract(e.result, ?) END
    || CASE json_extract(e.result, ?) WHEN 1 THEN '+' ELSE '' END
    FROM action_events e WHERE e.group_id = p.group_id AND e.tool_call_id = p.tool_call_id
      AND e.type IN ('started', 'result') ORDER BY e.sequence DESC LIMIT 1), '') AS word
  FROM action_groups g JOIN action_events p ON p.group_id = g.group_id AND p.type = 'proposed'
    AND p.tool_call_id IS NOT NULL
  ${OF_TURN} AND g.kind NOT IN ('user', 'compaction', 'side_branch', 'code'))
GROUP BY word`;

const placeParams = (principal: Principal, { rootFrameId, turnId, branchId }: TurnPlace) =>
  [principal.tenant, rootFrameId, turnId, branchId] as const;

/** The groups of a turn, newest first, whatever else its session holds. `after` is the `next` of the page before. */
export function newestGroupsOfTurn(
  tx: ReadTx,
  principal: Principal,
  place: TurnPlace,
  query: PageQuery = {},
): Promise<Page<ActionGroup>> {
  const before = afterNumber(query.after, Number.MAX_SAFE_INTEGER);
  const params = [...placeParams(principal, place), before];
  return readPage(tx, LIST_NEWEST, params, pageSize(query.limit), groupOf, (item) => String(item.position));
}

/** The groups of a turn of one kind, in their order. */
export function groupsOfTurnOfKind(
  tx: ReadTx,
  principal: Principal,
  place: TurnPlace,
  kind: string,
  query: PageQuery = {},
): Promise<Page<ActionGroup>> {
  const params = [...placeParams(principal, place), kind, afterNumber(query.after, 0)];
  return readPage(tx, LIST_OF_KIND, params, pageSize(query.limit), groupOf, (item) => String(item.position));
}

/** What the calls of a turn came to, counted in the database: nothing of them is read but how they stand. */
export interface TurnCounts {
  readonly calls: number;
  readonly done: number;
  /** Of those done. */
  readonly verified: number;
  readonly unknown: number;
}

/** Where a result says how its call stands, as JSON paths: whoever writes results knows. */
export interface ResultPaths {
  readonly outcome: string;
  readonly verified: string;
}

export async function countCallsOfTurn(
  tx: ReadTx,
  principal: Principal,
  place: TurnPlace,
  paths: ResultPaths,
): Promise<TurnCounts> {
  const rows = await tx.all(COUNT_CALLS, [paths.outcome, paths.verified, ...placeParams(principal, place)]);
  const of = (...words: readonly string[]): number =>
    rows.filter(({ word }) => words.includes(String(word))).reduce((sum, { calls }) => sum + Number(calls), 0);
  const calls = rows.reduce((sum, row) => sum + Number(row['calls']), 0);
  return { calls, done: of('done', 'done+'), verified: of('done+'), unknown: of('unknown') };
}
