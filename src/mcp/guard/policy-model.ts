import type { FilesystemScope } from '../../effects/index.ts';
import type { JsonValue } from '../../core/index.ts';

/** A `reconcilable` tool is one whose server can be asked afterwards, by the reading tool that its `status` names. */
export const POLICY_EFFECTS = ['read', 'idempotent', 'reconcilable', 'once'] as const;
export type PolicyEffect = (typeof POLICY_EFFECTS)[number];

export const POLICY_DECISIONS = ['allow', 'ask', 'deny'] as const;
export type PolicyDecision = (typeof POLICY_DECISIONS)[number];

/** Who may decide: any of these roles, or any of these subjects. */
export interface Approvers {
  readonly roles: readonly string[];
  readonly subjects: readonly string[];
}

export interface PolicyRoot {
  /** An absolute path. */
  readonly path: string;
  readonly scope: FilesystemScope;
}

/** One test of one argument. `at` is a JSON pointer in which a whole segment `*` stands for every item or member. */
export interface PolicyCondition {
  readonly at: string;
  readonly test:
    | { readonly kind: 'equals'; readonly value: JsonValue }
    | { readonly kind: 'one_of'; readonly values: readonly JsonValue[] }
    | { readonly kind: 'within'; readonly root: string }
    | { readonly kind: 'range'; readonly atLeast: number | null; readonly atMost: number | null }
    | { readonly kind: 'present'; readonly present: boolean };
}

export interface PolicyRule {
  readonly id: string;
  /** Exact names, or names with `*` for any characters. */
  readonly tools: readonly string[];
  /** All must hold. */
  readonly when: readonly PolicyCondition[];
  readonly decision: PolicyDecision;
  /** For `ask`: instead of the policy's own. */
  readonly approvers: Approvers | null;
  readonly reason: string;
}

/** A thing that a call may change, named by its arguments. Texts that begin with `/` where said so are pointers. */
export type PolicyTarget =
  | {
      readonly kind: 'filesystem';
      readonly role: string;
      readonly root: string;
      /** A pointer to the path in the arguments. */
      readonly path: string;
      readonly mayBeMissing: boolean;
    }
  | {
      readonly kind: 'owned';
      readonly role: string;
      readonly namespace: string;
      readonly collection: string;
      /** A pointer to the record's id in the arguments; null means any record of the collection. */
      readonly record: string | null;
    };

export interface PolicyPostcondition {
  readonly role: string;
  readonly predicate: 'exists' | 'absent' | 'content_sha256';
  /** For `content_sha256`: a pointer to the text in the arguments that the file must hold. */
  readonly content: string | null;
}

/** How the server is asked what became of a call of this tool whose answer was lost. */
export interface PolicyStatus {
  /** A tool of the same server, described as a read. */
  readonly tool: string;
  /** Its arguments by name: pointers into those of the call that is asked about. */
  readonly arguments: ReadonlyMap<string, string>;
  /** All must hold of its answer for the call to have happened. */
  readonly happened: readonly PolicyCondition[];
  /** All must hold for it not to have happened; null: its answer never says so. */
  readonly notHappened: readonly PolicyCondition[] | null;
  /** How long after its lease a call under way can still take effect. */
  readonly settlesWithinSeconds: number;
}

/** What one tool is. A tool that the policy does not describe is `once` and touches itself. */
export interface PolicyTool {
  readonly effect: PolicyEffect;
  /** What an `isError` answer of a writing tool means. `not_done` is a promise that somebody makes for the server. */
  readonly onError: 'unknown' | 'not_done';
  /** Top-level arguments that an approver may change. */
  readonly editable: readonly string[];
  readonly secretFields: readonly string[];
  readonly timeoutSeconds: number | null;
  /** Null: the tool touches itself. `anything`: a shell, of which nobody can say what it touches. */
  readonly resources: readonly PolicyTarget[] | 'anything' | null;
  readonly postconditions: readonly PolicyPostcondition[];
  /** For a `reconcilable` tool, and only there. */
  readonly status: PolicyStatus | null;
}

export interface Policy {
  readonly name: string;
  readonly revision: string;
  /** `shadow` lets everything pass and reports what it would have held or refused. */
  readonly mode: 'enforce' | 'shadow';
  /** The server's name in claims and messages. */
  readonly server: string;
  readonly holdSeconds: number;
  /** Whether the guard offers its own tool by which a host can have an unknown call asked about. */
  readonly settleTool: boolean;
  readonly approvers: Approvers;
  readonly roots: ReadonlyMap<string, PolicyRoot>;
  readonly tools: ReadonlyMap<string, PolicyTool>;
  readonly rules: readonly PolicyRule[];
  /** SHA-256 of the canonical JSON of the file: what an approval under this policy is bound to. */
  readonly digest: string;
}
