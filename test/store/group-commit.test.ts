import { setTimeout as sleep } from 'node:timers/promises';
import type { Tx } from '../../src/store/index.ts';
import { assert, check } from '../support/index.ts';
import { ADD_NOTE, ALL_NOTES, addNote, openNotes, outcomes } from '../support/notes-store.ts';

check('bodies that arrive together share one commit, in the order of their arrival', async (t) => {
  const { add, counts } = await openNotes(t);
  const ids = Array.from({ length: 64 }, (_, i) => `n${String(i).padStart(2, '0')}`);
  assert.deepEqual(await Promise.all(ids.map(add)), ids);
  const commits = counts.events.filter((event) => event.kind === 'committed');
  assert.equal(commits.length, 1);
  assert.deepEqual(
    commits[0]?.names,
    ids.map((id) => `add.${id}`),
  );
});

check('a group holds 128 bodies; the rest is in the next one', async (t) => {
  const { add, counts } = await openNotes(t);
  await Promise.all(Array.from({ length: 129 }, (_, i) => add(`n${i}`)));
  const sizes = counts.events.flatMap((event) => (event.kind === 'committed' ? [event.names.length] : []));
  assert.deepEqual(sizes, [128, 1]);
});

check('when 10,000 writes wait the next is refused before it runs', async (t) => {
  const { store } = await openNotes(t);
  const body = async (): Promise<void> => undefined;
  const taken = Array.from({ length: 10_000 }, () => store.write('waits', body));
  let ran = false;
  const refused = store.write('late', async () => {
    ran = true;
  });
  await assert.rejects(refused, { code: 'STORE_OVERLOADED', retryable: true });
  await Promise.all(taken);
  assert.equal(ran, false);
});

check('one body fails having written and the others stand, all in one commit', async (t) => {
  const { store, add, ids, counts } = await openNotes(t);
  const failing = store.write('fails', async (tx) => {
    await tx.run(ADD_NOTE, ['gone', 1]);
    throw new Error('after writing');
  });
  const settled = await Promise.allSettled([add('a'), failing, add('b')]);
  assert.deepEqual(outcomes(settled), ['a', 'after writing', 'b']);
  assert.deepEqual(await ids(), ['a', 'b']);
  assert.equal(counts.count('committed'), 1);
});

check('after such a failure groups take savepoints from the start: nothing is undone and run again', async (t) => {
  const { store, add, ids, counts } = await openNotes(t);
  let runs = 0;
  const failing = () =>
    store.write('fails', async (tx: Tx) => {
      runs += 1;
      await tx.run(ADD_NOTE, ['gone', 1]);
      throw new Error('after writing');
    });
  await Promise.allSettled([add('a'), failing(), add('b')]);
  assert.deepEqual([runs, counts.count('rolled_back')], [2, 1]);
  await Promise.allSettled([add('c'), failing(), add('d')]);
  assert.deepEqual([runs, counts.count('rolled_back')], [3, 1]);
  assert.deepEqual(await ids(), ['a', 'b', 'c', 'd']);
});

check('a body that refuses before it wrote costs its neighbours nothing', async (t) => {
  const { store, add, counts } = await openNotes(t);
  const refusing = store.write('refuses', async (tx) => {
    await tx.all(ALL_NOTES);
    throw new Error('refused');
  });
  assert.deepEqual(outcomes(await Promise.allSettled([add('a'), refusing])), ['a', 'refused']);
  assert.equal(counts.count('rolled_back'), 0);
});

check('a body that throws before its first await is told so, and its group stands', async (t) => {
  const { store, add } = await openNotes(t);
  const throwing = store.write('throws', () => {
    throw new Error('at once');
  });
  assert.deepEqual(outcomes(await Promise.allSettled([throwing, add('a')])), ['at once', 'a']);
});

check('a statement that failed and was not awaited does not take its body down', async (t) => {
  const { store, ids } = await openNotes(t);
  await store.write('careless', async (tx) => {
    await tx.run(ADD_NOTE, ['a', 1]);
    await assert.rejects(tx.run(ADD_NOTE, ['abort', 1]), { code: 'STORE_CONSTRAINT' });
  });
  assert.deepEqual(await ids(), ['a']);
});

