import { once } from 'node:events';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { LIMITS } from '../../../src/core/index.ts';
import { filesOf, oracle, pack } from '../../archive/support/packages.ts';
import { zip } from '../../archive/support/zip-builder.ts';
import { sendBytes, staged } from '../../gateway/package-world.ts';
import { openWorld, type World } from '../../gateway/world.ts';
import { assert, check, contract } from '../../support/index.ts';

const PATH = '/api/v1/sessions/verify';

async function tampered(): Promise<Buffer> {
  const files = await filesOf('b-notebook');
  files.set('notebook.json', Buffer.concat([files.get('notebook.json') as Buffer, Buffer.from(' ')]));
  return pack(files);
}

const projects = async (world: World) => (await (await world.client(['agent'])).listProjects()).projects;

contract('PKG-166 PKG-172', 'POST /sessions/verify answers for a good package and admits nothing', async (t) => {
  const world = await openWorld(t);
  const token = await world.token(['agent']);
  const before = await projects(world);
  const { status, text } = await sendBytes(world, PATH, token, oracle('b-notebook'));
  assert.equal(status, 200);
  const report = JSON.parse(text) as { ok: boolean; files_verified: string[] };
  assert.equal(report.ok, true);
  assert.ok(report.files_verified.length > 0);
  assert.deepEqual(await projects(world), before);
  const client = await world.client(['approver']);
  assert.deepEqual((await client.listSessions()).sessions, []);
  assert.deepEqual(await client.verifyPackage(Uint8Array.from(oracle('b-notebook'))), report);
});

contract('PKG-167 PKG-168 PKG-169', 'the report over HTTP: seven keys, no path, and what it cannot say', async (t) => {
  const world = await openWorld(t);
  const token = await world.token(['agent']);
  const { text } = await sendBytes(world, PATH, token, await tampered());
  assert.deepEqual(Object.keys(JSON.parse(text) as object).toSorted(), [
    'archive_sha256',
    'files_verified',
    'format',
    'ok',
    'problems',
    'schema_version',
    'verifies',
  ]);
  assert.match(text, /does not establish/);
  for (const secret of [world.dataDir, tmpdir(), '.openai4s-session.zip', 'package-staging'])
    assert.ok(!text.includes(secret), secret);
});

contract('PKG-170 PKG-171', 'no manifest is a 400 without a path, and the temporary folder is empty', async (t) => {
  const world = await openWorld(t);
  const token = await world.token(['agent']);
  const { status, text } = await sendBytes(world, PATH, token, zip([{ name: 'session.json' }]));
  assert.equal(status, 400);
  const { error } = JSON.parse(text) as { error: { message: string } };
  assert.match(error.message, /manifest\.json/);
  for (const secret of [world.dataDir, tmpdir(), '.openai4s-session.zip', 'package-staging'])
    assert.ok(!text.includes(secret), secret);
  assert.deepEqual(staged(world), []);
  assert.equal((await sendBytes(world, PATH, token, oracle('a-minimal'))).status, 200);
  assert.deepEqual(staged(world), []);
});

contract('PKG-173', 'a byte more in notebook.json is a report with 200, ok false and a problem', async (t) => {
  const world = await openWorld(t);
  const { status, text } = await sendBytes(world, PATH, await world.token(['agent']), await tampered());
  const { ok, problems } = JSON.parse(text) as { ok: boolean; problems: string[] };
  assert.deepEqual([status, ok], [200, false]);
  assert.ok(problems.some((problem) => problem.includes('notebook.json')));
});

check('what is not a package, or not sent as one, is refused with its own code', async (t) => {
  const world = await openWorld(t);
  const token = await world.token(['agent']);
  const bytes = oracle('a-minimal');
  const says = async (body: Buffer, headers: Readonly<Record<string, string>> = {}) => {
    const { status, code } = await sendBytes(world, PATH, token, body, headers);
    return [status, code];
  };
  assert.deepEqual(await says(bytes, { 'content-type': 'application/json' }), [415, 'CONTENT_TYPE_UNSUPPORTED']);
  assert.deepEqual(await says(bytes, { 'content-type': 'multipart/form-data' }), [415, 'CONTENT_TYPE_UNSUPPORTED']);
  assert.deepEqual(await says(bytes, { 'content-type': 'Application/ZIP; x=1' }), [200, undefined]);
  assert.deepEqual(await says(Buffer.from('hello, this is only a text and no archive')), [400, 'ARCHIVE_NOT_ZIP']);
  assert.equal((await says(Buffer.alloc(0)))[0], 400);
  assert.deepEqual(staged(world), []);
});

/** Sends a request by hand; gives what is answered before the connection ends. */
async function byHand(world: World, token: string, headers: readonly string[], body: string): Promise<string> {
  const socket = connect(Number(new URL(world.url).port), '127.0.0.1');
  const head = [`POST ${PATH} HTTP/1.1`, 'host: x', `authorization: Bearer ${token}`, ...headers];
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  let answer = '';
  for await (const part of socket.setEncoding('utf8')) {
    answer += String(part);
    if (answer.includes('"error"')) break;
  }
  return answer;
}

check('a package that is too large is refused at its announced length, else at the first byte too much', async (t) => {
  const world = await openWorld(t);
  const token = await world.token(['agent']);
  const announced = await byHand(world, token, [`content-length: ${LIMITS.archiveBytes + 1}`], 'PK');
  assert.match(announced, /^HTTP\/1\.1 413 [\s\S]*"ARCHIVE_TOO_LARGE"/);
  const chunk = new Uint8Array(1024 * 1024);
  let sent = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      sent += chunk.length;
      controller.enqueue(chunk);
    },
  });
  const refused = await sendBytes(world, PATH, token, endless).catch((error: unknown) => error as Error);
  if (!(refused instanceof Error)) assert.deepEqual([refused.status, refused.code], [413, 'ARCHIVE_TOO_LARGE']);
  assert.ok(sent < 2 * LIMITS.archiveBytes, 'nobody reads on');
  assert.deepEqual(staged(world), []);
});

check('a body that is cut leaves no file, and only so many come in at once for a tenant', async (t) => {
  const world = await openWorld(t);
  const token = await world.token(['agent']);
  const slow = Array.from({ length: LIMITS.packageTransfers }, () => {
    const socket = connect(Number(new URL(world.url).port), '127.0.0.1');
    socket.write(
      `POST ${PATH} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-length: 1000\r\n\r\nPK`,
    );
    return socket;
  });
  const until = async (isSo: () => boolean) => {
    while (!isSo()) await new Promise((settle) => setTimeout(settle, 10));
  };
  // Beside each package stands its lock.
  const packages = () => staged(world).filter((name) => !name.includes('.lock'));
  await until(() => packages().length === LIMITS.packageTransfers);
  const more = await sendBytes(world, PATH, token, oracle('a-minimal'));
  assert.deepEqual([more.status, more.code], [429, 'TOO_MANY_REQUESTS']);
  assert.ok(Number(more.headers.get('retry-after')) >= 1);
  const elsewhere = await world.token(['agent'], { tenant: 'other' });
  assert.equal((await sendBytes(world, PATH, elsewhere, oracle('a-minimal'))).status, 200);
  for (const socket of slow) {
    socket.destroy();
    await once(socket, 'close');
  }
  await until(() => staged(world).length === 0);
  assert.equal((await sendBytes(world, PATH, token, oracle('a-minimal'))).status, 200);
});
