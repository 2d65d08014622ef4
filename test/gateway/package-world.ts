import { readdirSync } from 'node:fs';
import { join } from 'node:path';
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
