/** The last second that every part of the system can write: 9999-12-31T23:59:59Z. */
export const MAX_PORTABLE_UNIX_SECONDS = 253402300799;
export const DEFAULT_LEASE_SECONDS = 30;
export const DEFAULT_WORKER_ID = 'inline-worker';
/** Identifiers and keys, in code points: what a table column of the contracts takes. */
export const MAX_IDENTIFIER_CHARS = 255;
export const MAX_WORKER_ID_CHARS = 128;
/** More roles than this in one principal are a mistake, and they are read at every check. */
export const MAX_ROLES = 32;
/** Stored JSON longer than this is not read: it can only have been put there from outside. */
export const MAX_STORED_JSON_BYTES = 65_536;
export const MAX_JSON_DEPTH = 32;
/** Operations read at once while auditing: keeps an audit's memory flat. */
export const AUDIT_PAGE_ROWS = 500;
export const MAX_LIST_ROWS = 200;
/** A verdict's reason, in code points: long enough for a ticket's link and a sentence. */
export const MAX_REASON_CHARS = 2_000;
/** Answers beside the one that is kept: enough to see that a key is not honoured, whoever goes on delivering. */
export const MAX_OTHER_ANSWERS = 8;
/** How long the other side is asked: one that does not answer leaves the outcome as unknown as it was. */
export const MOST_ASKING_MS = 15_000;
export const SCHEMA_VERSION = 'persistent-tool-runtime-v3';
export const OUTBOX_SCHEMA_VERSION = 'tool-outbox-event-v1';
