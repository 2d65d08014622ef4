const COLUMNS = `token_id, tenant_id, subject_id, roles, name, created_at_ms, expires_at_ms, rotated_at_ms, revoked_at_ms`;

/** token, tenant, subject, roles, name, digest, now, expiry. */
export const INSERT_TOKEN = `INSERT INTO tokens
  (token_id, tenant_id, subject_id, roles, name, secret_sha256, created_at_ms, expires_at_ms)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
export const SELECT_FOR_CHECK = `SELECT ${COLUMNS}, secret_sha256 FROM tokens WHERE token_id = ?`;
export const SELECT_TOKEN = `SELECT ${COLUMNS} FROM tokens WHERE token_id = ? AND tenant_id = ?`;
/** tenant, after, limit. Oldest first. */
export const LIST_TOKENS = `SELECT ${COLUMNS} FROM tokens WHERE tenant_id = ? AND token_id > ? ORDER BY token_id LIMIT ?`;
/** now, tenant, subject. */
export const SELECT_ROLES = `SELECT roles, revoked_at_ms IS NULL AND (expires_at_ms IS NULL OR expires_at_ms > ?) AS good
  FROM tokens WHERE tenant_id = ? AND subject_id = ?`;
/** tenant, now, limit. */
export const COUNT_LIVING = `SELECT COUNT(*) AS living FROM (SELECT 1 FROM tokens
  WHERE tenant_id = ? AND revoked_at_ms IS NULL AND (expires_at_ms IS NULL OR expires_at_ms > ?) LIMIT ?)`;
/** digest, now, token, tenant, now. */
export const ROTATE = `UPDATE tokens SET secret_sha256 = ?, rotated_at_ms = ?
  WHERE token_id = ? AND tenant_id = ? AND revoked_at_ms IS NULL AND (expires_at_ms IS NULL OR expires_at_ms > ?)`;
/** now, token, tenant. */
export const REVOKE = `UPDATE tokens SET revoked_at_ms = ? WHERE token_id = ? AND tenant_id = ? AND revoked_at_ms IS NULL`;

/** tenant, subject, key. */
export const SELECT_REPLY = `SELECT request_sha256, status, reply, reply_sha256 FROM kept_replies
  WHERE tenant_id = ? AND subject_id = ? AND request_key = ?`;
/** tenant, subject, key, request digest, status, reply, reply digest, now. */
export const INSERT_REPLY = `INSERT INTO kept_replies
  (tenant_id, subject_id, request_key, request_sha256, status, reply, reply_sha256, created_at_ms)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`;
/** before, limit. */
export const FORGET_REPLIES = `DELETE FROM kept_replies WHERE (tenant_id, subject_id, request_key) IN
  (SELECT tenant_id, subject_id, request_key FROM kept_replies WHERE created_at_ms < ? ORDER BY created_at_ms LIMIT ?)`;