check('nobody is told anything before the commit returned, a refusal included', async (t) => {
  const told: string[] = [];
  const faults = {
    reach(point: string) {
      if (point === 'group-about-to-commit' || point === 'group-committed') told.push(point);
    },
  };
  const { store, add } = await openNotes(t, { faults });
  const refusing = store.write('refuses', async () => Promise.reject(new Error('refused')));
  await Promise.all([add('a').then(() => told.push('told')), refusing.catch(() => told.push('refused'))]);
  assert.deepEqual(told.slice(0, 2), ['group-about-to-commit', 'group-committed']);
  assert.deepEqual(told.slice(2).toSorted(), ['refused', 'told']);
});

check('between two groups the event loop gets a turn', async (t) => {
  const { add } = await openNotes(t);
  let turns = 0;
  let going = true;
  const turn = (): void => {
    turns += 1;
    if (going) setImmediate(turn);
  };
  setImmediate(turn);
  for (let i = 0; i < 10; i += 1) await add(`n${i}`);
  going = false;
  assert.ok(turns >= 10, `${turns} turns`);
});

const waits: Readonly<Record<string, () => Promise<unknown>>> = {
  'a timer': () => sleep(1),
  'the next tick': () => new Promise((resolve) => process.nextTick(resolve)),
  'an immediate': () => new Promise((resolve) => setImmediate(resolve)),
  'a promise that never settles': () => new Promise(() => undefined),
};

for (const [what, wait] of Object.entries(waits)) {
  check(`a body that waits for ${what} is named, stopped and rolled back; its neighbours stand`, async (t) => {
    const { store, add, ids } = await openNotes(t);
    const waiting = store.write('notes.waits', async (tx) => {
      await tx.run(ADD_NOTE, ['gone', 1]);
      await wait();
      await tx.run(ADD_NOTE, ['too late', 1]);
    });
    const settled = await Promise.allSettled([add('a'), waiting, add('b')]);
    assert.deepEqual(outcomes(settled), ['a', 'STORE_BODY_WAITED', 'b']);
    await assert.rejects(waiting, { details: { body: 'notes.waits' } });
    await sleep(5);
    assert.deepEqual(await ids(), ['a', 'b']);
  });

  check(`a body that waits for ${what} before its first statement is found as well`, async (t) => {
    const { store, add } = await openNotes(t);
    const waiting = store.write('notes.waits', async () => wait());
    assert.deepEqual(outcomes(await Promise.allSettled([waiting, add('a')])), ['STORE_BODY_WAITED', 'a']);
  });
}

check('several bodies of one group that wait are each found', async (t) => {
  const { store, add, ids } = await openNotes(t);
  const waiting = () => store.write('waits', () => sleep(1));
  const settled = await Promise.allSettled([waiting(), add('a'), waiting(), waiting(), add('b')]);
  const found = 'STORE_BODY_WAITED';
  assert.deepEqual(outcomes(settled), [found, 'a', found, found, 'b']);
  assert.deepEqual(await ids(), ['a', 'b']);
});

check('a write inside a body would wait for itself: it is found, and the inner one is made after it', async (t) => {
  const { store, add, ids } = await openNotes(t);
  const outer = store.write('outer', async () => add('inner'));
  await assert.rejects(outer, { code: 'STORE_BODY_WAITED' });
  await add('after');
  assert.deepEqual(await ids(), ['after', 'inner']);
});

check('a body may await work that is done within its own turn', async (t) => {
  const { store, ids } = await openNotes(t);
  const nested = async (tx: Tx) => {
    await Promise.resolve();
    return addNote('a')(tx);
  };
  assert.equal(await store.write('nested', nested), 'a');
  assert.deepEqual(await ids(), ['a']);
});

check('a transaction of an ended body is refused while the next body of its group runs', async (t) => {
  const { store, ids } = await openNotes(t);
  let leaked: Tx | undefined;
  const first = store.write('first', async (tx) => {
    leaked = tx;
  });
  const second = store.write('second', async (tx) => {
    await assert.rejects(async () => leaked?.run(ADD_NOTE, ['smuggled', 1]), { code: 'STORE_TX_ENDED' });
    await tx.run(ADD_NOTE, ['a', 1]);
  });
  await Promise.all([first, second]);
  assert.deepEqual(await ids(), ['a']);
});
