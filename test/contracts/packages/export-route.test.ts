import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { exportSession } from '../../../src/app/index.ts';
import {
  isJsonObject,
  JSON_PROFILES,
  type JsonObject,
  noLog,
  readStrictJson,
  sha256Hex,
} from '../../../src/core/index.ts';
import { bytesSource, openPackage } from '../../../src/archive/index.ts';
import { Connections } from '../../../src/gateway/connections.ts';
import { packageResponse } from '../../../src/gateway/package-reply.ts';
import { countingObserver } from '../../../src/store/index.ts';
import { exported, sessionWithWorkspace, staged } from '../../gateway/package-world.ts';
import { openWorld, type World } from '../../gateway/world.ts';
import { assert, check, contract } from '../../support/index.ts';

async function documentOf(bytes: Buffer, path: string): Promise<JsonObject> {
  const pkg = await openPackage(bytesSource(bytes));
  const value = readStrictJson(await pkg.bytes(path, 1e6), JSON_PROFILES.packages);
  return isJsonObject(value) ? value : {};
}

async function workspaceFile(bytes: Buffer, name: string): Promise<string | undefined> {
  const { workspace } = (await documentOf(bytes, 'snapshots.json')) as {
    workspace?: { tree_map: Record<string, string>; active_source_tree_id: string };
  };
  const treeId = workspace?.tree_map[workspace.active_source_tree_id];
  const { entries } = (await documentOf(bytes, `workspace/trees/${treeId}.json`)) as {
    entries?: { path: string; blob: string }[];
  };
  const blob = entries?.find((entry) => entry.path === name)?.blob;
  const pkg = await openPackage(bytesSource(bytes));
  return blob && (await pkg.bytes(`workspace/blobs/${blob}`, 1e6)).toString();
}

contract('PKG-157', 'GET /frames/ROOT/session/export gives the bytes, their type and their digest', async (t) => {
  const world = await openWorld(t);
  const token = await world.token(['agent']);
  const { root } = await sessionWithWorkspace(world, { 'result.txt': 'first\n' });
  const { status, headers, bytes } = await exported(world, root, token);
  assert.equal(status, 200);
  assert.equal(headers.get('content-type'), 'application/vnd.openai4s.session+zip');
  assert.equal(headers.get('x-content-sha256'), sha256Hex(bytes));
  assert.equal(headers.get('content-length'), String(bytes.length));
  assert.equal(headers.get('content-disposition'), `attachment; filename="${root}.openai4s-session.zip"`);
  assert.equal(headers.get('x-openai4s-session-schema'), '1');
  const { manifestSha256 } = await openPackage(bytesSource(bytes));
  assert.equal(headers.get('x-manifest-sha256'), manifestSha256);
  assert.deepEqual(staged(world), []);
  const client = await world.client(['approver']);
  const download = await client.exportSession(root);
  assert.deepEqual(Buffer.from(await new Response(download.body).arrayBuffer()), bytes);
  assert.deepEqual([download.sha256, download.sizeBytes], [sha256Hex(bytes), bytes.length]);
});

interface Queued {
  readonly owner: string;
  readonly reason: string;
  readonly state: string;
}

function tickets({ dataDir }: World): Queued[] {
  const db = new DatabaseSync(join(dataDir, 'holdfast.db'));
  try {
    return db.prepare('SELECT owner, reason, state FROM session_tickets ORDER BY number').all() as unknown as Queued[];
  } finally {
    db.close();
  }
}

