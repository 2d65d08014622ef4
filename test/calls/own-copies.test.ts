import { assert, check } from '../support/index.ts';
import { callsThenDone, noteTool, openDesk } from './desk.ts';

check('what a tool goes on changing after it answered is told and stored as it was judged', async (t) => {
  for (const effect of ['read', 'once'] as const) {
    const { holdfast } = await openDesk(t);
    const { store } = holdfast.runtime;
    const live = { balance: 1, items: ['a'] };
    const change = (): void => {
      live.balance = 999;
      live.items.push('secret');
    };
    const write = store.write.bind(store);
    Object.assign(store, {
      write: (name: string, body: never) => {
        if (live.items.length === 1 && answered) change();
        return write(name, body);
      },
    });
    let answered = false;
    const execute = () => {
      answered = true;
      return live;
    };
    const run = await holdfast.agent({ model: callsThenDone([{}]), tools: [noteTool({ effect, execute })] }).run('go');
    assert.deepEqual(live, { balance: 999, items: ['a', 'secret'] });
    assert.equal(run.text, 'told: {"balance":1,"items":["a"]}');
    const receipts = await store.read('test.receipts', (tx) =>
      tx.all<{ result_json: string }>('SELECT result_json FROM downstream_receipts'),
    );
    assert.deepEqual(
      receipts.map(({ result_json: text }) => text),
      effect === 'once' ? ['{"balance":1,"items":["a"]}'] : [],
    );
  }
});

check(
  'what a tool is asked about a call, and what an attempt does to its input, changes no later attempt',
  async (t) => {
    const { holdfast } = await openDesk(t);
    const seen: string[] = [];
    const spoil =
      <T>(answer: T) =>
      (input: { note: string }): T => {
        input.note = 'poison';
        return answer;
      };
    const execute = (input: { note: string }): object => {
      seen.push(input.note);
      input.note += '!';
      if (seen.length < 3) throw new Error('busy');
      return { ok: true };
    };
    const asked = { needsApproval: spoil(false), authorize: spoil(true), precondition: spoil<true>(true) };
    const tool = noteTool({ effect: 'idempotent', retry: { most: 2, pauseMs: 1 }, execute, ...asked });
    const run = await holdfast.agent({ model: callsThenDone([{ note: 'milk' }]), tools: [tool] }).run('go');
    assert.deepEqual(seen, ['milk', 'milk', 'milk']);
    assert.equal(run.view.calls[0]?.argumentsText, '{"note":"milk"}');
  },
);
