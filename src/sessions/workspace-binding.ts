import { isAbsolute } from 'node:path';
import { fail } from '../core/index.ts';
import type { ReadTx, Tx } from '../store/index.ts';
import { checkLongText } from './bounds.ts';
import type { SessionContext } from './ledger.ts';
import type { Principal } from './model.ts';
import { ledgerRefusal } from './ledger-place.ts';
import { IS_REVERTING } from './queries.ts';
import { getSetting, putSetting, requireSession } from './service.ts';

/** A setting of this installation: it never travels with the session. */
const WORKSPACE_KEY = 'session:workspace';

/**
 * Says which folder a session works in, by its absolute path; null for none. It is captured and written by checkpoints
 * and reverts of that session. SESSION_NOT_FOUND, INVALID_VALUE; SESSION_REVERTING while a revert waits to be ended, which
 * must be in the folder where it was begun.
 */
export async function bindWorkspace(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  rootFrameId: string,
  directory: string | null,
): Promise<void> {
  await requireSession(tx, principal, rootFrameId);
  checkLongText('the workspace', directory);
  if (directory !== null && !isAbsolute(directory))
    throw fail('INVALID_VALUE', 'The workspace of a session is named by its absolute path.');
  if (Number((await tx.get(IS_REVERTING, [rootFrameId]))?.['reverting']) !== 0)
    throw await ledgerRefusal(tx, null, rootFrameId, principal);
  await putSetting(tx, context, rootFrameId, WORKSPACE_KEY, directory);
}

/** The folder that a session works in, or null. */
export const workspaceOf = (tx: ReadTx, rootFrameId: string): Promise<string | null> =>
  getSetting(tx, rootFrameId, WORKSPACE_KEY);
