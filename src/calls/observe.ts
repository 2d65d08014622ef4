import {
  decide,
  type Filesystem,
  type LookStart,
  lookStarts,
  type ObservationInput,
  type PostconditionInput,
  type ResourceRef,
  resourceRef,
} from '../effects/index.ts';
import { HoldfastError, isSha256Hex } from '../core/index.ts';
import type { ToolObservation } from '../tools/index.ts';
import { attemptObserve, type Invocation } from './attempt.ts';
import { type ExactFile, type ExactScope, exactScope } from './call-scope.ts';
import type { CallsContext } from './context.ts';
import type { PreparedCall } from './model.ts';

/** What was seen of one resource after a call, before it has its place in the log. */
export type Seen = Omit<ObservationInput, 'observationId' | 'sourceActionId' | 'sourceExecutionId' | 'evidenceEventId'>;

/** What a look saw, and where the logs stood when it began. */
export interface Look {
  readonly seen: readonly Seen[];
  readonly since: readonly LookStart[];
}

/** A look that nobody took. */
export const NO_LOOK: Look = { seen: [], since: [] };

/** Looking is a courtesy to the outcome, never a reason to lose it: it gets this long at most. */
const MOST_LOOKING_MS = 5000;

/**
 * Looks at what a call was to leave behind: the tool's own `observe`, else a reading of the files it declared. A look
 * that fails, or that answers what cannot be believed, sees nothing.
 */
export async function lookAfter(
  { store }: Pick<CallsContext, 'store'>,
  of: { readonly call: PreparedCall; readonly tenantId: string; readonly statusRef: string },
  scope: ExactScope,
  filesystem: Filesystem,
  invocation: Invocation,
): Promise<Look> {
  const { call, tenantId, statusRef: operationId } = of;
  if (!call.tool.observe && scope.obligations.length === 0) return NO_LOOK;
  // Without the place at which it began, a look says nothing; what the tool has answered is to be written down all the same.
  const since = await store.read('calls.look', (tx) => lookStarts(tx, { tenantId, operationId })).catch(() => null);
  return since === null ? NO_LOOK : { since, seen: await see(call, scope, filesystem, invocation) };
}

async function see(
  call: PreparedCall,
  scope: ExactScope,
  filesystem: Filesystem,
  invocation: Invocation,
): Promise<readonly Seen[]> {
  if (call.tool.observe) {
    const timeoutMs = Math.min(MOST_LOOKING_MS, invocation.timeoutMs);
    const attempt = await attemptObserve(call.tool, call.input, { ...invocation, timeoutMs });
    if (attempt.ended !== 'returned') return [];
    try {
      return believable(attempt.value, scope.impactScope);
    } catch {
      // An answer that throws when it is read says nothing.
      return [];
    }
  }
  return scope.files.flatMap((file) => readFile(file, filesystem));
}

/**
 * The same for a call that was found out about later, by asking the other side: what is read now comes after the outcome
 * that is written with it. Where its files can no longer be named, nothing is seen.
 */
export async function lookLater(
  context: Pick<CallsContext, 'store'>,
  of: { readonly call: PreparedCall; readonly tenantId: string; readonly statusRef: string },
  filesystem: Filesystem,
  invocation: Invocation,
): Promise<Look & { readonly verified: boolean }> {
  const scope = scopeNow(of.call, filesystem);
  if (scope === null) return { ...NO_LOOK, verified: false };
  const look = await lookAfter(context, of, scope, filesystem, invocation);
  return { ...look, verified: allHold(scope.obligations, look.seen) };
}

function scopeNow(call: PreparedCall, filesystem: Filesystem): ExactScope | null {
  try {
    return exactScope(call.tool, call.input, filesystem);
  } catch (error) {
    if (error instanceof HoldfastError) return null;
    throw error;
  }
}

function readFile(file: ExactFile, filesystem: Filesystem): Seen[] {
  try {
    const { resource, exists, coverage, contentSha256 } = filesystem.readBack(file.root, file.path);
    return [
      { resource: resourceRef(resource, file.role), mechanism: 'filesystem_read', coverage, exists, contentSha256 },
    ];
  } catch (error) {
    if (error instanceof HoldfastError) return [];
    throw error;
  }
}

function believable(answer: unknown, scope: readonly ResourceRef[]): Seen[] {
  if (!Array.isArray(answer)) return [];
  return answer.slice(0, scope.length).flatMap((item: unknown) => {
    const seen = asObservation(item);
    const resource = seen && scope.find((ref) => ref.role === seen.role);
    if (!seen || !resource) return [];
    const { mechanism, coverage, exists, contentSha256 = '' } = seen;
    return [{ resource, mechanism, coverage, exists, contentSha256 }];
  });
}

const MECHANISMS: ReadonlySet<unknown> = new Set(['filesystem_read', 'owned_record_read', 'remote_readback']);

function asObservation(item: unknown): ToolObservation | null {
  if (typeof item !== 'object' || item === null) return null;
  const seen = item as Partial<Record<keyof ToolObservation, unknown>>;
  const fits =
    typeof seen.role === 'string' &&
    MECHANISMS.has(seen.mechanism) &&
    (seen.coverage === 'complete' || seen.coverage === 'partial') &&
    (seen.exists === null || typeof seen.exists === 'boolean') &&
    (seen.contentSha256 === undefined || (seen.exists === true && isSha256Hex(seen.contentSha256)));
  return fits ? (item as ToolObservation) : null;
}

/** Whether every declared end state was seen to hold; false where there is none, or one was not seen. */
export function allHold(obligations: readonly PostconditionInput[], seen: readonly Seen[]): boolean {
  const holds = (condition: PostconditionInput): boolean =>
    seen.some((one) => decide({ ...condition, expected: condition.expected ?? '' }, asSeen(one)) === 'true');
  return obligations.length > 0 && obligations.every(holds);
}

function asSeen(one: Seen) {
  return {
    observationId: '',
    sequence: 0,
    sourceActionId: '',
    sourceExecutionId: '',
    evidenceEventId: '',
    resource: one.resource,
    mechanism: one.mechanism,
    coverage: one.coverage,
    exists: one.exists ?? null,
    contentSha256: one.contentSha256 ?? '',
  };
}
