/** Packs hold contents; a tree needs its packs, so a pack stays while any tree needs it, a tree while a checkpoint does. */
export const WORKSPACE_TABLES = `
CREATE TABLE workspace_packs (
  pack_id TEXT PRIMARY KEY CHECK (length(pack_id) = 32),
  blobs INTEGER NOT NULL CHECK (blobs > 0),
  created_at INTEGER NOT NULL
) STRICT;
CREATE TABLE workspace_trees (
  tree_id TEXT PRIMARY KEY CHECK (length(tree_id) = 64),
  files INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  captured_at INTEGER NOT NULL
) STRICT;
CREATE TABLE workspace_tree_packs (
  tree_id TEXT NOT NULL REFERENCES workspace_trees (tree_id) ON DELETE CASCADE,
  pack_id TEXT NOT NULL REFERENCES workspace_packs (pack_id),
  PRIMARY KEY (tree_id, pack_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX workspace_tree_packs_by_pack ON workspace_tree_packs (pack_id);
CREATE TRIGGER trg_workspace_tree_is_needed BEFORE DELETE ON workspace_trees
WHEN EXISTS (SELECT 1 FROM session_checkpoints WHERE workspace_tree_id = OLD.tree_id)
BEGIN SELECT RAISE(ABORT, 'a checkpoint needs this workspace tree'); END;
CREATE TRIGGER trg_checkpoint_has_its_tree BEFORE INSERT ON session_checkpoints
WHEN NEW.workspace_tree_id IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM workspace_trees WHERE tree_id = NEW.workspace_tree_id)
BEGIN SELECT RAISE(ABORT, 'there is no such workspace tree'); END;
`;

/**
 * Contents that are kept by themselves, whatever trees need: the bytes of artifact versions. One stays while a version
 * names it, its pack while the content is there; a version has its bytes when it is recorded.
 */
export const CONTENT_TABLES = `
ALTER TABLE artifact_versions DROP COLUMN bytes_name;
CREATE TABLE workspace_contents (
  sha256 TEXT PRIMARY KEY CHECK (length(sha256) = 64),
  size INTEGER NOT NULL CHECK (size >= 0),
  pack_id TEXT NOT NULL REFERENCES workspace_packs (pack_id),
  kept_at INTEGER NOT NULL
) STRICT;
CREATE INDEX workspace_contents_by_pack ON workspace_contents (pack_id);
CREATE INDEX artifact_versions_by_content ON artifact_versions (snapshot_sha256) WHERE available = 1;
CREATE TRIGGER trg_workspace_content_is_needed BEFORE DELETE ON workspace_contents
WHEN EXISTS (SELECT 1 FROM artifact_versions WHERE snapshot_sha256 = OLD.sha256 AND available = 1)
BEGIN SELECT RAISE(ABORT, 'an artifact version needs this content'); END;
CREATE TRIGGER trg_artifact_version_has_its_bytes BEFORE INSERT ON artifact_versions
WHEN NEW.available = 1 AND NOT EXISTS (
  SELECT 1 FROM workspace_contents WHERE sha256 = NEW.snapshot_sha256 AND size = NEW.size_bytes)
BEGIN SELECT RAISE(ABORT, 'the bytes of this version are not kept'); END;
`;
