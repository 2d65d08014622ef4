import { join } from 'node:path';
import { ORACLE_FOLDER } from '../archive/support/packages.ts';
import { Holdfast } from '../../src/index.ts';
import { assert, check, holdfast, temporaryFolder } from '../support/index.ts';

check('a package is imported locked, exported again, and trusted by a confirmed act alone', async (t) => {
  const folder = await temporaryFolder(t);
  const dataDir = join(folder, 'data');
  await (await Holdfast.open({ dataDir })).close();
  const command = async (...args: string[]) => {
    const { exit, stdout } = await holdfast([...args, '--json', '--data-dir', dataDir], { cwd: folder });
    return { exit, document: JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Record<string, unknown> };
  };
  const imported = await command('import', join(ORACLE_FOLDER, 'b-notebook.zip'));
  assert.deepEqual([imported.exit, imported.document['trust_state']], [0, 'quarantined']);
  const session = String(imported.document['root_frame_id']);
  const file = join(folder, 'again.zip');
  const exported = await command('export', session, '--to', file);
  assert.equal(exported.exit, 0);
  const verified = await command('verify', file);
  assert.deepEqual([verified.exit, verified.document['archive_sha256']], [0, exported.document['sha256']]);
  assert.equal((await command('sessions', 'trust', session)).exit, 1);
  const trusted = await command('sessions', 'trust', session, '--yes');
  assert.deepEqual([trusted.exit, trusted.document['trust_state']], [0, 'trusted']);
  assert.equal((await command('export', session, '--to', join(folder, 'trusted.zip'))).exit, 0);
});
