import { chmodSync, copyFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { generateKeyPairSync } from 'node:crypto';
import { join } from 'node:path';
import {
  judgeSignature,
  newSigningKey,
  readPrivateKey,
  readSignature,
  readTrustedKeys,
  signPackage,
} from '../../src/archive/index.ts';
import { assert, check, holdfast, temporaryFolder } from '../support/index.ts';
import { ORACLE_FOLDER } from './support/packages.ts';

const DIGEST = 'ab'.repeat(32);
const alice = newSigningKey();
const mallory = newSigningKey();
const trusted = readTrustedKeys(`# people I know\n\n${alice.publicText}  Alice Example\r\n`);
const signed = readSignature(signPackage(DIGEST, alice.privatePem));

check('a signature is trusted, by an unknown key, for another package, or bad', () => {
  const verdict = judgeSignature(signed, DIGEST, trusted);
  assert.equal(verdict.state, 'trusted');
  assert.equal(verdict.signer, 'Alice Example');
  assert.equal(verdict.key, alice.publicText);
  assert.equal(judgeSignature(signed, 'cd'.repeat(32), trusted).state, 'other_package');
  const stranger = judgeSignature(readSignature(signPackage(DIGEST, mallory.privatePem)), DIGEST, trusted);
  assert.equal(stranger.state, 'unknown_key');
  assert.equal(stranger.signer, null);
});

check('no changed signature, key or digest of a signature file is trusted', () => {
  const bytes = Buffer.from(signed.signature, 'base64');
  for (let i = 0; i < bytes.length; i += 1) {
    const flipped = Buffer.from(bytes);
    flipped[i] = (flipped[i] as number) ^ 1;
    const verdict = judgeSignature({ ...signed, signature: flipped.toString('base64') }, DIGEST, trusted);
    assert.equal(verdict.state, 'bad');
    assert.equal(verdict.signer, null);
  }
  assert.equal(judgeSignature({ ...signed, key: mallory.publicText }, DIGEST, trusted).state, 'bad');
  assert.equal(judgeSignature({ ...signed, manifestSha256: 'cd'.repeat(32) }, 'cd'.repeat(32), trusted).state, 'bad');
});

check('a signature file that is not exactly one is refused', () => {
  const document = JSON.parse(signPackage(DIGEST, alice.privatePem)) as Record<string, unknown>;
  const changes = [
    { algorithm: 'none' },
    { format: 'other' },
    { version: 2 },
    { key: 7 },
    { manifest_sha256: 'x' },
    { signature: 'AAAA' },
    { note: 'more' },
  ];
  for (const change of changes)
    assert.throws(() => readSignature(JSON.stringify({ ...document, ...change })), { code: 'SIGNATURE_INVALID' });
  for (const text of ['', '[]', '{"a":1,"a":2}', 'x'.repeat(5000)])
    assert.throws(() => readSignature(text), { code: 'SIGNATURE_INVALID' });
});

check('a list of trusted keys names each key once, on a line with a name', () => {
  const bad = [
    alice.publicText,
    `${alice.publicText} A\n${alice.publicText} B`,
    'ed25519:short Alice',
    `${alice.publicText}= Alice`,
    `${alice.publicText} Al\u202eice`,
    'x'.repeat(300_000),
  ];
  for (const text of bad) assert.throws(() => readTrustedKeys(text), { code: 'TRUSTED_KEYS_INVALID' });
  assert.equal(readTrustedKeys('').size, 0);
});

check('only an Ed25519 private key signs', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey.export({ format: 'pem', type: 'pkcs8' });
  for (const pem of ['', 'hello', rsa.toString()])
    assert.throws(() => readPrivateKey(pem), { code: 'SIGNING_KEY_INVALID' });
});

check('keys new, sign and verify --trusted, as a person does it', async (t) => {
  const folder = await temporaryFolder(t);
  const path = (name: string) => join(folder, name);
  copyFileSync(join(ORACLE_FOLDER, 'a-minimal.zip'), path('p.zip'));
  const made = await holdfast(['keys', 'new', '--out', path('key'), '--json']);
  const { public_key: key } = JSON.parse(made.stdout) as { public_key: string };
  assert.equal(statSync(path('key')).mode & 0o777, 0o600);
  assert.equal((await holdfast(['keys', 'new', '--out', path('key')])).exit, 2, 'a key is never overwritten');
  assert.equal((await holdfast(['sign', path('p.zip'), '--key', path('key')])).exit, 0);
  writeFileSync(path('trusted'), `${key} Bob Example\n`);
  const good = await holdfast(['verify', path('p.zip'), '--trusted', path('trusted')]);
  assert.equal(good.exit, 0, good.stderr);
  assert.match(good.stdout, /Signature: trusted, Bob Example/);
  const json = await holdfast(['verify', path('p.zip'), '--signature', path('p.zip.sig'), '--json']);
  assert.equal(json.exit, 1);
  assert.equal((JSON.parse(json.stdout) as { signature: { state: string } }).signature.state, 'unknown_key');
  copyFileSync(join(ORACLE_FOLDER, 'a2-empty.zip'), path('p.zip'));
  const other = await holdfast(['verify', path('p.zip'), '--trusted', path('trusted')]);
  assert.equal(other.exit, 1);
  assert.match(other.stdout, /other_package/);
  chmodSync(path('key'), 0o644);
  const open = await holdfast(['sign', path('p.zip'), '--key', path('key'), '--out', path('again.sig')]);
  assert.match(open.stderr, /^SIGNING_KEY_INVALID/);
  assert.ok(!`${made.stdout}${open.stderr}`.includes(readFileSync(path('key'), 'utf8').split('\n')[1] as string));
});
