import type { ReadTx, Tx } from '../../store/index.ts';
import { type PageQuery } from '../history.ts';
import type { SessionContext } from '../ledger.ts';
import type { Page, Principal } from '../model.ts';
import { visibleSegments } from '../projection.ts';
import { requireBranch } from '../service.ts';
import { walkSegments } from '../visible.ts';
import { count, flag, id, json, measure, more, type NewRecord, orNull, type RecordOf, text } from './field.ts';
import { addRecord, changeRecord } from './record-rows.ts';
import { recordOf } from './shape.ts';

/** One executed cell of a notebook. Once it is no longer `running`, only `visibility` and `pin` change. */
export const CELL = {
  kind: 'cell',
  table: 'cells',
  fields: {
    id: id('producing_cell_id'),
    branchId: orNull(id('branch_id')),
    cellSeq: orNull(count('cell_seq')),
    cellIndex: orNull(count('cell_index')),
    /** Its place among all cells of the session, from 1. A checkpoint's cell cursor. */
    stateRevision: count('state_revision'),
    kernelId: orNull(text('kernel_id')),
    language: orNull(text('language')),
    status: orNull(text('status')),
    origin: orNull(text('origin')),
    code: text('code'),
    codeHash: orNull(text('code_hash')),
    visibility: orNull(text('visibility')),
    pin: orNull(flag('pin')),
    replayPolicy: orNull(text('replay_policy')),
    variableReads: json('variable_reads'),
    variableWrites: json('variable_writes'),
    variableDeletes: json('variable_deletes'),
    mutationUncertain: orNull(flag('mutation_uncertain')),
    stdout: orNull(text('stdout')),
    stderr: orNull(text('stderr')),
    error: json('error'),
    figures: json('figures'),
    filesRead: json('files_read'),
    filesWritten: json('files_written'),
    interrupted: orNull(count('interrupted')),
    wallS: orNull(measure('wall_s')),
    cpuS: orNull(measure('cpu_s')),
    peakRssKb: orNull(count('peak_rss_kb')),
    createdAt: count('created_at'),
    generationId: orNull(id('generation_id')),
    more,
  },
} as const;

export type Cell = RecordOf<typeof CELL.fields>;

const NEXT_REVISION = 'SELECT COALESCE(MAX(state_revision), 0) + 1 AS next FROM cells WHERE root_frame_id = ?';
const SEGMENT_CELLS = `SELECT * FROM cells WHERE root_frame_id = ? AND COALESCE(branch_id, root_frame_id) = ?
  AND state_revision > ? AND state_revision <= ? ORDER BY state_revision LIMIT ?`;

/** Adds a cell; without a revision it gets the next one of the session. See `addRecord`. */
export async function addCell(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  rootFrameId: string,
  cell: Omit<NewRecord<typeof CELL.fields>, 'stateRevision'> & { readonly stateRevision?: number },
): Promise<Cell> {
  const next = cell.stateRevision ?? Number((await tx.get(NEXT_REVISION, [rootFrameId]))?.['next']);
  return addRecord(tx, context, principal, rootFrameId, CELL, { ...cell, stateRevision: next });
}

/** Ends a running cell with what it gave, or shows, hides or pins a finished one. See `changeRecord`. */
export const changeCell = (
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  rootFrameId: string,
  cellId: string,
  change: Partial<Cell>,
): Promise<Cell> => changeRecord(tx, context, principal, rootFrameId, CELL, cellId, change);

/** What a branch shows of the session's cells. A cell without a branch is the main branch's. BRANCH_NOT_FOUND. */
export async function visibleCells(
  tx: ReadTx,
  principal: Principal,
  of: { readonly rootFrameId: string; readonly branchId: string },
  query: PageQuery = {},
): Promise<Page<Cell>> {
  const segments = await visibleSegments(tx, await requireBranch(tx, principal, of.rootFrameId, of.branchId), 'cell');
  return walkSegments(tx, segments, query, {
    text: SEGMENT_CELLS,
    params: [of.rootFrameId],
    of: (row) => recordOf(CELL, row),
    placeOf: (cell: Cell) => cell.stateRevision,
  });
}
