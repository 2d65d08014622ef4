import { appendFileSync, copyFileSync, truncateSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { type ByteSource, fileSource, openArchive, verifyPackage } from '../../src/archive/index.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';
import { ORACLE_FOLDER } from './support/packages.ts';

/** A file that something happens to as soon as a part of it was read. */
async function meddledWith(file: string, meddle: () => void): Promise<ByteSource> {
  const source = await fileSource(file);
  let done = false;
  return {
    ...source,
    async read(offset, length, into) {
      const bytes = await source.read(offset, length, into);
      if (!done) meddle();
      done = true;
      return bytes;
    },
  };
}

check('a file that is cut, grows or is touched while it is read is not believed', async (t) => {
  const file = join(await temporaryFolder(t), 'p.zip');
  const meddling = [
    () => truncateSync(file, 900),
    () => appendFileSync(file, 'x'),
    () => utimesSync(file, new Date(0), new Date(1)),
  ];
  for (const meddle of meddling) {
    copyFileSync(join(ORACLE_FOLDER, 'b-notebook.zip'), file);
    const source = await meddledWith(file, meddle);
    await assert.rejects(verifyPackage(source), { code: 'ARCHIVE_CHANGED' });
    await source.close();
  }
});

check('a file is read by ranges, never whole', async () => {
  const source = await fileSource(join(ORACLE_FOLDER, 'g-workspace.zip'));
  let longest = 0;
  const watched: ByteSource = {
    ...source,
    read(offset, length, into) {
      longest = Math.max(longest, length);
      return source.read(offset, length, into);
    },
  };
  assert.equal((await verifyPackage(watched)).ok, true);
  assert.ok(longest < source.size / 2, `${longest} of ${source.size} bytes at once`);
  const archive = await openArchive(watched);
  assert.equal(archive.members.length, 215);
  await source.close();
});
