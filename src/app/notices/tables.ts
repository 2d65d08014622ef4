import { checkOneOf, type ContextSchema } from '../../store/index.ts';

/** What is still to be told about waiting approvals: one row for each request and hook. */
export const noticesSchema: ContextSchema = {
  context: 'notices',
  migrations: [
    {
      number: 1,
      name: 'notices',
      sqlite: `
        CREATE TABLE notices (
          request_id TEXT NOT NULL,
          hook TEXT NOT NULL CHECK (hook IN ('webhook', 'command')),
          state TEXT NOT NULL ${checkOneOf('state', 'due', 'told', 'given_up')},
          attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
          due_at INTEGER NOT NULL,
          PRIMARY KEY (request_id, hook)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX notices_due ON notices (due_at) WHERE state = 'due';
      `,
    },
  ],
};

/** request, hook, now. */
export const ADD = `INSERT INTO notices (request_id, hook, state, due_at) VALUES (?, ?, 'due', ?)
  ON CONFLICT (request_id, hook) DO NOTHING`;

/**
 * now, hook, hook, tenant, limit. Only what these hooks tell, and nothing of another tenant: what a process cannot tell, it
 * leaves. That of a request that is gone is nobody's, and whoever comes upon it ends it.
 */
export const LIST_DUE = `SELECT request_id, hook, attempts FROM notices n WHERE state = 'due' AND due_at <= ?
  AND (hook = ? OR hook = ?) AND NOT EXISTS (
    SELECT 1 FROM permission_requests r WHERE r.decision_id = n.request_id AND r.tenant_id <> ?)
  ORDER BY due_at LIMIT ?`;

/** again at, request, hook, now. Whoever changes the row tells; who dies with it leaves it to be told again. */
export const CLAIM = `UPDATE notices SET attempts = attempts + 1, due_at = ?
  WHERE request_id = ? AND hook = ? AND state = 'due' AND due_at <= ?`;

/** attempts, due, request, hook. What was broken off by an end of its process is no failure, and is not counted as one. */
export const RELEASE = `UPDATE notices SET attempts = ?, due_at = ? WHERE request_id = ? AND hook = ? AND state = 'due'`;

/** state, due, request, hook. */
export const SETTLE = `UPDATE notices SET state = ?, due_at = ? WHERE request_id = ? AND hook = ? AND state = 'due'`;
