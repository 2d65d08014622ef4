import type { ContextSchema } from '../store/index.ts';

/** Where records of imported sessions were kept before the tables of sessions took them in. */
const RECORDS = `
CREATE TABLE session_records (
  root_frame_id TEXT NOT NULL REFERENCES sessions (root_frame_id),
  kind TEXT NOT NULL CHECK (kind IN ('cell', 'generation', 'environment_snapshot', 'artifact', 'artifact_version',
    'completion_delivery', 'lineage_edge', 'plan', 'review_step', 'annotation', 'memory', 'capability_state',
    'checkpoint_state', 'operation', 'recovery_entry')),
  position INTEGER NOT NULL CHECK (position >= 0),
  record_id TEXT NOT NULL CHECK (length(record_id) BETWEEN 1 AND 2048),
  body TEXT NOT NULL CHECK (json_valid(body)),
  bytes_name TEXT,
  PRIMARY KEY (root_frame_id, kind, position),
  UNIQUE (root_frame_id, kind, record_id),
  CHECK (bytes_name IS NULL OR kind = 'artifact_version')
) STRICT, WITHOUT ROWID;
`;

/**
 * A note of each imported session that was erased, from the commit that removed its rows until its files are gone. Its
 * name is a folder's: only of the form that an import makes.
 */
const ERASED = `
CREATE TABLE erased_imports (
  root_frame_id TEXT NOT NULL PRIMARY KEY CHECK (length(root_frame_id) = 32 AND root_frame_id NOT GLOB '*[^0-9a-f]*'),
  erased_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`;

export const packagesSchema: ContextSchema = {
  context: 'packages',
  migrations: [
    {
      number: 1,
      name: 'records that travel with a session',
      sqlite: RECORDS,
      needs: [{ context: 'sessions', number: 2 }],
    },
    { number: 2, name: 'records have one home', sqlite: 'DROP TABLE session_records;' },
    { number: 3, name: 'what is left of erased imports', sqlite: ERASED },
  ],
};
