import type { JsonObject } from '../core/index.ts';
import { actionDigest, argumentsSha256, requestDigest, requestDocument } from './digests.ts';
import { isExpired } from './machine.ts';
import type { PermissionRequest, RequestState } from './model.ts';
import type { Fits, Outdated } from './outdated.ts';

// Control and format characters (bidirectional controls among them), what is unassigned or for private use, lone
// surrogates, whatever a renderer may ignore, and the line and paragraph separators.
const UNSEEN = /[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}]/gu;

/** A text as it is safe to print: whatever would be invisible or would move other text is written as `\u{202e}`. */
export function escapeForDisplay(text: string): string {
  return text.replace(UNSEEN, (unit) => `\\u{${(unit.codePointAt(0) ?? 0).toString(16)}}`);
}

/** One permission request as every surface shows it. */
export interface ShownRequest {
  readonly requestId: string;
  readonly rootFrameId: string;
  /** What a decision sends back, computed from the very texts that are shown here. */
  readonly digest: string;
  /** How it stands now; `expired` is judged by the clock even before a sweep has written it down. */
  readonly status: 'pending' | 'expired' | 'allowed' | 'used' | 'revoked' | 'denied' | 'timed_out' | 'cancelled';
  readonly tool: string;
  /** The arguments text, escaped for display. `document` and the digest rest on the unescaped text. */
  readonly argumentsText: string;
  readonly editable: readonly string[];
  readonly reason: string;
  readonly requestedBy: string;
  readonly approvers: readonly string[];
  readonly expiresAt: number | null;
  readonly decidedBy: string | null;
  readonly message: string | null;
  readonly supersededBy: string | null;
  /**
   * Why it would be refused though it were allowed, as far as this process knows the tool; null where it fits, where
   * nothing is known of it, and where it is over.
   */
  readonly outdated: string | null;
  /** All that is bound, with the contracts' names, unescaped: for programs. */
  readonly document: JsonObject;
}

/** Shows a request. The digest is taken again over what is returned, never copied from the row. */
export function showRequest({ action, status }: PermissionRequest, now: number, fits: Fits): ShownRequest {
  const proved = { ...action, argumentsSha256: argumentsSha256(action.canonicalArguments) };
  const whole = { ...proved, actionDigest: actionDigest(proved) };
  const { roles, subjects } = action.approver;
  const word = statusWord(status, isExpired(action.expiresAt, now));
  const counts = word === 'pending' || word === 'allowed';
  return {
    requestId: action.requestId,
    rootFrameId: action.rootFrameId,
    digest: requestDigest(whole),
    status: word,
    tool: escapeForDisplay(action.tool),
    argumentsText: escapeForDisplay(action.canonicalArguments),
    editable: action.editable.map(escapeForDisplay),
    reason: escapeForDisplay(action.reason),
    requestedBy: escapeForDisplay(action.requestedBy),
    approvers: [...subjects, ...roles.map((role) => `role ${role}`)].map(escapeForDisplay),
    expiresAt: action.expiresAt,
    decidedBy: status.state === 'allowed' || status.state === 'denied' ? escapeForDisplay(status.decision.by) : null,
    message: messageOf(status),
    supersededBy: status.state === 'cancelled' ? status.supersededBy : null,
    outdated: counts ? escaped(fits(action)) : null,
    document: { ...requestDocument(whole), canonical_arguments: action.canonicalArguments },
  };
}

const escaped = (outdated: Outdated | null): string | null => outdated && escapeForDisplay(outdated.why);

function statusWord(status: RequestState, late: boolean): ShownRequest['status'] {
  if (status.state === 'pending') return late ? 'expired' : 'pending';
  if (status.state !== 'allowed') return status.state;
  if (status.use.use === 'consumed') return 'used';
  if (status.use.use === 'revoked') return 'revoked';
  return late ? 'expired' : 'allowed';
}

function messageOf(status: RequestState): string | null {
  switch (status.state) {
    case 'pending':
    case 'timed_out':
      return null;
    case 'cancelled':
      return escapeForDisplay(status.message);
    case 'allowed':
    case 'denied':
      return status.decision.message === null ? null : escapeForDisplay(status.decision.message);
  }
}
