import { settlingCommand } from '../../src/calls/index.ts';
import { GUARD_REVISION, settledGuardTool } from '../../src/tools/index.ts';
import { assert, check } from '../support/index.ts';
import { noteTool } from './desk.ts';

check('what a guard sent is settled by a verdict: no command can send it again', () => {
  const revisions = { ...noteTool().revisions, effect: 'idempotent', handler: GUARD_REVISION };
  const guarded = settledGuardTool('take_note', revisions);
  assert.ok(guarded);
  assert.match(settlingCommand('REF', guarded), /^holdfast operations settle REF /);
  assert.equal(settlingCommand('REF', noteTool({ effect: 'idempotent' })), 'holdfast operations process REF');
});
