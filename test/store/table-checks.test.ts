import { checkOneOf } from '../../src/store/index.ts';
import { assert, check } from '../support/index.ts';
import { openNotes } from '../support/notes-store.ts';

const table = `CREATE TABLE words (word TEXT ${checkOneOf('word', 'one', 'two', 'three')}) STRICT`;
const WORDS = { context: 'words', migrations: [{ number: 1, name: 'words', sqlite: table }] };

check('a column that is checked for its words takes each of them, and null, and nothing else', async (t) => {
  const { store } = await openNotes(t, { schemas: [WORDS] });
  const add = (word: string | null) => store.write('add', (tx) => tx.run('INSERT INTO words VALUES (?)', [word]));
  for (const word of ['one', 'two', 'three', null]) assert.equal((await add(word)).changes, 1);
  for (const word of ['four', 'ONE', '', 'one ']) await assert.rejects(add(word), { code: 'STORE_CONSTRAINT' }, word);
});

check('the check is written so that SQLite makes no table of the words when a row is written', async (t) => {
  const { store } = await openNotes(t, { schemas: [WORDS] });
  const steps = await store.read('plan', (tx) => tx.all("EXPLAIN INSERT INTO words VALUES ('one')"));
  assert.ok(steps.length > 0);
  assert.deepEqual(
    steps.filter((step) => step['opcode'] === 'OpenEphemeral'),
    [],
  );
});
