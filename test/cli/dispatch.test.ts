import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert, check, configuredFolder, LETTER_AGENT } from '../support/index.ts';

interface RunDocument {
  readonly run_id: string;
  readonly status: string;
  readonly text: string;
  readonly pending: readonly string[];
}

check(
  'a call that was approved is carried out by its request file, once, and its run goes on from there',
  async (t) => {
    const { folder, holdfast, json } = await configuredFolder(t, LETTER_AGENT);
    const letters = join(folder, 'letters.txt');
    const waiting = await json('run', 'Write to Ada');
    assert.equal(waiting.exit, 3);
    const { run_id: runId, pending } = waiting.document as unknown as RunDocument;
    const [requestId = ''] = pending;
    const file = join(folder, 'request.json');
    const put = (document: object): void => writeFileSync(file, JSON.stringify(document));
    const dispatch = () => json('operations', 'dispatch', '--request', file);
    put({ request_id: requestId, tool: 'post', arguments: { to: 'Ada' } });

    const early = await dispatch();
    assert.deepEqual(
      [early.exit, early.document['outcome'], early.document['code']],
      [1, 'not_started', 'APPROVAL_NOT_GIVEN'],
    );
    const { digest } = (await json('approvals', 'show', requestId)).document;
    assert.equal((await holdfast('approvals', 'approve', requestId, '--digest', String(digest))).exit, 0);

    put({ request_id: requestId, tool: 'post', arguments: { to: 'Bob' } });
    const other = await dispatch();
    assert.deepEqual([other.exit, other.document.error?.code], [1, 'APPROVAL_BINDING_MISMATCH']);
    for (const wrong of [{ request_id: requestId, tool: 'post' }, { request_id: 1, tool: 'post', arguments: {} }, []]) {
      put(wrong);
      assert.deepEqual([(await dispatch()).document.error?.code], ['INVALID_VALUE']);
    }
    writeFileSync(file, Buffer.from(`{"request_id":"${requestId}","tool":"p\xff","arguments":{}}`, 'latin1'));
    assert.equal((await dispatch()).document.error?.code, 'JSON_ENCODING', 'bytes that are no UTF-8');
    put({ request_id: 'f'.repeat(32), tool: 'post', arguments: { to: 'Ada' } });
    assert.equal((await dispatch()).document.error?.code, 'APPROVAL_NOT_FOUND');
    assert.equal(existsSync(letters), false, 'nothing was posted by any of these');

    put({ request_id: requestId, tool: 'post', arguments: { to: 'Ada' } });
    const done = await dispatch();
    assert.deepEqual([done.exit, done.document['outcome']], [0, 'done']);
    const again = await dispatch();
    assert.deepEqual([again.exit, again.document['status_ref']], [0, done.document['status_ref']]);
    const resumed = await json('runs', 'resume', runId);
    const { status, text } = resumed.document as unknown as RunDocument;
    assert.deepEqual([resumed.exit, status, text], [0, 'completed', 'told: {"posted":"Ada"}']);
    assert.equal(readFileSync(letters, 'utf8'), 'Ada\n');
  },
);
