export type { ContextSchema, Migration } from './migration.ts';
export type { ReadTx, Row, RunResult, Sql, SqlParams, SqlValue, Store, Tx } from './port.ts';
