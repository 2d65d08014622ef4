import { buffer } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import { assert, check } from '../support/index.ts';
import { readAll } from '../archive/support/read-all.ts';

type Write = (file: ZipFile) => void;

async function byYazl(write: Write, end?: Parameters<ZipFile['end']>[0]): Promise<Map<string, Buffer>> {
  const file = new ZipFile();
  write(file);
  file.end(end);
  return readAll(await buffer(file.outputStream));
}

const text = Buffer.from('some text that another writer puts into an archive');

check('archives of another writer are read: buffers, streams, folders of names, timestamps, ZIP64', async () => {
  const buffers = await byYazl((file) => {
    file.addBuffer(text, 'a.txt');
    file.addBuffer(text, 'folder/é.txt', { compress: false });
  });
  assert.deepEqual(buffers.get('folder/é.txt'), text);
  const streams = await byYazl((file) => file.addReadStream(Readable.from([text]), 'a.txt', { size: text.length }));
  assert.deepEqual(streams.get('a.txt'), text);
  const wide = await byYazl((file) => file.addBuffer(text, 'a.txt', { forceZip64Format: true }), {
    forceZip64Format: true,
    comment: '',
  });
  assert.deepEqual(wide.get('a.txt'), text);
});

check('a comment and a folder of another writer are refused, each with its code', async () => {
  const comment = byYazl((file) => file.addBuffer(text, 'a'), { forceZip64Format: false, comment: 'hello' });
  await assert.rejects(comment, { code: 'ARCHIVE_COMMENT' });
  await assert.rejects(
    byYazl((file) => file.addEmptyDirectory('folder')),
    { code: 'ARCHIVE_FOLDER' },
  );
});
