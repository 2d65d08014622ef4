import assert from 'node:assert/strict';
import type { ContextSchema, ReadTx, Store, Tx } from '../store/index.ts';

/** One place where a store can live: opened as often as asked, also several times at once, and removed at the end. */
export interface StorePlace {
  open(schemas: readonly ContextSchema[]): Promise<Store>;
  remove(): Promise<void>;
}

/** One promise of the Store port. `run` throws where the home does not keep it. */
export interface StoreCase {
  readonly name: string;
  run(makePlace: () => Promise<StorePlace>): Promise<void>;
}

/** The tables that the suite uses. */
export const STORE_SUITE_SCHEMA: ContextSchema = {
  context: 'suite',
  migrations: [
    {
      number: 1,
      name: 'notes',
      sqlite: `
        CREATE TABLE notes (
          note_id TEXT PRIMARY KEY,
          size INTEGER NOT NULL CHECK (size >= 0),
          bytes BLOB
        ) STRICT;
        CREATE TABLE replies (
          reply_id TEXT PRIMARY KEY,
          note_id TEXT NOT NULL REFERENCES notes (note_id)
        ) STRICT;
        CREATE TRIGGER notes_stay BEFORE DELETE ON notes BEGIN SELECT RAISE(ABORT, 'a note stays'); END;
      `,
    },
  ],
};

const ADD = 'INSERT INTO notes (note_id, size) VALUES (?, ?)';
const SIZE = 'SELECT size FROM notes WHERE note_id = ?';
const GROW = 'UPDATE notes SET size = size + 1 WHERE note_id = ?';

async function sizeOf(store: Store, id: string): Promise<unknown> {
  const row = await store.read('suite.size', (tx) => tx.get(SIZE, [id]));
  return row?.['size'];
}

function add(store: Store, id: string, size: number | bigint = 0): Promise<unknown> {
  return store.write('suite.add', (tx) => tx.run(ADD, [id, size]));
}

function hasCode(code: string): (error: unknown) => boolean {
  return (error) => {
    assert.equal((error as { code?: unknown }).code, code);
    return true;
  };
}

type Body = (store: Store, place: StorePlace) => Promise<void>;

function storeCase(name: string, body: Body): StoreCase {
  return {
    name,
    async run(makePlace) {
      const place = await makePlace();
      try {
        const store = await place.open([STORE_SUITE_SCHEMA]);
        try {
          await body(store, place);
        } finally {
          await store.close();
        }
      } finally {
        await place.remove();
      }
    },
  };
}

const keeping: readonly StoreCase[] = [
  storeCase('what a write acknowledged is read next, and after opening again', async (store, place) => {
    await add(store, 'a', 7);
    assert.equal(await sizeOf(store, 'a'), 7);
    await store.close();
    const again = await place.open([STORE_SUITE_SCHEMA]);
    assert.equal(await sizeOf(again, 'a'), 7);
    await again.close();
  }),
  storeCase('a body that throws is told its own error, and leaves nothing', async (store) => {
    const mine = new Error('mine');
    const failing = store.write('suite.fails', async (tx) => {
      await tx.run(ADD, ['a', 1]);
      throw mine;
    });
    await assert.rejects(failing, (error) => error === mine);
    assert.equal(await sizeOf(store, 'a'), undefined);
  }),
  storeCase('of bodies that arrive together one fails and the others stand', async (store) => {
    const settled = await Promise.allSettled(
      [0, 1, 2, 3].map((i) =>
        store.write('suite.some', async (tx) => {
          await tx.run(ADD, [`n${i}`, i]);
          if (i === 1) throw new Error('not this one');
          return i;
        }),
      ),
    );
    assert.deepEqual(
      settled.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
    );
    const rows = await store.read('suite.all', (tx) => tx.all('SELECT note_id FROM notes ORDER BY note_id'));
    assert.deepEqual(
      rows.map((row) => row['note_id']),
      ['n0', 'n2', 'n3'],
    );
  }),
  storeCase('two hundred bodies that arrive together each see what those before them did', async (store) => {
    await add(store, 'a');
    const grow = () =>
      store.write('suite.grow', async (tx) => {
        const before = (await tx.get(SIZE, ['a']))?.['size'];
        await tx.run(GROW, ['a']);
        return before;
      });
    const seen = await Promise.all(Array.from({ length: 200 }, grow));
    assert.equal(new Set(seen).size, 200);
    assert.equal(await sizeOf(store, 'a'), 200);
  }),
  storeCase('two openings of one place see what the other has committed', async (store, place) => {
    const other = await place.open([STORE_SUITE_SCHEMA]);
    await add(store, 'a', 1);
    await other.write('suite.grow', (tx) => tx.run(GROW, ['a']));
    assert.equal(await sizeOf(store, 'a'), 2);
    await other.close();
  }),
];

