import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nameNewFile } from '../../src/core/index.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';

const failing = (code: string) => (): never => {
  throw Object.assign(new Error('refused'), { code });
};

check('a finished file gets its name with links and without, and never over another file', async (t) => {
  for (const link of [undefined, failing('EPERM'), failing('ENOTSUP')]) {
    const folder = await temporaryFolder(t);
    const [finished, path] = [join(folder, 'file.part'), join(folder, 'file')];
    writeFileSync(finished, 'whole');
    nameNewFile(finished, path, link);
    assert.deepEqual([readdirSync(folder), readFileSync(path, 'utf8')], [['file'], 'whole']);
    writeFileSync(finished, 'another');
    assert.throws(() => nameNewFile(finished, path, link), { code: 'EEXIST' });
    assert.equal(readFileSync(path, 'utf8'), 'whole');
    assert.equal(readFileSync(finished, 'utf8'), 'another');
  }
});

check('a disk that refuses the name is told, and nothing is made in its place', async (t) => {
  const folder = await temporaryFolder(t);
  writeFileSync(join(folder, 'file.part'), 'whole');
  assert.throws(() => nameNewFile(join(folder, 'file.part'), join(folder, 'file'), failing('EIO')), { code: 'EIO' });
  assert.throws(() => nameNewFile(join(folder, 'none'), join(folder, 'file'), failing('EPERM')), { code: 'ENOENT' });
  assert.deepEqual(readdirSync(folder), ['file.part']);
});
