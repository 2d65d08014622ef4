import { systemIds } from '../../src/core/index.ts';
import { ListedTools } from '../../src/mcp/guard/listed-tools.ts';
import type { HostAnswer } from '../../src/mcp/guard-http/host-answer.ts';
import { HttpSession } from '../../src/mcp/guard-http/http-session.ts';
import { assert, check } from '../support/index.ts';

const MIB = 1024 * 1024;

check('what a host was told is kept by its bytes: the newest, and no more than one message may be long', () => {
  const session = new HttpSession(new ListedTools({ settleTool: false }, () => undefined), systemIds, true);
  const toldAgain = (id: number): number | null => {
    const data = Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{}}`);
    const by = { answer: {} as HostAnswer, head: { status: 200, headers: [] } };
    return session.passes({ kind: 'block', bytes: data, data, id: null, type: null }, by)?.byteLength ?? null;
  };
  session.expect(0);
  session.told(0, null);
  for (let id = 1; id <= 10; id += 1) {
    session.expect(id);
    session.told(id, Buffer.alloc(5 * MIB, 'a'));
  }
  const kept = Array.from({ length: 11 }, (_, id) => id).filter((id) => toldAgain(id) !== null);
  assert.deepEqual(kept, [8, 9, 10]);
  session.expect(10);
  assert.equal(toldAgain(10), null, 'a new call of that id has not been answered');
  session.told(11, Buffer.alloc(10 * MIB, 'a'));
  assert.deepEqual([8, 9].map(toldAgain), [null, toldAgain(9)]);
  assert.ok((toldAgain(9) ?? 0) > 5 * MIB, 'what is no longer told makes room');
});