contract('PKG-19 PKG-20', 'an export waits for its turn, and then head and workspace belong together', async (t) => {
  const counts = countingObserver();
  const world = await openWorld(t, { holdfast: { observer: counts.observe } });
  const token = await world.token(['agent']);
  const { root, folder, first } = await sessionWithWorkspace(world, { 'result.txt': 'before\n' });
  const { histories, principal } = world.holdfast.runtime;
  const entered = () => counts.statementsOf('packages.export').length > 0;
  let asking: ReturnType<typeof exported> | undefined;
  const second = await histories.pen.hold(principal, root, { owner: 'lifecycle', reason: 'revert' }, async () => {
    writeFileSync(join(folder, 'result.txt'), 'half-way\n');
    asking = exported(world, root, token);
    const waiting = () => tickets(world).find(({ state }) => state === 'queued');
    while (!waiting()) await new Promise((settle) => setTimeout(settle, 10));
    assert.equal(waiting()?.reason, 'session package export');
    assert.deepEqual([tickets(world)[0]?.owner, tickets(world)[0]?.state], ['lifecycle', 'held']);
    await new Promise((settle) => setTimeout(settle, 150));
    assert.equal(entered(), false);
    assert.deepEqual(staged(world), []);
    writeFileSync(join(folder, 'result.txt'), 'after revert\n');
    const expectedHead = first.checkpointId;
    return histories.history.checkpoint(principal, {
      rootFrameId: root,
      branchId: root,
      reason: 'second',
      expectedHead,
    });
  });
  assert.ok(asking);
  const { status, bytes } = await asking;
  assert.equal(status, 200);
  assert.equal(entered(), true);
  const { branches } = (await documentOf(bytes, 'snapshots.json')) as { branches?: JsonObject[] };
  assert.equal(branches?.find((one) => one['branch_id'] === root)?.['head_checkpoint_id'], second.checkpointId);
  assert.equal(await workspaceFile(bytes, 'result.txt'), 'after revert\n');
  assert.deepEqual(tickets(world), []);
});

check('an export that nobody fetches to its end, or only asks about, leaves no file', async (t) => {
  const world = await openWorld(t);
  const token = await world.token(['agent']);
  const noise = Array.from({ length: 40_000 }, (_, i) => sha256Hex(String(i))).join('\n');
  const { root } = await sessionWithWorkspace(world, { 'big.txt': noise });
  const path = `${world.url}/api/v1/frames/${root}/session/export`;
  const headers = { authorization: `Bearer ${token}` };
  const head = await fetch(path, { method: 'HEAD', headers });
  assert.equal(head.status, 200);
  assert.ok(Number(head.headers.get('content-length')) > 1_000_000);
  for (let i = 0; i < 6; i += 1) {
    const left = await fetch(path, { headers });
    assert.equal(left.status, 200);
    await left.body?.cancel();
    while (staged(world).length > 0) await new Promise((settle) => setTimeout(settle, 10));
  }
});

check('a package is over for whoever stops reading it, also where the request stays', async (t) => {
  const world = await openWorld(t);
  const { root } = await sessionWithWorkspace(world, { 'a.txt': 'a' });
  const { runtime } = world.holdfast;
  const request = new Request(world.url);
  const made = await exportSession(runtime, runtime.principal, root, request.signal);
  const pace = { idleMs: 60_000, totalMs: 60_000 };
  const gateway = { connections: new Connections(), pace, log: noLog };
  const answer = packageResponse(gateway, made, { request, requestId: 'r' }, () => made.close());
  assert.equal(staged(world).length > 0, true);
  await answer.body?.cancel();
  assert.deepEqual(staged(world), []);
});

check('who is not of the tenant, or names no session, gets 404; a session that must not leave is a 409', async (t) => {
  const world = await openWorld(t);
  const { root } = await sessionWithWorkspace(world, { 'A.txt': '1', 'a.txt': '2' });
  const other = await world.token(['agent', 'approver', 'admin'], { tenant: 'other' });
  for (const id of [root, 'f-nowhere']) {
    const { status, bytes } = await exported(world, id, other);
    assert.equal(status, 404);
    assert.match(bytes.toString(), /"SESSION_NOT_FOUND"/);
  }
  const refused = await exported(world, root, await world.token(['agent']));
  assert.equal(refused.status, 409);
  assert.match(refused.bytes.toString(), /"SESSION_NOT_EXPORTABLE"/);
  assert.deepEqual(staged(world), []);
});
