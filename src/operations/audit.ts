import type { ReadTx, Row } from '../store/index.ts';
import { operationFinding, toolThenOf } from './audit-operation.ts';
import { AUDIT_PAGE_ROWS } from './bounds.ts';
import type { OperationsContext } from './context.ts';
import { effectIdentity, statusRefOf } from './digests.ts';
import type { Awaitable } from './model.ts';
import { COUNTS, ORPHAN_DOWNSTREAM, ORPHAN_LOCAL, ORPHAN_OUTBOX } from './queries.ts';
import { BEYOND_NUMBERS, exact, numbersOf, scopeOf, wholeOf } from './rows.ts';
import { statusRefFindings } from './status-refs.ts';

export interface OperationCounts {
  readonly call_bindings: number;
  readonly operations: number;
  readonly outbox: number;
  readonly downstream_receipts: number;
  readonly local_receipts: number;
  /** In an audit: operations that were proved from their own records, since their tool is not known as it was. */
  readonly without_their_tool?: number;
}

/** The audit of a database: a document with the contracts' field names. */
export interface OperationsAudit {
  readonly schema_version: string;
  readonly sqlite_version: string;
  readonly journal_mode: string;
  /** 2 is FULL. */
  readonly synchronous: number;
  readonly integrity_check: readonly string[];
  readonly foreign_key_violations: readonly (readonly (string | number | null)[])[];
  readonly semantic_errors: readonly string[];
  readonly counts: OperationCounts;
  readonly passed: boolean;
}

const number = (row: Row | undefined, column: string) => Number(row?.[column] ?? 0);

const LOWEST_ROW_NUMBER = -(2n ** 63n);

export async function countRows(tx: ReadTx): Promise<OperationCounts> {
  const row = await tx.get(COUNTS);
  return {
    call_bindings: number(row, 'call_bindings'),
    operations: number(row, 'operations'),
    outbox: number(row, 'outbox'),
    downstream_receipts: number(row, 'downstream_receipts'),
    local_receipts: number(row, 'local_receipts'),
  };
}

async function oneValue(tx: ReadTx, sql: string): Promise<string | number> {
  const row = await tx.get(sql);
  const value = row === undefined ? '' : Object.values(row)[0];
  return typeof value === 'number' ? value : String(value ?? '');
}

async function foreignKeyViolations(tx: ReadTx) {
  const rows = await tx.all(exact('PRAGMA foreign_key_check'));
  const violations = rows.map((row) =>
    ['table', 'rowid', 'parent', 'fkid'].map((column) => {
      const value = row[column] ?? null;
      return typeof value === 'bigint' ? Number(value) : (value as string | null);
    }),
  );
  return violations.sort((a, b) => String(a[0]).localeCompare(String(b[0]), 'en') || Number(a[1]) - Number(b[1]));
}

/** Pages through all operations in one snapshot; a check that has to wait is started here and awaited afterwards. */
async function auditOperations(tx: ReadTx, context: OperationsContext) {
  const findings: Awaitable<string | null>[] = [];
  let withoutTool = 0;
  const page = exact(context.queries.auditPage);
  let after = LOWEST_ROW_NUMBER;
  for (;;) {
    const rows = await tx.all(page, [after, AUDIT_PAGE_ROWS]);
    for (const row of rows) {
      const { plain, isExact } = numbersOf(row);
      const whole = isExact ? wholeOf(plain) : null;
      const tool = whole ? toolThenOf(context, whole) : undefined;
      if (whole && !tool && context.toolsComeAndGo) withoutTool += 1;
      const finding = whole
        ? operationFinding(context, whole, tool)
        : `operation ${String(row['status_ref'])}: ${BEYOND_NUMBERS}`;
      if (finding !== null) findings.push(finding);
      after = row['operation_pk'] as bigint;
    }
    if (rows.length < AUDIT_PAGE_ROWS) return { findings, withoutTool };
  }
}

async function orphanFindings(tx: ReadTx): Promise<string[]> {
  const findings: string[] = [];
  for (const row of await tx.all(exact(ORPHAN_OUTBOX)))
    findings.push(`outbox row ${String(row['operation_pk'])} belongs to no operation`);
  for (const row of await tx.all(exact(ORPHAN_LOCAL)))
    findings.push(`local receipt ${String(row['operation_pk'])} belongs to no operation`);
  for (const row of await tx.all(ORPHAN_DOWNSTREAM)) {
    const statusRef = statusRefOf(effectIdentity(scopeOf(row), String(row['request_sha256'])));
    findings.push(`AUDIT_ORPHAN_DOWNSTREAM_RECEIPT[${statusRef}]`);
  }
  return findings;
}

async function readAudit(tx: ReadTx, context: OperationsContext) {
  const version = await tx.get("SELECT metadata_value FROM runtime_metadata WHERE metadata_key = 'schema_version'");
  return {
    schema_version: String(version?.['metadata_value'] ?? ''),
    sqlite_version: String(await oneValue(tx, 'SELECT sqlite_version()')),
    journal_mode: String(await oneValue(tx, 'PRAGMA journal_mode')),
    synchronous: Number(await oneValue(tx, 'PRAGMA synchronous')),
    integrity_check: (await tx.all('PRAGMA integrity_check')).map((row) => String(Object.values(row)[0])),
    foreign_key_violations: await foreignKeyViolations(tx),
    operations: await auditOperations(tx, context),
    orphans: await orphanFindings(tx),
    refs: context.withVerdicts ? await statusRefFindings(tx) : [],
    counts: await countRows(tx),
  };
}

/**
 * Checks everything that is stored against itself, in one snapshot, and changes nothing. Bad content is reported, never
 * thrown. At most one finding an operation; texts name no tenant, subject, tool or key of an orphan receipt.
 */
export async function auditDatabase(context: OperationsContext): Promise<OperationsAudit> {
  const found = await context.store.read('operations.audit', (tx) => readAudit(tx, context));
  const { operations, orphans, refs, counts, ...facts } = found;
  const { withoutTool } = operations;
  const checked = (await Promise.all(operations.findings.map(async (finding) => finding))).filter(
    (finding) => finding !== null,
  );
  const semanticErrors = [...checked, ...orphans, ...refs];
  const sound = facts.integrity_check.length === 1 && facts.integrity_check[0] === 'ok';
  const durable = facts.journal_mode === 'wal' && facts.synchronous === 2;
  return {
    ...facts,
    semantic_errors: semanticErrors,
    counts: withoutTool === 0 ? counts : { ...counts, without_their_tool: withoutTool },
    passed: sound && durable && facts.foreign_key_violations.length === 0 && semanticErrors.length === 0,
  };
}
