import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { type Entry, fromBuffer, type Options, type ZipFile } from 'yauzl';

const open = promisify<Buffer, Options, ZipFile>(fromBuffer);

/** What a widely used reader sees in an archive: every member's bytes by name. */
export async function readByYauzl(bytes: Buffer): Promise<Map<string, Buffer>> {
  const file = await open(bytes, { lazyEntries: true, strictFileNames: true });
  const openStream = promisify(file.openReadStream.bind(file)) as (entry: Entry) => Promise<NodeJS.ReadableStream>;
  const contents = new Map<string, Buffer>();
  return new Promise((settle, refuse) => {
    file.on('entry', (entry: Entry) => {
      openStream(entry)
        .then((stream) => buffer(stream))
        .then((content) => {
          contents.set(entry.fileName, content);
          file.readEntry();
        }, refuse);
    });
    file.once('end', () => settle(contents));
    file.once('error', refuse);
    file.readEntry();
  });
}
