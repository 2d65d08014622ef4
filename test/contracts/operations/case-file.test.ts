import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { JsonObject, JsonValue } from '../../../src/core/index.ts';
import { MAX_PORTABLE_UNIX_SECONDS, Principal, ToolCall } from '../../../src/operations/index.ts';
import {
  CASE_SCHEMA_VERSION,
  CaseFileError,
  caseFindings,
  loadCase,
  MAX_CASE_BYTES,
  principalAndCall,
} from '../../fixtures/refund-desk/case-file.ts';
import { assert, contract, temporaryFolder } from '../../support/index.ts';

const SHIPPED = join(import.meta.dirname, '../../fixtures/refund-desk/persistence-case.json');

async function shipped(): Promise<JsonObject> {
  return JSON.parse(JSON.stringify(await loadCase(SHIPPED))) as JsonObject;
}

async function loadBytes(t: TestContext, bytes: string | Uint8Array) {
  const path = join(await temporaryFolder(t), 'case.json');
  await writeFile(path, bytes);
  return loadCase(path);
}

/** The shipped case with one member replaced; `path` leads to it. */
async function changed(path: readonly string[], value: JsonValue): Promise<readonly string[]> {
  const file = await shipped();
  let place = file;
  for (const step of path.slice(0, -1)) place = place[step] as JsonObject;
  place[path.at(-1) ?? ''] = value;
  return caseFindings(file);
}

function assertNames(findings: readonly string[], fragment: string): void {
  assert.ok(
    findings.some((finding) => finding.includes(fragment)),
    `${JSON.stringify(findings)} do not name ${fragment}`,
  );
}

contract('OPS-01 OPS-02', 'the shipped case loads, is valid, and has its schema version', async () => {
  const file = await loadCase(SHIPPED);
  assert.deepEqual(caseFindings(file as unknown as JsonValue), []);
  assert.equal(CASE_SCHEMA_VERSION, 'persistent-tool-case-v1');
  assert.equal(file.schema_version, CASE_SCHEMA_VERSION);
});

contract('OPS-03 OPS-04', 'a case becomes a Principal and a ToolCall, not plain records', async () => {
  const { principal, call } = principalAndCall(await loadCase(SHIPPED));
  assert.ok(principal instanceof Principal);
  assert.ok(call instanceof ToolCall);
  assert.equal(call.name, 'create_refund_draft');
});

contract('OPS-05', 'a repeated object key is fatal', async (t) => {
  await assert.rejects(loadBytes(t, '{"schema_version":"a","schema_version":"b"}'), CaseFileError);
});

contract('OPS-06', 'words that are no numbers are not JSON', async (t) => {
  await assert.rejects(loadBytes(t, '{"value":NaN}'), CaseFileError);
});

contract('OPS-07', 'bytes must be valid UTF-8', async (t) => {
  await assert.rejects(loadBytes(t, Uint8Array.of(0xff)), CaseFileError);
});

contract('OPS-08', 'one byte more than the bound is refused', async (t) => {
  assert.equal(MAX_CASE_BYTES, 65_536);
  await assert.rejects(loadBytes(t, ' '.repeat(MAX_CASE_BYTES + 1)), CaseFileError);
});

contract('OPS-09 OPS-10', 'deep nesting is refused by a linear scan, without a stack overflow', async (t) => {
  const text = `${'['.repeat(4096)}0${']'.repeat(4096)}`;
  assert.equal(Buffer.byteLength(text), 8193);
  await assert.rejects(
    loadBytes(t, text),
    (error: unknown) => error instanceof CaseFileError && error.message.includes('nesting'),
  );
  // The scan stops at the 33rd bracket: a file a thousand times as deep is refused by the same words, not by a crash.
  const deeper = '['.repeat(65_000);
  await assert.rejects(
    loadBytes(t, deeper),
    (error: unknown) => error instanceof CaseFileError && error.message.includes('nesting'),
  );
});

contract('OPS-11', 'a member too many at the root is named', async () => {
  assertNames(await changed(['extra'], true), 'root fields');
});

contract('OPS-12', 'roles must be sorted and without repeats', async () => {
  assertNames(await changed(['principal', 'roles'], ['z', 'a', 'a']), 'roles');
});

contract('OPS-13 OPS-14', 'now is an integer that leaves room for a lease', async () => {
  assertNames(await changed(['now'], true), 'now');
  assertNames(await changed(['now'], MAX_PORTABLE_UNIX_SECONDS), 'now');
});

contract('OPS-15', 'an invented adapter is no provider profile', async () => {
  assertNames(await changed(['execution_context', 'adapter_revision'], 'invented'), 'provider profile');
});

contract('OPS-16', 'a case needs its key', async () => {
  assertNames(await changed(['execution_context', 'idempotency_key'], null), 'idempotency_key');
});

contract('OPS-17', 'only the refund tool is accepted', async () => {
  assertNames(await changed(['proposal', 'name'], 'get_order'), 'create_refund_draft');
});
