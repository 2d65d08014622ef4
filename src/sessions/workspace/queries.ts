export const LIST_PACKS = `SELECT pack_id FROM workspace_packs`;
export const LIST_TREES = `SELECT tree_id FROM workspace_trees`;
export const FIND_TREE = `SELECT tree_id FROM workspace_trees WHERE tree_id = ?`;
/** A tree that was captured again is kept from the next collection. */
export const TOUCH_TREE = `UPDATE workspace_trees SET captured_at = MAX(captured_at, ?) WHERE tree_id = ?`;
export const INSERT_PACK = `INSERT INTO workspace_packs (pack_id, blobs, created_at) VALUES (?, ?, ?)`;
export const INSERT_TREE = `INSERT INTO workspace_trees (tree_id, files, bytes, captured_at) VALUES (?, ?, ?, ?)
ON CONFLICT (tree_id) DO UPDATE SET captured_at = MAX(captured_at, excluded.captured_at)`;
/** Changes nothing when the pack is gone. */
export const NEED_PACK = `INSERT OR IGNORE INTO workspace_tree_packs (tree_id, pack_id)
SELECT ?, pack_id FROM workspace_packs WHERE pack_id = ?`;
/** Of a tree that is stored again. */
export const UNNEED_PACKS = `DELETE FROM workspace_tree_packs WHERE tree_id = ?`;
export const HAS_PACK = `SELECT 1 AS has FROM workspace_packs WHERE pack_id = ?`;

/** Trees that no checkpoint names and that were not captured since. */
export const DROP_TREES = `DELETE FROM workspace_trees WHERE captured_at < ?
AND NOT EXISTS (SELECT 1 FROM session_checkpoints c WHERE c.workspace_tree_id = workspace_trees.tree_id)`;
const UNNEEDED = `NOT EXISTS (SELECT 1 FROM workspace_tree_packs t WHERE t.pack_id = workspace_packs.pack_id)
AND NOT EXISTS (SELECT 1 FROM workspace_contents c WHERE c.pack_id = workspace_packs.pack_id)`;
export const DROP_PACKS = `DELETE FROM workspace_packs WHERE created_at < ? AND ${UNNEEDED} RETURNING pack_id`;

/** Trees of one origin: dropped unless a checkpoint names them or a capture touched them since. */
export const PACKS_OF_TREE = `SELECT pack_id FROM workspace_tree_packs WHERE tree_id = ?`;
export const FORGET_TREE = `DELETE FROM workspace_trees WHERE tree_id = ? AND captured_at <= ?
AND NOT EXISTS (SELECT 1 FROM session_checkpoints c WHERE c.workspace_tree_id = workspace_trees.tree_id)`;
export const FORGET_PACK = `DELETE FROM workspace_packs WHERE pack_id = ? AND ${UNNEEDED}`;

/** A content that is kept already is kept from the next collection. */
export const TOUCH_CONTENT = `UPDATE workspace_contents SET kept_at = MAX(kept_at, ?) WHERE sha256 = ?`;
/** Changes nothing when the pack is gone. */
export const KEEP_CONTENT = `INSERT OR IGNORE INTO workspace_contents (sha256, size, pack_id, kept_at)
SELECT ?, ?, pack_id, ? FROM workspace_packs WHERE pack_id = ?`;
export const MOVE_CONTENT = `UPDATE workspace_contents SET pack_id = ? WHERE sha256 = ?`;
const UNUSED = `NOT EXISTS (SELECT 1 FROM artifact_versions v
WHERE v.snapshot_sha256 = workspace_contents.sha256 AND v.available = 1)`;
/** Contents that no version names and that were not kept since. */
export const DROP_CONTENTS = `DELETE FROM workspace_contents WHERE kept_at < ? AND ${UNUSED}`;
export const FORGET_CONTENT = `DELETE FROM workspace_contents WHERE sha256 = ? AND kept_at <= ? AND ${UNUSED}
RETURNING pack_id`;
