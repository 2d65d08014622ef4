import type { ExportedPackage, RecoveryAction, Trusted } from '../packages/index.ts';
import {
  type Checkpoint,
  deleteSession,
  type KeptRecords,
  type Principal,
  requirePen,
  requireSession,
  type SessionHistory,
} from '../sessions/index.ts';
import type { Runtime } from './runtime.ts';

type Parts = Pick<Runtime, 'packages' | 'histories' | 'store' | 'calls'>;

type AskedCheckpoint = Parameters<SessionHistory['checkpoint']>[1];
type WithinCheckpoint = Parameters<SessionHistory['checkpoint']>[2];

/**
 * Exports a session while nobody else writes to it: queued for its pen behind whoever asked before, so that head and
 * workspace belong together. A quarantined session has no writers, and is not written to. See `SessionPackages.export`;
 * SESSION_NOT_FOUND, TICKET_TIMEOUT.
 */
export async function exportSession(
  { packages, histories }: Parts,
  principal: Principal,
  rootFrameId: string,
  signal?: AbortSignal,
): Promise<ExportedPackage> {
  const work = (): Promise<ExportedPackage> => packages.export(principal, rootFrameId);
  if ((await packages.quarantineOf(principal, rootFrameId)) !== null) return work();
  const owner = principal.subject;
  const pen = { owner, reason: 'session package export', ...(signal ? { signal } : {}) };
  return histories.pen.hold(principal, rootFrameId, pen, work);
}

/**
 * Makes a checkpoint while nobody else writes to the session, so that its history and its workspace are of one moment;
 * `within` writes in the same commit. Whoever has the pen already asks `SessionHistory.checkpoint`. SESSION_NOT_FOUND,
 * TICKET_TIMEOUT, TICKET_LOST.
 */
export function makeCheckpoint(
  { histories }: Parts,
  principal: Principal,
  asked: AskedCheckpoint,
  { signal, within }: { readonly signal?: AbortSignal; readonly within?: WithinCheckpoint } = {},
): Promise<Checkpoint> {
  const pen = { owner: principal.subject, reason: 'checkpoint', ...(signal ? { signal } : {}) };
  return histories.pen.hold(principal, asked.rootFrameId, pen, ({ ticketId }) =>
    histories.history.checkpoint(principal, asked, async (tx, made) => {
      await requirePen(tx, ticketId);
      await within?.(tx, made);
    }),
  );
}

/** A confirmed fresh restart: this process is the new runtime, and it has run nothing of the package. */
export function restartFresh(
  { packages }: Parts,
  principal: Principal,
  rootFrameId: string,
  asked: RecoveryAction,
): Promise<Trusted> {
  return packages.recover(principal, rootFrameId, asked, async () => ({ ok: true, status: 'active' }));
}

/**
 * Removes a session whole, under its pen; of an imported one its files too, and in quarantine as well. Answers what stays
 * for the audit. Contents of workspaces that nothing names any more go with the next collection. SESSION_NOT_FOUND,
 * TICKET_TIMEOUT, or what a room says that must keep it. `before` looks once more when the pen was waited for: what it
 * throws keeps the session.
 */
export async function removeSession(
  { packages, histories, store, calls }: Parts,
  principal: Principal,
  rootFrameId: string,
  { before }: { readonly before?: () => Promise<void> } = {},
): Promise<readonly KeptRecords[]> {
  const { origin, trustState } = await store.read('app.remove', (tx) => requireSession(tx, principal, rootFrameId));
  const work = (): Promise<readonly KeptRecords[]> =>
    origin === 'import'
      ? packages.erase(principal, rootFrameId)
      : store.write('app.remove', (tx) => deleteSession(tx, calls.sessions, principal, rootFrameId));
  if (trustState !== 'local') return work();
  return histories.pen.hold(principal, rootFrameId, { owner: principal.subject, reason: 'delete' }, async () => {
    await before?.();
    return work();
  });
}
