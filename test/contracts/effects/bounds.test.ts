import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadJournal, openFilesystem, openJournal, type ResourceRef } from '../../../src/effects/index.ts';
import { assert, check } from '../../support/index.ts';
import { claim, claimOf, note, RUN, temporaryFolder } from './fixture.ts';

const FULL = { code: 'LIMIT_REACHED' };
const INVALID = { code: 'EFFECT_RECORD_INVALID' };
const memory = () => openJournal(RUN, { directory: 'nowhere', durable: false });

check('texts, locations and lists of a record hold what their bounds say, and nothing more', async () => {
  const log = memory();
  const wide = (parts: number, length = 1): ResourceRef => ({
    ...note(),
    location: ['owned', ...Array.from({ length: parts - 1 }, () => 'x'.repeat(length))],
  });
  const scoped = (effectId: string, impactScope: readonly ResourceRef[]) => ({
    ...claimOf(note(), effectId),
    impactScope,
    obligations: [],
  });
  assert.equal((await log.claim(claimOf(note(), '\u{1f600}'.repeat(256)))).sequence, 1, 'code points are counted');
  await assert.rejects(log.claim(claimOf(note(), 'x'.repeat(257))), INVALID);
  await log.claim(scoped('parts', [wide(16)]));
  await assert.rejects(log.claim(scoped('more parts', [wide(17)])), INVALID);
  await log.claim(scoped('long', [wide(2, 4096)]));
  await assert.rejects(log.claim(scoped('longer', [wide(2, 4097)])), INVALID);
  const many = (count: number) => Array.from({ length: count }, (_, i) => note(`n${i}`));
  await log.claim(scoped('many', many(64)));
  await assert.rejects(log.claim(scoped('too many', many(65))), FULL);
  await assert.rejects(log.claim({ ...claimOf(note(), 'deps'), dependencies: many(65) }), FULL);
});

check('a line that would pass its bound is refused before it is written', async (t) => {
  const folder = temporaryFolder(t);
  const log = openJournal(RUN, { directory: join(folder, 'fx') });
  t.after(() => log.close());
  const heavy = (id: string) => ({
    ...note(id),
    location: ['owned', ...Array.from({ length: 5 }, () => 'x'.repeat(4096))],
  });
  const impactScope = Array.from({ length: 60 }, (_, i) => heavy(`n${i}`));
  await assert.rejects(log.claim({ ...claimOf(note()), impactScope, obligations: [] }), FULL);
  assert.equal((await claim(log, note())).sequence, 1);
});

check('so many records may wait for one write, and no more', async () => {
  const log = memory();
  const waiting = Array.from({ length: 4096 }, (_, i) => claim(log, note(), `e${i}`));
  await assert.rejects(claim(log, note(), 'one more'), FULL);
  assert.equal((await Promise.all(waiting)).length, 4096);
});

check('a run is recovered whole, however many more effects it left open than may wait for one write', async (t) => {
  const directory = join(temporaryFolder(t), 'fx');
  const before = openJournal(RUN, { directory });
  const ids = Array.from({ length: 4100 }, (_, i) => `e${i}`);
  for (const some of [ids.slice(0, 2050), ids.slice(2050)])
    await Promise.all(some.map((id) => claim(before, note(), id)));
  await before.outcome({ effectId: 'e7', execution: 'reported_success', impact: 'possible' });
  await before.close();
  const log = await loadJournal(RUN, { directory });
  t.after(() => log.close());
  const written = await log.recoverInterrupted();
  assert.deepEqual(
    written.map(({ effectId }) => effectId),
    ids.filter((id) => id !== 'e7'),
  );
  assert.deepEqual(await log.recoverInterrupted(), []);
});

check('a journal larger than its bound is not read into memory', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, `${RUN}.jsonl`);
  writeFileSync(path, '', { mode: 0o600 });
  truncateSync(path, 80 * 1024 * 1024 + 1);
  await assert.rejects(loadJournal(RUN, { directory: folder }), FULL);
});

check('paths have so many names and links, and no more', (t) => {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'ws'));
  const filesystem = openFilesystem();
  const root = filesystem.seal(join(folder, 'ws'));
  const depth = root.path.split('/').length - 1;
  const deep = (names: number) =>
    filesystem.resolve(root, Array.from({ length: names - depth }, () => 'd').join('/'), { allowMissing: true });
  assert.ok(deep(256));
  assert.throws(() => deep(257), FULL);
  writeFileSync(join(root.path, 'l0'), '');
  for (let i = 1; i <= 41; i += 1) symlinkSync(`l${i - 1}`, join(root.path, `l${i}`));
  assert.ok(filesystem.resolve(root, 'l40'));
  assert.throws(() => filesystem.resolve(root, 'l41'), FULL);
});
