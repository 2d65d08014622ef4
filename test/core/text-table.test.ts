import { TextList, TextTable } from '../../src/core/index.ts';
import { assert, check } from '../support/index.ts';

const TEXTS = [
  '',
  'a',
  'ä',
  '\u0100',
  '\ud800',
  '\ufffd',
  '\ude00',
  '\u{1f600}',
  'x'.repeat(40_000),
  'y'.repeat(100_000),
];

check('texts come back as they were pushed, whatever they are and wherever a piece of memory ends', () => {
  const list = new TextList();
  const pushed = Array.from({ length: 3000 }, (_, i) => `${TEXTS[i % TEXTS.length]}${i}`);
  for (const [number, text] of pushed.entries()) assert.equal(list.push(text), number);
  assert.equal(list.size, pushed.length);
  for (const [number, text] of pushed.entries()) assert.ok(list.at(number) === text, `${number}`);
  assert.equal(list.at(pushed.length), '');
});

check('a table is a set that numbers its texts in the order in which they came', () => {
  const table = new TextTable();
  const model = new Map<string, number>();
  for (let i = 0; i < 20_000; i += 1) {
    const text = `${TEXTS[i % TEXTS.length]?.slice(0, 9)}${(i * 7919) % 5003}`;
    if (!model.has(text)) {
      assert.equal(table.find(text), -1);
      model.set(text, model.size);
    }
    assert.equal(table.add(text), model.get(text));
  }
  assert.equal(table.size, model.size);
  assert.deepEqual([...table], [...model.keys()]);
  for (const [text, number] of model) assert.equal(table.find(text), number);
  assert.equal(table.find('not there'), -1);
});
