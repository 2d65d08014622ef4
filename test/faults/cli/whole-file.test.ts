import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { flushName, writeWholeFile } from '../../../src/cli/whole-file.ts';
import { nodeFileSystem } from '../../../src/core/index.ts';
import { ROOT } from '../../structure/repository-files.ts';
import { assert, check, temporaryFolder } from '../../support/index.ts';

const moduleAt = (name: string): string => pathToFileURL(join(ROOT, 'src', 'cli', name)).href;
const MODULE = moduleAt('whole-file.ts');

/** Writes 10,000 bytes in one chunk and says the code of what went wrong; a file may have so many KiB here. */
function writtenUnder(kibibytes: number, file: string) {
  const program = `
    const { writeWholeFile } = await import(${JSON.stringify(MODULE)});
    const write = writeWholeFile('the file', ${JSON.stringify(file)}, [Buffer.alloc(10_000, 'x')]);
    console.log(await write.then(() => 'written', (error) => error.code + ' ' + error.message));
  `;
  return runUnder(kibibytes, program);
}

function runUnder(kibibytes: number, program: string) {
  const script = `trap '' XFSZ; ulimit -f ${kibibytes}; exec "$@"`;
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', '--input-type=module', '-e', program];
  return promisify(execFile)('bash', ['-c', script, 'bash', ...node]);
}

check('under a real limit on file sizes what does not fit whole is refused, and nothing of it stays', async (t) => {
  const folder = await temporaryFolder(t);
  const file = join(folder, 'package.zip');
  const { stdout } = await writtenUnder(4, file);
  assert.match(stdout, /^FILE_DISK_FULL /);
  assert.ok(!stdout.includes(folder), 'the message names no path');
  assert.deepEqual(readdirSync(folder), []);
  assert.equal((await writtenUnder(20, file)).stdout, 'written\n');
  assert.equal(readFileSync(file).length, 10_000);
});

check('a new file that does not fit whole leaves nothing that would stand in the way of the next one', async (t) => {
  const folder = await temporaryFolder(t);
  const file = join(folder, 'report.html');
  const program = `
    const { writeNewFile } = await import(${JSON.stringify(moduleAt('small-files.ts'))});
    try { writeNewFile('the report', ${JSON.stringify(file)}, 'x'.repeat(10_000)); console.log('written'); }
    catch (error) { console.log(error.code); }
  `;
  assert.equal((await runUnder(4, program)).stdout, 'FILE_DISK_FULL\n');
  assert.deepEqual(readdirSync(folder), []);
  assert.equal((await runUnder(20, program)).stdout, 'written\n');
  assert.equal((await runUnder(20, program)).stdout, 'FILE_EXISTS\n');
  assert.equal(readFileSync(file).length, 10_000);
});

check('chunks that fail half-way leave no file, and a file that is there stays as it was', async (t) => {
  const folder = await temporaryFolder(t);
  const file = join(folder, 'bytes');
  function* broken() {
    yield Buffer.from('half');
    throw new Error('the reader broke');
  }
  await assert.rejects(writeWholeFile('the file', file, broken()), /the reader broke/);
  assert.equal(existsSync(file), false);
  await writeWholeFile('the file', file, [Buffer.from('whole')]);
  await assert.rejects(writeWholeFile('the file', file, broken()), /the reader broke/);
  await assert.rejects(writeWholeFile('the file', file, [Buffer.from('other')]), { code: 'FILE_EXISTS' });
  assert.equal(readFileSync(file, 'utf8'), 'whole');
  assert.deepEqual(readdirSync(folder), ['bytes']);
});

check('killed around its rename, a package has its name with all of it in it, or not at all', async (t) => {
  const folder = await temporaryFolder(t);
  const file = join(folder, 'package.zip');
  for (const [point, left] of [
    ['file-temp-written', ['package.zip.part']],
    ['package-renamed', ['package.zip', 'package.zip.part']],
  ] as const) {
    const program = `
      const { writeWholeFile } = await import(${JSON.stringify(MODULE)});
      const reach = (point) => { if (point === '${point}') process.kill(process.pid, 'SIGKILL'); };
      await writeWholeFile('the file', ${JSON.stringify(file)}, [Buffer.alloc(100_000, 'x')], { reach });
    `;
    const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', program];
    await assert.rejects(promisify(execFile)(process.execPath, args), { signal: 'SIGKILL' });
    assert.deepEqual(readdirSync(folder).sort(), left, point);
  }
  assert.deepEqual(readFileSync(file), Buffer.alloc(100_000, 'x'));
});

check('what a killed command left beside the name hinders nobody, and is not touched', async (t) => {
  const folder = await temporaryFolder(t);
  const file = join(folder, 'package.zip');
  const program = `
    const { writeWholeFile } = await import(${JSON.stringify(MODULE)});
    function* chunks() { yield Buffer.from('half'); process.kill(process.pid, 'SIGKILL'); yield Buffer.from('never'); }
    await writeWholeFile('the file', ${JSON.stringify(file)}, chunks());
  `;
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', program];
  for (const left of [['package.zip.part'], ['package.zip.1.part', 'package.zip.part']]) {
    await assert.rejects(promisify(execFile)(process.execPath, args), { signal: 'SIGKILL' });
    assert.deepEqual(readdirSync(folder).sort(), left, 'half a package is never under its name');
  }
  await writeWholeFile('the file', file, [Buffer.from('whole')]);
  assert.equal(readFileSync(file, 'utf8'), 'whole');
  assert.equal(readFileSync(join(folder, 'package.zip.part'), 'utf8'), 'half');
  assert.deepEqual(readdirSync(folder).sort(), ['package.zip', 'package.zip.1.part', 'package.zip.part']);
});

check(
  'a folder that lets nobody look, or flushes nothing, takes a file all the same; a disk that fails is said',
  async (t) => {
    const file = join(await temporaryFolder(t), 'package.zip');
    const failing = (where: 'open' | 'fsync', code: string) => ({
      ...nodeFileSystem,
      [where]: () => {
        throw Object.assign(new Error('it failed'), { code });
      },
    });
    assert.doesNotThrow(() => flushName(nodeFileSystem, file));
    assert.doesNotThrow(() => flushName(failing('open', 'EACCES'), file));
    for (const code of ['EPERM', 'EINVAL', 'ENOTSUP'])
      assert.doesNotThrow(() => flushName(failing('fsync', code), file));
    for (const code of ['EIO', 'ENOSPC']) assert.throws(() => flushName(failing('fsync', code), file), { code });
  },
);
