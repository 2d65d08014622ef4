import { join } from 'node:path';
import { callsThenDone, noteTool, openDesk } from '../calls/desk.ts';
import { createToken } from '../../src/principals/index.ts';
import { ensureTenant } from '../../src/store/index.ts';
import { LIMITS } from '../../src/core/index.ts';
import { assert, check, configuredFolder, holdfast, LETTER_AGENT } from '../support/index.ts';

const NEXT = /^More: holdfast (.*)$/m;

check(
  'each list names its next page as it was asked for, and its last page is not told as if there were nothing',
  async (t) => {
    const desk = await openDesk(t);
    const tools = [noteTool({ needsApproval: true })];
    const agent = desk.holdfast.agent({ model: callsThenDone([{}]), tools });
    const { runtime } = desk.holdfast;
    const runs = await Promise.all(Array.from({ length: 101 }, () => agent.run('go')));
    const tenant = "the others'";
    const made = await runtime.store.write('test.tokens', async (tx) => {
      const { clock, sessions } = runtime.calls;
      await ensureTenant(tx, clock, { tenantId: tenant, name: tenant });
      const ids = [];
      for (let i = 0; i <= LIMITS.tokenPageEntries; i += 1) {
        const wanted = { tenantId: tenant, subjectId: 's', roles: ['agent'] } as const;
        ids.push((await createToken(tx, { clock, ids: sessions.ids }, wanted)).token.tokenId);
      }
      return ids;
    });
    await desk.holdfast.close();
    const cwd = join(desk.dataDir, '..');
    const env = { HOLDFAST_DATA_DIR: desk.dataDir };
    const said = async (...args: string[]) => (await holdfast(args, { cwd, env })).stdout;
    const next = async (...args: string[]) => NEXT.exec(await said(...args))?.[1] ?? '';

    assert.match(await next('approvals', 'list'), /^approvals list --after [0-9a-f]{32}$/);
    assert.match(await next('approvals', 'list', '--all'), /^approvals list --all --after [0-9a-f]{32}$/);
    assert.equal(
      await next('tokens', 'list', '--tenant', tenant),
      String.raw`tokens list --tenant 'the others'\''' --after ${made.at(-2)}`,
    );
    const [oldest = ''] = runs.map(({ id }) => id).toSorted();
    assert.equal(await said('runs', 'list', '--before', oldest), 'There are no more.\n');
    for (const list of ['approvals', 'sessions', 'tokens'])
      assert.equal(
        await said(list, 'list', '--after', list === 'sessions' ? '0' : 'f'.repeat(32)),
        'There are no more.\n',
      );
    assert.equal(await said('operations', 'list'), 'There are none.\n');
    assert.equal(await said('operations', 'list', '--before', '1'), 'There are no more.\n');
  },
);

check(
  'a number of entries that is none is refused by every list, and a session that is not there by its own name',
  async (t) => {
    const { json } = await configuredFolder(t, LETTER_AGENT);
    const lists = ['runs', 'sessions', 'operations', 'effects', 'rules'].map((group) => [group, 'list']);
    for (const list of [...lists, ['runs', 'show', 'r']])
      for (const limit of ['0', 'many', '-1', '1.5']) {
        const { exit, document } = await json(...list, '--limit', limit);
        assert.deepEqual([exit, document.error?.code], [2, 'INVALID_VALUE'], `${list.join(' ')} ${limit}`);
      }
    const { document } = await json('run', 'Write to Ada.', '--session', 'nothing');
    assert.equal(document.error?.code, 'SESSION_NOT_FOUND');
  },
);
