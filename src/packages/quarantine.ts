import { canonicalJson, fail, isJsonObject, JSON_PROFILES, type JsonObject, readStrictJson } from '../core/index.ts';
import {
  appendEvent,
  getSetting,
  openGroup,
  type Principal,
  putSetting,
  QUARANTINE_PREFIX,
  requireSession,
  type SessionContext,
} from '../sessions/index.ts';
import { appendFeed, type ReadTx, type Tx } from '../store/index.ts';

export const quarantineKey = (rootFrameId: string): string => QUARANTINE_PREFIX + rootFrameId;

export type QuarantineReason = 'session_package_import_in_progress' | 'untrusted_session_package';

/** Why a session is view-only. While the setting is there, whatever it says, nothing new happens in the session. */
export interface Quarantine {
  readonly state: 'quarantined';
  readonly reason: QuarantineReason | 'unreadable';
  readonly package_sha256: string | null;
  readonly schema_version: number | null;
  readonly injection_flags: number | null;
}

export function quarantineText(reason: QuarantineReason, packageSha256: string, injectionFlags: number): string {
  return canonicalJson({
    state: 'quarantined',
    reason,
    package_sha256: packageSha256,
    schema_version: 1,
    injection_flags: injectionFlags,
  });
}

/** The quarantine of a session, or null for one that has none. A value that cannot be read quarantines all the same. */
export async function readQuarantine(tx: ReadTx, rootFrameId: string): Promise<Quarantine | null> {
  const text = await getSetting(tx, rootFrameId, quarantineKey(rootFrameId));
  if (text === null) return null;
  const value = parsed(text);
  const reason = value['reason'];
  const known = reason === 'session_package_import_in_progress' || reason === 'untrusted_session_package';
  const sha = value['package_sha256'];
  const number = (key: string): number | null => (typeof value[key] === 'number' ? value[key] : null);
  return {
    state: 'quarantined',
    reason: known ? reason : 'unreadable',
    package_sha256: typeof sha === 'string' ? sha : null,
    schema_version: number('schema_version'),
    injection_flags: number('injection_flags'),
  };
}

function parsed(text: string): JsonObject {
  try {
    const value = readStrictJson(text, JSON_PROFILES.packages);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** What a person may ask of a session after an interruption. */
export interface RecoveryAction {
  readonly action: 'restart_fresh' | 'restore';
  readonly confirmed: boolean;
}

/** What the runtime said when it was started anew for the session. */
export interface RuntimeStart {
  readonly ok: boolean;
  readonly status: string;
}

export interface Trusted {
  readonly quarantine_cleared: boolean;
  readonly trust_state: 'trusted' | 'quarantined';
}

/** RECOVERY_REFUSED unless the action is the one that may end a quarantine, and confirmed. */
export function requireUnlock({ action, confirmed }: RecoveryAction): void {
  if (action !== 'restart_fresh')
    throw fail('RECOVERY_REFUSED', 'An imported session is not restored: only a fresh restart ends its quarantine.');
  if (!confirmed) throw fail('RECOVERY_REFUSED', 'A fresh restart of an imported session must be confirmed.');
}

/**
 * Ends a quarantine, after a confirmed fresh restart that the runtime reports as active: the setting goes, and the
 * ledger says who trusted what, in one transaction. Nothing of the package is run. An import that never ended cannot be
 * trusted: IMPORT_UNFINISHED. SESSION_NOT_FOUND; NOT_QUARANTINED.
 */
export async function trustSession(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  rootFrameId: string,
  start: RuntimeStart,
): Promise<Trusted> {
  const { activeBranchId } = await requireSession(tx, principal, rootFrameId);
  const quarantine = await readQuarantine(tx, rootFrameId);
  if (quarantine === null) throw fail('NOT_QUARANTINED', 'The session is not quarantined.');
  if (quarantine.reason === 'session_package_import_in_progress')
    throw fail('IMPORT_UNFINISHED', 'The import of this session was interrupted: it is not whole.', {
      resolve: `Remove this placeholder, then import the package again: holdfast sessions delete ${rootFrameId} --yes`,
    });
  if (!start.ok || start.status !== 'active') return { quarantine_cleared: false, trust_state: 'quarantined' };
  await putSetting(tx, context, rootFrameId, quarantineKey(rootFrameId), null);
  const { id: groupId } = await openGroup(tx, context, principal, {
    rootFrameId,
    branchId: activeBranchId,
    turnId: context.ids.next(),
    kind: 'session_import_trust',
  });
  await appendEvent(tx, context, principal, {
    groupId,
    type: 'session_import_trusted',
    sideEffectClass: 'metadata_write',
    result: {
      method: 'confirmed_restart_fresh',
      replayed_package_code: false,
      package_sha256: quarantine.package_sha256,
      confirmed_by: principal.subject,
    },
  });
  await appendFeed(tx, { tenantId: principal.tenant, kind: 'session.trusted', reference: rootFrameId });
  return { quarantine_cleared: true, trust_state: 'trusted' };
}
