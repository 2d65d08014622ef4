import { request } from 'node:http';
import { assert, check } from '../support/index.ts';
import { type Message, outcomeOf } from './guard-world.ts';
import { type Behaviour, httpWorld, json, result } from './http-world.ts';

const bodyOf = (name: string, args: object): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } });

check(
  'a call whose last bytes come when the guard is ending is not begun, and what is under way is told',
  async (t) => {
    const releases: (() => void)[] = [];
    const behave: Behaviour = (_arrived, response, { id }) =>
      void releases.push(() => json(response, result(id, 'done')));
    const world = await httpWorld(t, behave);
    const first = world.call('write', { a: 1 });
    while (releases.length < 1) await new Promise((resolve) => setTimeout(resolve, 5));
    const late = bodyOf('write', { a: 2 });
    const headers = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(late)) };
    const sending = request(world.url, { method: 'POST', headers });
    const told = new Promise<string>((resolve, reject) => {
      sending.on('error', reject);
      sending.on('response', (answer) => {
        let text = '';
        answer.on('data', (part: Buffer) => (text += part.toString()));
        answer.on('end', () => resolve(text));
      });
    });
    sending.write(late.slice(0, 20));
    await new Promise((resolve) => setTimeout(resolve, 50));
    const closed = world.close();
    sending.end(late.slice(20));
    const message = JSON.parse(await told) as Message;
    assert.deepEqual([outcomeOf(message)?.outcome, outcomeOf(message)?.code], ['not_started', 'CALL_SKIPPED']);
    releases[0]?.();
    assert.match(JSON.stringify(await first), /"done"/);
    await closed;
    assert.equal(world.arrived.length, 1, 'the server was asked once');
  },
);
