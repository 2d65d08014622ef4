import { LIMITS } from '../../src/core/index.ts';
import { assert, check } from '../support/index.ts';
import { OPEN_POLICY } from './guard-world.ts';
import { type Behaviour, httpWorld, json, result } from './http-world.ts';

check('of many sessions the one that is used is kept, however long ago it began', async (t) => {
  let opened = 0;
  const behave: Behaviour = (_arrived, response, { id, method }) => {
    const session = method === 'initialize' ? { 'mcp-session-id': `s${opened++}` } : {};
    json(response, result(id, 'fine'), session);
  };
  const world = await httpWorld(t, behave, { policy: { ...OPEN_POLICY, rules: [] }, waitMs: 50 });
  const params = { capabilities: { elicitation: {} } };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
  const open = async (many: number): Promise<void> => {
    for (let n = 0; n < many; n += 1) await world.send({ body });
  };
  const asked = async (session: string): Promise<boolean> => {
    const call = { name: 'write', arguments: { session } };
    const asks = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: call });
    const told = await world.send({ headers: { 'mcp-session-id': session }, body: asks });
    return told.body.includes('elicitation/create');
  };
  await open(LIMITS.guardHttpSessions);
  await world.send({ headers: { 'mcp-session-id': 's0' }, body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' });
  await open(2);
  assert.deepEqual([await asked('s0'), await asked('s1'), await asked('s3')], [true, false, true]);
});
