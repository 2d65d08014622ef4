import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';

/** The program of a reference server, from the `bin` of its package. */
export function program(name: string): string {
  const manifest = new URL(import.meta.resolve(`@modelcontextprotocol/${name}/package.json`));
  const { bin } = JSON.parse(readFileSync(manifest, 'utf8')) as { bin: Record<string, string> };
  return new URL(Object.values(bin)[0] ?? '', manifest).pathname;
}

export async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((ready) => probe.listen(0, '127.0.0.1', ready));
  const { port } = probe.address() as AddressInfo;
  await new Promise((closed) => probe.close(closed));
  return port;
}

/** The reference server listens on every interface; here it gets this machine's own only. */
const LOOPBACK_ONLY = `data:text/javascript,${encodeURIComponent(`
  import net from 'node:net';
  const listen = net.Server.prototype.listen;
  net.Server.prototype.listen = function (port, ...rest) {
    return listen.call(this, Number(port), '127.0.0.1', ...rest);
  };
`)}`;

async function untilListening(child: ChildProcess): Promise<void> {
  let text = '';
  await new Promise<void>((ready, failed) => {
    child.once('exit', () => failed(new Error(`the server ended: ${text}`)));
    child.stderr?.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (/listening on port/.test(text)) ready();
    });
  });
}

/** The everything server over streamable HTTP. */
export async function everythingOverHttp(): Promise<{ readonly url: string; close(): Promise<void> }> {
  const port = await freePort();
  const args = ['--import', LOOPBACK_ONLY, program('server-everything'), 'streamableHttp'];
  const child = spawn(process.execPath, args, { env: { PORT: String(port) }, stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise((done) => child.once('exit', done));
  const close = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  try {
    await untilListening(child);
  } catch (error) {
    await close();
    throw error;
  }
  return { url: `http://127.0.0.1:${port}/mcp`, close };
}