const refusing: readonly StoreCase[] = [
  storeCase('a constraint and a trigger are told as such, and a body may go on after one', async (store) => {
    await add(store, 'a');
    await assert.rejects(add(store, 'a'), hasCode('STORE_CONSTRAINT'));
    await assert.rejects(add(store, 'b', -1), hasCode('STORE_CONSTRAINT'));
    const orphan = store.write('suite.orphan', (tx) => tx.run('INSERT INTO replies VALUES (?, ?)', ['r', 'nobody']));
    await assert.rejects(orphan, hasCode('STORE_CONSTRAINT'));
    const deleting = store.write('suite.delete', (tx) => tx.run('DELETE FROM notes WHERE note_id = ?', ['a']));
    await assert.rejects(deleting, hasCode('STORE_CONSTRAINT'));
    await store.write('suite.goes_on', async (tx) => {
      await assert.rejects(tx.run(ADD, ['a', 1]), hasCode('STORE_CONSTRAINT'));
      await tx.run(ADD, ['c', 1]);
    });
    assert.equal(await sizeOf(store, 'c'), 1);
  }),
  storeCase('what a driver would change without a word is refused', async (store) => {
    const refused = (params: readonly unknown[]) =>
      assert.rejects(
        store.write('suite.value', (tx) => tx.run(ADD, params as [])),
        hasCode('STORE_VALUE_REFUSED'),
      );
    await refused(['a\0b', 1]);
    await refused(['a\ud800', 1]);
    await refused(['a', Number.NaN]);
    await refused(['a', Number.POSITIVE_INFINITY]);
    await refused(['a', undefined]);
    await refused(['a', true]);
  }),
  storeCase('a text is one statement, with positional parameters, all of them given', async (store) => {
    const refused = (sql: string, params: readonly string[] = []) =>
      assert.rejects(
        store.write('suite.sql', (tx) => tx.run(sql, params)),
        hasCode('STORE_SQL_REFUSED'),
      );
    await refused(ADD, ['a']);
    await refused('DELETE FROM replies; DELETE FROM replies');
    await refused('DELETE FROM replies WHERE reply_id = :id', ['a']);
    await refused('DELETE FROM replies WHERE reply_id = ?1', ['a']);
    await refused('COMMIT');
    await refused('DROP TABLE replies');
  }),
  storeCase('a read may not write', async (store) => {
    const writing = store.read('suite.read', (tx: ReadTx) => tx.get(`${ADD} RETURNING size`, ['a', 1]));
    await assert.rejects(writing, hasCode('STORE_SQL_REFUSED'));
  }),
  storeCase('a transaction is refused after its body ended', async (store) => {
    let leaked: Tx | undefined;
    await store.write('suite.leak', async (tx) => {
      leaked = tx;
      await tx.run(ADD, ['a', 1]);
    });
    await assert.rejects(async () => leaked?.run(GROW, ['a']), hasCode('STORE_TX_ENDED'));
    assert.equal(await sizeOf(store, 'a'), 1);
  }),
  storeCase('a closed store finishes what it took and refuses the rest', async (store) => {
    const taken = add(store, 'a', 3);
    await store.close();
    await taken;
    await assert.rejects(add(store, 'b'), hasCode('STORE_CLOSED'));
    await assert.rejects(sizeOf(store, 'a'), hasCode('STORE_CLOSED'));
  }),
];

const values: readonly StoreCase[] = [
  storeCase('integers beyond 2^53 are read as bigint where asked, and refused where not', async (store) => {
    const big = 9_007_199_254_740_993n;
    await add(store, 'a', big);
    const row = await store.read('suite.big', (tx) => tx.get({ text: SIZE, integers: 'bigint' }, ['a']));
    assert.equal(row?.['size'], big);
    await assert.rejects(sizeOf(store, 'a'), hasCode('STORED_NUMBER_CORRUPT'));
  }),
  storeCase('bytes, null and any text come back as they were', async (store) => {
    const bytes = Uint8Array.from([0, 255, 1]);
    const id = "é\u{1f600} 'x' \n";
    await store.write('suite.bytes', (tx) => tx.run('INSERT INTO notes VALUES (?, ?, ?)', [id, 1, bytes]));
    await add(store, 'none');
    const read = (what: string) =>
      store.read('suite.read', (tx) => tx.get('SELECT note_id, bytes FROM notes WHERE note_id = ?', [what]));
    assert.deepEqual({ ...(await read(id)) }, { note_id: id, bytes });
    assert.deepEqual({ ...(await read('none')) }, { note_id: 'none', bytes: null });
  }),
  storeCase('a write tells how many rows it changed itself', async (store) => {
    await add(store, 'a');
    const changes = await store.write('suite.changes', async (tx) => [
      (await tx.run(GROW, ['a'])).changes,
      (await tx.run(GROW, ['nobody'])).changes,
    ]);
    assert.deepEqual(changes, [1, 0]);
  }),
];

/** What every home of the Store port must keep. Run each case with a maker of empty places. */
export const STORE_SUITE: readonly StoreCase[] = [...keeping, ...refusing, ...values];
