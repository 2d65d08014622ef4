export { type RestoreOptions, restoreSqliteBackup } from './backup.ts';
export type { ConnectionSettings } from './connection.ts';
export { type FileInspection, inspectSqliteFile } from './inspect.ts';
export type { IntegrityReport } from './integrity.ts';
export { openSqliteStore, type SqliteStore, type SqliteStoreOptions } from './store.ts';
export type { ContextSchema, ReadTx, Store, Tx } from '../index.ts';
