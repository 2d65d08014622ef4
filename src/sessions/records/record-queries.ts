import { quarantined, reverting } from '../queries.ts';
import { columnsOf, keyColumn, type Shape } from './shape.ts';

/** The texts of one kind of record. */
export interface RecordSql {
  /** Parameters: the columns of the shape, then session, tenant and whether it is imported. */
  readonly insert: string;
  /** Parameters: session, position, rows. */
  readonly page: string;
  /** Parameters: session, how many, position of the last. */
  readonly mark: string;
  /** Parameters: key, session, tenant. */
  readonly get: string;
  /** Parameters: the columns of the shape, then session and key. */
  readonly update: string;
}

const texts = new Map<string, RecordSql>();

/** The texts of a shape, made once. */
export function sqlOf(shape: Shape): RecordSql {
  const known = texts.get(shape.table);
  if (known) return known;
  const made = sqlFor(shape);
  texts.set(shape.table, made);
  return made;
}

function sqlFor(shape: Shape): RecordSql {
  const { table } = shape;
  const columns = columnsOf(shape);
  const key = keyColumn(shape) ?? 'position';
  return {
    insert: `INSERT INTO ${table} (root_frame_id, position, ${columns.join(', ')})
SELECT s.root_frame_id, (SELECT COALESCE(MAX(position), 0) + 1 FROM ${table} WHERE root_frame_id = s.root_frame_id),
  ${columns.map(() => '?').join(', ')}
FROM sessions s WHERE s.root_frame_id = ? AND s.tenant_id = ?
  AND (? OR NOT (${quarantined('s.root_frame_id')} OR ${reverting('s.root_frame_id')}))
RETURNING *`,
    page: `SELECT * FROM ${table} WHERE root_frame_id = ? AND position > ? ORDER BY position LIMIT ?`,
    mark: `SELECT COUNT(*) AS records, COALESCE(MAX(position), 0) AS last FROM ${table} WHERE root_frame_id = ?`,
    get: `SELECT r.* FROM ${table} r JOIN sessions s ON s.root_frame_id = r.root_frame_id
WHERE r.${key} = ? AND r.root_frame_id = ? AND s.tenant_id = ?`,
    update: `UPDATE ${table} SET ${columns.map((column) => `${column} = ?`).join(', ')}
WHERE root_frame_id = ? AND ${key} = ?
  AND NOT (${quarantined(`${table}.root_frame_id`)} OR ${reverting(`${table}.root_frame_id`)}) RETURNING *`,
  };
}
