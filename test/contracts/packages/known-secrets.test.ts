import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HoldfastClient } from '../../../src/client/index.ts';
import { Holdfast } from '../../../src/index.ts';
import { beginTurn, bindWorkspace, openSession } from '../../../src/sessions/index.ts';
import { readAll } from '../../archive/support/read-all.ts';
import {
  assert,
  check,
  contract,
  type Ending,
  holdfast,
  installedCommand,
  temporaryFolder,
} from '../../support/index.ts';

/** Looks like nothing; only the name of its variable says what it is. */
const VALUE = 'winter is a quiet month';
const ENV = { BILLING_PASSWORD: VALUE, BILLING_REGION: 'north of the river' };

async function sessionThatKnows(t: Ending) {
  const folder = await temporaryFolder(t);
  const dataDir = join(folder, 'data');
  const workspace = join(folder, 'work');
  mkdirSync(workspace);
  writeFileSync(join(workspace, 'kept.txt'), ENV.BILLING_REGION);
  writeFileSync(join(workspace, 'left.bin'), Buffer.concat([Buffer.from([0, 0xff]), Buffer.from(`x${VALUE}y`)]));
  const open = await Holdfast.open({ dataDir });
  const { store, calls, principal, projectId } = open.runtime;
  const root = await store.write('test', async (tx) => {
    const id = await openSession(tx, calls.sessions, principal, { projectId });
    await bindWorkspace(tx, calls.sessions, principal, id, workspace);
    const said = `It said "${VALUE}" in ${ENV.BILLING_REGION}.`;
    await beginTurn(tx, calls.sessions, principal, { rootFrameId: id, branchId: id, content: said, turnId: 't' });
    return id;
  });
  await open.close();
  return { folder, dataDir, root };
}

/** Nothing of the package has the value; everything else that was said is there. */
async function requireKept(bytes: Buffer): Promise<void> {
  const files = await readAll(bytes);
  for (const [name, content] of files) assert.ok(!content.includes(VALUE), name);
  assert.ok(files.get('session.json')?.includes(`It said \\"[REDACTED]\\" in ${ENV.BILLING_REGION}.`));
  assert.ok([...files.values()].some((content) => content.equals(Buffer.from(ENV.BILLING_REGION))));
}

contract('PKG-27', 'by the command: what a variable of a secret name holds is in no byte of the package', async (t) => {
  const { folder, dataDir, root } = await sessionThatKnows(t);
  const file = join(folder, 'out.zip');
  const { exit, stderr } = await holdfast(['export', root, '--to', file, '--data-dir', dataDir], {
    cwd: folder,
    env: ENV,
  });
  assert.equal(exit, 0, stderr);
  await requireKept(readFileSync(file));
});

check(
  'by the library: the process’s own variables where nothing else is said, else those that are given',
  async (t) => {
    const { dataDir, root } = await sessionThatKnows(t);
    const exported = async (options: { secretsIn?: Record<string, string> }) => {
      const open = await Holdfast.open({ dataDir, ...options });
      using made = await open.runtime.packages.export(open.runtime.principal, root);
      const bytes = made.data();
      await open.close();
      return bytes;
    };
    await requireKept(await exported({ secretsIn: ENV }));
    Object.assign(process.env, ENV);
    t.after(() => {
      for (const name of Object.keys(ENV)) delete process.env[name];
    });
    await requireKept(await exported({}));
    assert.ok(
      (await readAll(await exported({ secretsIn: {} }))).get('session.json')?.includes(VALUE),
      'nobody said so',
    );
  },
);

check('by the gateway: what `holdfast serve` was started with stays', async (t) => {
  const { folder, dataDir, root } = await sessionThatKnows(t);
  const command = [installedCommand(), 'serve', '--port', '0', '--json', '--data-dir', dataDir];
  const child = spawn(process.execPath, command, { cwd: folder, env: { ...process.env, ...ENV }, stdio: 'pipe' });
  t.after(() => child.kill('SIGKILL'));
  const [said] = (await once(child.stdout, 'data')) as [Buffer];
  const { url, token } = JSON.parse(said.toString()) as { url: string; token: string };
  const { body } = await new HoldfastClient({ url, token }).exportSession(root);
  await requireKept(Buffer.from(await new Response(body).arrayBuffer()));
});
