import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { quarantineKey } from '../../src/packages/index.ts';
import { beginTurn, bindWorkspace, openSession } from '../../src/sessions/index.ts';
import type { World } from './world.ts';

/** What lies in the staging folder; nothing where there is none. */
export function staged({ dataDir }: World): string[] {
  try {
    return readdirSync(join(dataDir, 'package-staging'));
  } catch {
    return [];
  }
}

export interface BytesAnswer {
  readonly status: number;
  readonly code: string | undefined;
  readonly text: string;
  readonly headers: Headers;
}

/** Sends bytes as a program does that knows nothing of us but the route. */
export async function sendBytes(
  world: World,
  path: string,
  token: string,
  body: Buffer | ReadableStream<Uint8Array>,
  headers: Readonly<Record<string, string>> = {},
): Promise<BytesAnswer> {
  const response = await fetch(`${world.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, ...headers },
    body: body instanceof Buffer ? Uint8Array.from(body) : body,
    duplex: 'half',
  });
  const text = await response.text();
  const { error } = JSON.parse(text) as { error?: { code: string } };
  return { status: response.status, code: error?.code, text, headers: response.headers };
}

/** A session with a folder of its own to work in, and a first checkpoint. */
export async function sessionWithWorkspace(world: World, files: Readonly<Record<string, string>>) {
  const { store, principal, calls, histories, projectId } = world.holdfast.runtime;
  const folder = join(world.dataDir, '..', 'work');
  mkdirSync(folder, { recursive: true });
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  const root = await store.write('test.session', async (tx) => {
    const id = await openSession(tx, calls.sessions, principal, { projectId, name: 'Study' });
    await beginTurn(tx, calls.sessions, principal, { rootFrameId: id, branchId: id, content: 'Run it', turnId: 't-1' });
    await bindWorkspace(tx, calls.sessions, principal, id, folder);
    return id;
  });
  const first = await histories.history.checkpoint(principal, { rootFrameId: root, branchId: root, reason: 'first' });
  return { root, folder, first };
}

/** Fetches the package of a session. */
export async function exported(world: World, root: string, token: string) {
  const path = `/api/v1/frames/${root}/session/export`;
  const response = await fetch(`${world.url}${path}`, { headers: { authorization: `Bearer ${token}` } });
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
}

/** Puts a session under quarantine behind the program's back, as a database that was tampered with would. */
export function lockBehind({ dataDir }: World, root: string): void {
  const db = new DatabaseSync(join(dataDir, 'holdfast.db'));
  db.prepare('INSERT INTO session_settings (root_frame_id, key, value, updated_at) VALUES (?, ?, ?, 1)').run(
    root,
    quarantineKey(root),
    '',
  );
  db.close();
}
