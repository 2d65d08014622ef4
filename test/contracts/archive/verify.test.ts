import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bytesSource, fileSource, verifyPackage } from '../../../src/archive/index.ts';
import { filesOf, manifestFor, oracle, oracleNames, pack } from '../../archive/support/packages.ts';
import { zip } from '../../archive/support/zip-builder.ts';
import { assert, check, contract, temporaryFolder } from '../../support/index.ts';

const verify = (bytes: Buffer) => verifyPackage(bytesSource(bytes));

async function tampered(): Promise<Buffer> {
  const files = await filesOf('b-notebook');
  files.set('notebook.json', Buffer.concat([files.get('notebook.json') as Buffer, Buffer.from('\n')]));
  return pack(files);
}

contract('PKG-06', 'every real export verifies, and every one of its files', async () => {
  for (const name of oracleNames()) {
    const report = await verify(oracle(name));
    assert.deepEqual(report.problems, [], name);
    assert.equal(report.ok, true, name);
    assert.equal(report.files_verified.length, (await filesOf(name)).size - 1, name);
  }
});

contract('PKG-167 PKG-168', 'the report has exactly seven keys and says what it does not establish', async () => {
  for (const bytes of [oracle('a-minimal'), await tampered()]) {
    const report = await verify(bytes);
    const keys = ['archive_sha256', 'files_verified', 'format', 'ok', 'problems', 'schema_version', 'verifies'];
    assert.deepEqual(Object.keys(report).sort(), keys);
    assert.match(report.verifies, /does not establish/);
  }
});

contract('PKG-169 PKG-170', 'neither a report nor a refusal names the file or its folder', async (t) => {
  const folder = await temporaryFolder(t);
  const path = join(folder, 'upload.openai4s-session.zip');
  writeFileSync(path, await tampered());
  const report = JSON.stringify(await readFrom(path));
  writeFileSync(path, zip([{ name: 'session.json' }]));
  await assert.rejects(readFrom(path), (error: Error & { httpStatus?: number }) => {
    assert.equal(error.httpStatus, 400);
    assert.match(error.message, /manifest\.json/);
    for (const text of [report, error.message, JSON.stringify(error)]) {
      assert.ok(!text.includes(folder));
      assert.ok(!text.includes('.openai4s-session.zip'));
    }
    return true;
  });
});

async function readFrom(path: string) {
  const source = await fileSource(path);
  try {
    return await verifyPackage(source);
  } finally {
    await source.close();
  }
}

check('a package with one byte more in a document is a report that names it, not an error', async () => {
  const report = await verify(await tampered());
  assert.equal(report.ok, false);
  assert.deepEqual(report.problems, ['hash mismatch: notebook.json']);
  assert.ok(!report.files_verified.includes('notebook.json'));
});

check('each way in which manifest and files can disagree is a problem that names the file', async () => {
  const files = await filesOf('a-minimal');
  const changed = (change: (files: Map<string, Buffer>) => void) => {
    const copy = new Map(files);
    change(copy);
    return verify(pack(copy));
  };
  const sealed = (change: Parameters<typeof manifestFor>[1]) =>
    changed((copy) => copy.set('manifest.json', manifestFor(files, change)));
  type Rows = { path: string; size: number; sha256: string }[];
  const rows = (manifest: object): Rows => (manifest as { files: Rows }).files;
  const cases = [
    [changed((copy) => copy.delete('plans.json')), /^listed, but missing: plans\.json$/],
    [changed((copy) => copy.set('extra.json', Buffer.from('{}'))), /^unlisted file: extra\.json$/],
    [sealed((m) => void (rows(m)[0]!.size += 1)), /^size mismatch: artifacts\.json$/],
    [sealed((m) => void (rows(m)[0]!.sha256 = '0'.repeat(64))), /^hash mismatch: artifacts\.json$/],
    [sealed((m) => void (rows(m)[0]!.sha256 = 'A'.repeat(64))), /not a SHA-256: artifacts\.json$/],
    [sealed((m) => void (rows(m)[0]!.size = -1)), /not a size: artifacts\.json$/],
    [sealed((m) => void rows(m).push({ ...rows(m)[0]! })), /^listed twice: artifacts\.json$/],
    [sealed((m) => void rows(m).push({ path: '../x', size: 0, sha256: '0'.repeat(64) })), /unsafe package path/],
    [sealed((m) => void rows(m).push({ path: 'manifest.json', size: 0, sha256: '0'.repeat(64) })), /lists itself/],
    [sealed((m) => void rows(m).push(7 as unknown as Rows[0])), /row 13 is not an object/],
    [sealed((m) => void (m['files'] = 'x')), /list of files is missing/],
    [sealed((m) => void (m['format'] = 'another')), /format is not/],
    [sealed((m) => void (m['schema_version'] = true)), /schema version is not/],
    [sealed((m) => void (m['note'] = 'x')), /other readers do not seal/],
    [sealed((m) => void Object.assign(rows(m)[0]!, { note: 1 })), /unknown meaning: artifacts\.json$/],
  ] as const;
  for (const [report, problem] of cases) {
    const { ok, problems } = await report;
    assert.equal(ok, false);
    assert.ok(
      problems.some((text) => problem.test(text)),
      `${String(problem)} in ${problems.join(' | ')}`,
    );
  }
});

check('a manifest without its digest, or with another, is a problem', async () => {
  const files = await filesOf('a-minimal');
  const manifest = JSON.parse((files.get('manifest.json') as Buffer).toString()) as Record<string, unknown>;
  const { manifest_sha256: _, ...unsealed } = manifest;
  const texts = [JSON.stringify(unsealed), JSON.stringify({ ...manifest, manifest_sha256: '0'.repeat(64) })];
  for (const text of texts) {
    const report = await verify(pack(new Map([...files, ['manifest.json', Buffer.from(text)]])));
    assert.equal(report.ok, false);
    assert.match(report.problems.join(), /manifest digest/);
  }
});

check('a manifest that is not one strict JSON object is an error', async () => {
  const files = await filesOf('a-minimal');
  const manifest = files.get('manifest.json') as Buffer;
  const texts = [
    '[]',
    'null',
    '{',
    `\ufeff${manifest.toString()}`,
    manifest.toString().replace('{', '{"schema_version":2,'),
    Buffer.from(manifest.toString(), 'utf16le'),
    '['.repeat(20),
  ];
  for (const text of texts) {
    const bytes = pack(new Map([...files, ['manifest.json', Buffer.from(text as string)]]));
    await assert.rejects(verify(bytes), { code: 'PACKAGE_MANIFEST_INVALID', httpStatus: 400 });
  }
});

check('a damaged, encrypted or over-long member is a problem of the report; the rest is still verified', async () => {
  const files = await filesOf('a-minimal');
  const damaged = pack(files);
  const at = damaged.indexOf('notebook.json') + 'notebook.json'.length + 3;
  damaged[at] = (damaged[at] as number) ^ 0x10;
  const report = await verify(damaged);
  assert.equal(report.ok, false);
  assert.equal(report.problems.length, 1);
  assert.match(report.problems[0] ?? '', /corrupt package member: 'notebook\.json'/);
  assert.equal(report.files_verified.length, files.size - 2);
});

check('more problems than are for reading are counted', async () => {
  const files = await filesOf('a-minimal');
  for (let i = 0; i < 1200; i += 1) files.set(`extra-${i}`, Buffer.alloc(0));
  const { problems } = await verify(pack(files));
  assert.equal(problems.length, 1000);
  assert.equal(problems.at(-1), 'and 201 more');
});
