import { canonicalJson, fail, isJsonObject, JSON_PROFILES, type JsonObject, readCanonicalJson } from '../core/index.ts';
import { sortedKeys } from './digests.ts';
import type { RequestedAction } from './model.ts';

export type EditVerdict =
  /** `target` and `resourceKeys` where the changed arguments aim elsewhere; absent: as before. */
  | { readonly ok: true; readonly target?: string; readonly resourceKeys?: readonly string[] }
  | { readonly ok: false; readonly issues: readonly { readonly path: string; readonly message: string }[] };

/** Holds changed arguments against the tool as it was when the request was made. */
export type ValidateArguments = (action: RequestedAction, edited: JsonObject) => Promise<EditVerdict>;

/** Changed arguments that were held against the editable fields and the tool's schema. Only `checkEdit` makes one. */
export class CheckedEdit {
  readonly requestId: string;
  readonly digest: string;
  readonly canonicalArguments: string;
  readonly target: string | undefined;
  readonly resourceKeys: readonly string[] | undefined;
  readonly #checked = true;

  /** @internal */
  constructor(action: RequestedAction, canonicalArguments: string, verdict: Extract<EditVerdict, { ok: true }>) {
    this.requestId = action.requestId;
    this.digest = action.requestSha256;
    this.canonicalArguments = canonicalArguments;
    this.target = verdict.target;
    this.resourceKeys = verdict.resourceKeys && sortedKeys(verdict.resourceKeys);
  }

  static isOne(value: unknown): value is CheckedEdit {
    return value instanceof CheckedEdit && value.#checked;
  }
}

/**
 * Checks an approver's changed arguments: the whole object, in which only editable fields may differ, and which must
 * still match the tool's schema. Null when nothing was changed. Done before the transaction, since schemas may be slow;
 * the request itself never changes, so what was checked stays checked.
 * Refuses with APPROVAL_EDIT_FORBIDDEN, APPROVAL_ARGUMENTS_INVALID.
 */
export async function checkEdit(
  action: RequestedAction,
  edited: JsonObject,
  validate: ValidateArguments,
): Promise<CheckedEdit | null> {
  const text = canonicalJson(edited);
  if (text === action.canonicalArguments) return null;
  requireEditable(action, edited);
  const verdict = await validate(action, edited);
  if (verdict.ok) return new CheckedEdit(action, text, verdict);
  const first = verdict.issues[0];
  throw fail('APPROVAL_ARGUMENTS_INVALID', `The edited arguments do not match the schema of ${action.tool}.`, {
    details: { path: first?.path ?? '', issue: first?.message ?? '', issues: verdict.issues.length },
  });
}

function requireEditable(action: RequestedAction, edited: JsonObject): void {
  const original = readCanonicalJson(action.canonicalArguments, JSON_PROFILES.packages);
  if (!isJsonObject(original) || !isJsonObject(edited))
    throw fail('APPROVAL_EDIT_FORBIDDEN', 'Only arguments that are an object can be edited.');
  const editable = new Set(action.editable);
  for (const field of changedFields(original, edited))
    if (!editable.has(field))
      throw fail('APPROVAL_EDIT_FORBIDDEN', 'The edit changes a field that an approver may not change.', {
        details: { field },
      });
}

/** The fields in which two argument objects differ, in the order of their names. */
export function changedFields(original: JsonObject, edited: JsonObject): string[] {
  const names = [...new Set([...Object.keys(original), ...Object.keys(edited)])].sort();
  return names.filter((name) => fieldText(original, name) !== fieldText(edited, name));
}

function fieldText(object: JsonObject, name: string): string | undefined {
  return Object.hasOwn(object, name) ? canonicalJson(object[name] ?? null) : undefined;
}
