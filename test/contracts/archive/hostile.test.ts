import { bytesSource, openPackage } from '../../../src/archive/index.ts';
import { PackageError } from '../../../src/core/index.ts';
import { filesOf, oracle, pack } from '../../archive/support/packages.ts';
import { type Piece, zip } from '../../archive/support/zip-builder.ts';
import { assert, contract } from '../../support/index.ts';

/** Where an import begins: the first thing that is wrong is thrown. */
async function refused(bytes: Buffer, text: RegExp): Promise<void> {
  await assert.rejects(openPackage(bytesSource(bytes)), (error) => {
    assert.ok(error instanceof PackageError, String(error));
    assert.match(error.message, text);
    return true;
  });
}

async function withMember(piece: Piece): Promise<Buffer> {
  const files = await filesOf('b-notebook');
  return zip([...[...files].map(([name, content]): Piece => ({ name, content })), piece]);
}

contract(
  'PKG-33',
  'a byte more in a document is a hash mismatch, also when it is stored without attributes',
  async () => {
    const files = await filesOf('b-notebook');
    files.set('notebook.json', Buffer.concat([files.get('notebook.json') as Buffer, Buffer.from('x')]));
    await refused(pack(files), /hash mismatch/);
    const bare = [...files].map(([name, content]): Piece => ({ name, content, method: 0, externalAttributes: 0 }));
    await refused(zip(bare), /hash mismatch/);
  },
);

contract('PKG-35', 'a member that leads outside', async () => {
  await refused(await withMember({ name: '../escape' }), /unsafe package path/);
});

contract('PKG-36', 'a manifest that is a symbolic link is found before it is parsed', async () => {
  const link: Piece = { name: 'manifest.json', content: '/etc/passwd', externalAttributes: 0o120777 * 0x10000 };
  await refused(zip([link]), /symlinks/);
});

contract('PKG-39', 'a flipped bit in compressed data is corrupt, wherever it falls', async () => {
  const bytes = oracle('b-notebook');
  const nameLength = bytes.readUInt16LE(26);
  const compressed = bytes.readUInt32LE(18);
  const at = 30 + nameLength + Math.floor(compressed / 2);
  for (let bit = 0; bit < 8; bit += 1) {
    const flipped = Buffer.from(bytes);
    flipped[at] = (bytes[at] as number) ^ (1 << bit);
    await refused(flipped, /corrupt/);
  }
});

contract('PKG-40', 'a member compressed with bzip2', async () => {
  await refused(await withMember({ name: 'extra.bin', method: 12 }), /compression method/);
});

contract('PKG-41', 'a mebibyte of one byte, without any manifest', async () => {
  await refused(zip([{ name: 'bomb', content: Buffer.alloc(1024 * 1024, 'A') }]), /compression ratio/);
});

contract('PKG-42', 'a member that the manifest does not list', async () => {
  await refused(await withMember({ name: 'artifact_observations.json', content: '{}' }), /unlisted/);
});
