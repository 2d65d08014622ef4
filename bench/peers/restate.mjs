import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { serve, service } from '@restatedev/restate-sdk';
import { freePort } from './free-port.mjs';
import { takeJobs } from './peer.mjs';

const [handlers, ingress, admin, node] = [await freePort(), await freePort(), await freePort(), await freePort()];
const logger = () => {};
const note = service({
  name: 'note',
  handlers: { send: (ctx, { to }) => ctx.run('send', () => ({ note: randomUUID(), to })) },
});
await serve({ services: [note], port: handlers, defaultServiceOptions: {}, logger });

const server = createRequire(import.meta.url).resolve('@restatedev/restate-server/package.json');
const child = spawn(
  join(server, '..', '..', '..', '.bin', 'restate-server'),
  ['--no-logo', '--base-dir', join(process.argv[2], 'restate'), '--listen-mode', 'tcp', '--node-name', 'bench'],
  {
    stdio: 'ignore',
    env: {
      ...process.env,
      RESTATE_BIND_IP: '127.0.0.1',
      RESTATE_BIND_PORT: String(node),
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
      RESTATE_DISABLE_TELEMETRY: 'true',
    },
  },
);
process.on('disconnect', () => {
  child.kill('SIGTERM');
  process.exit(0);
});

const json = { 'content-type': 'application/json' };
async function healthy() {
  return (await fetch(`http://127.0.0.1:${admin}/health`).catch(() => undefined))?.ok === true;
}
for (let tries = 0; tries < 300 && !(await healthy()); tries += 1) await sleep(100);
const uri = `http://127.0.0.1:${handlers}`;
const known = await fetch(`http://127.0.0.1:${admin}/deployments`, {
  method: 'POST',
  headers: json,
  body: JSON.stringify({ uri }),
});
if (!known.ok) throw new Error(`the server does not know the service: ${known.status}`);

takeJobs(async () => {
  const reply = await fetch(`http://127.0.0.1:${ingress}/note/send`, {
    method: 'POST',
    headers: json,
    body: '{"to":"customer"}',
  });
  if (!reply.ok) throw new Error(`the server answers ${reply.status}`);
  await reply.text();
});
