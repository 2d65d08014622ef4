import type { ContextSchema } from '../store/index.ts';

/** Tokens: only the digest of a secret is stored. Whose a token is and what it allows never changes. */
export const tokensSchema: ContextSchema = {
  context: 'tokens',
  migrations: [
    {
      number: 1,
      name: 'tokens',
      needs: [{ context: 'roots', number: 1 }],
      sqlite: `
        CREATE TABLE tokens (
          token_id TEXT PRIMARY KEY CHECK (length(token_id) = 32 AND token_id NOT GLOB '*[^0-9a-f]*'),
          tenant_id TEXT NOT NULL REFERENCES tenants (tenant_id),
          subject_id TEXT NOT NULL CHECK (length(subject_id) > 0),
          roles TEXT NOT NULL CHECK (json_array_length(roles) BETWEEN 1 AND 3),
          name TEXT NOT NULL CHECK (length(name) > 0),
          secret_sha256 TEXT NOT NULL CHECK (length(secret_sha256) = 64 AND secret_sha256 NOT GLOB '*[^0-9a-f]*'),
          created_at_ms INTEGER NOT NULL,
          expires_at_ms INTEGER CHECK (expires_at_ms > created_at_ms),
          rotated_at_ms INTEGER,
          revoked_at_ms INTEGER
        ) STRICT;
        CREATE UNIQUE INDEX tokens_of_tenant ON tokens (tenant_id, token_id);
        CREATE TRIGGER token_keeps_its_principal BEFORE UPDATE ON tokens
        WHEN new.token_id IS NOT old.token_id OR new.tenant_id IS NOT old.tenant_id
          OR new.subject_id IS NOT old.subject_id OR new.roles IS NOT old.roles
          OR new.expires_at_ms IS NOT old.expires_at_ms OR old.revoked_at_ms IS NOT NULL
        BEGIN SELECT RAISE(ABORT, 'a token keeps its principal, and a revoked one never changes'); END;
        CREATE TRIGGER tokens_never_go BEFORE DELETE ON tokens
        BEGIN SELECT RAISE(ABORT, 'tokens are revoked, never deleted'); END;
      `,
    },
  ],
};

/** What was answered to requests that create, by their keys, for as long as they may be repeated. */
export const repliesSchema: ContextSchema = {
  context: 'replies',
  migrations: [
    {
      number: 1,
      name: 'kept replies',
      needs: [{ context: 'roots', number: 1 }],
      sqlite: `
        CREATE TABLE kept_replies (
          tenant_id TEXT NOT NULL REFERENCES tenants (tenant_id),
          subject_id TEXT NOT NULL,
          request_key TEXT NOT NULL CHECK (length(request_key) > 0),
          request_sha256 TEXT NOT NULL CHECK (length(request_sha256) = 64),
          status INTEGER NOT NULL CHECK (status BETWEEN 200 AND 299),
          reply TEXT NOT NULL,
          reply_sha256 TEXT NOT NULL CHECK (length(reply_sha256) = 64),
          created_at_ms INTEGER NOT NULL,
          PRIMARY KEY (tenant_id, subject_id, request_key)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX kept_replies_by_age ON kept_replies (created_at_ms);
        CREATE TRIGGER kept_reply_never_changes BEFORE UPDATE ON kept_replies
        BEGIN SELECT RAISE(ABORT, 'a kept reply never changes'); END;
      `,
    },
  ],
};
