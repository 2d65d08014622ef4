import { codePointsWithin, fail, type HoldfastError, isSha256Hex, LIMITS, requireWithin } from '../core/index.ts';
import {
  CLEANUPS,
  COVERAGES,
  type EffectClaim,
  type EffectObservation,
  type EffectOutcome,
  EXECUTIONS,
  IMPACTS,
  MECHANISMS,
  type OutcomeFacts,
  type Postcondition,
  PREDICATES,
  RESOURCE_KINDS,
  type ResourceRef,
  type ActionRef,
} from './model.ts';
import { equalRefs } from './overlap.ts';
import { verifyingMechanism } from './predicates.ts';

const RUN_ID = /^[0-9a-f]{32}$/;
const WORD = /^[a-z0-9_.:-]{0,64}$/;
const FORBIDDEN = /[\0\n\r]/;
const READINGS: readonly string[] = ['filesystem_read', 'owned_record_read', 'remote_readback'];

/** A record that can never be right; nothing of it was kept. */
export function invalid(message: string): HoldfastError {
  return fail('EFFECT_RECORD_INVALID', message);
}

/** Run ids are made by the server: 32 lower-case hex characters, so that no name of a file can be forged. */
export function checkRunId(runId: unknown): string {
  if (typeof runId === 'string' && RUN_ID.test(runId)) return runId;
  throw fail('EFFECT_RUN_ID_INVALID', 'A run id is 32 lower-case hexadecimal characters.');
}

export function checkClaim(claim: EffectClaim): EffectClaim {
  id(claim.effectId, 'effect_id');
  if (!RUN_ID.test(text(claim.runId, 'run_id'))) throw invalid('run_id is not a run id');
  id(claim.actionId, 'action_id');
  position(claim.sequence);
  checkAction(claim.operation);
  list(claim.impactScope, 'impact_scope').forEach(checkRef);
  list(claim.dependencies, 'dependencies').forEach(checkRef);
  for (const obligation of list(claim.obligations, 'obligations')) checkObligation(obligation, claim.impactScope);
  text(claim.parentRunId, 'parent_run_id');
  flag(claim.external, 'external');
  return claim;
}

/** VAL-4 to VAL-6: what never reached a tool changed nothing and has no execution; `attempted` is never recorded. */
export function checkOutcome(outcome: EffectOutcome): EffectOutcome {
  id(outcome.effectId, 'effect_id');
  position(outcome.sequence);
  if (oneOf(outcome.execution as string, EXECUTIONS, 'execution') === 'attempted')
    throw invalid('attempted is derived and cannot be recorded');
  oneOf(outcome.impact, IMPACTS, 'impact');
  oneOf(outcome.cleanup, CLEANUPS, 'cleanup');
  checkFacts(outcome.facts);
  text(outcome.executionId, 'execution_id');
  flag(outcome.replayed, 'replayed');
  const reached = outcome.execution !== 'not_executed';
  if (reached === (outcome.impact === 'none')) throw invalid('impact is none exactly when execution is not_executed');
  if (!reached && outcome.executionId !== '') throw invalid('not_executed goes with an empty execution_id');
  return outcome;
}

export function checkObservation(seen: EffectObservation): EffectObservation {
  id(seen.observationId, 'observation_id');
  position(seen.sequence);
  checkRef(seen.resource);
  oneOf(seen.mechanism, MECHANISMS, 'mechanism');
  oneOf(seen.coverage, COVERAGES, 'coverage');
  for (const key of ['sourceActionId', 'sourceExecutionId', 'evidenceEventId'] as const) text(seen[key], key);
  if (seen.exists !== null) flag(seen.exists, 'exists');
  if (seen.contentSha256 !== '') digest(seen.contentSha256, 'content_sha256');
  if (READINGS.includes(seen.mechanism) && seen.sourceActionId === '')
    throw invalid('a reading names its source_action_id');
  if (seen.contentSha256 !== '' && seen.exists !== true) throw invalid('content_sha256 goes only with exists true');
  return seen;
}

export function checkRef(ref: ResourceRef): void {
  oneOf(ref.kind, RESOURCE_KINDS, 'kind');
  id(ref.role, 'role');
  if (!Array.isArray(ref.location) || ref.location.length < 2 || ref.location.length > LIMITS.effectLocationParts)
    throw invalid('a location has at least two parts, within bounds');
  for (const part of ref.location) text(part, 'location', LIMITS.effectLocationPartCodePoints);
  if (ref.location[0] !== ref.kind) throw invalid('a location begins with its kind');
  text(ref.incarnation, 'incarnation');
  digest(ref.snapshotSha256, 'snapshot_sha256');
}

function checkAction(action: ActionRef): void {
  id(action.tool, 'tool');
  text(action.action, 'action');
  digest(action.inputSha256, 'input_sha256');
  text(action.requestId, 'request_id');
}

/** VAL-7, VAL-8. */
function checkObligation(obligation: Postcondition, scope: readonly ResourceRef[]): void {
  checkRef(obligation.target);
  oneOf(obligation.predicate, PREDICATES, 'predicate');
  text(obligation.expected, 'expected');
  if (!scope.some((ref) => equalRefs(ref, obligation.target)))
    throw invalid('an obligation is about one of the references in impact_scope');
  if (verifyingMechanism(obligation.target.kind) === null)
    throw invalid(`no predicate exists for the kind ${obligation.target.kind}`);
  const content = obligation.predicate === 'content_sha256' || obligation.predicate === 'content_changed';
  if (content) digest(obligation.expected, 'expected');
  else if (obligation.expected !== '') throw invalid(`expected is empty for ${obligation.predicate}`);
}

function checkFacts(facts: OutcomeFacts): void {
  if (facts.exitCode !== null && !Number.isSafeInteger(facts.exitCode)) throw invalid('exit_code is a whole number');
  for (const key of ['timedOut', 'outputTruncated', 'remoteAcknowledged', 'external', 'mutationAttempted'] as const)
    flag(facts[key], key);
  for (const key of ['failureKind', 'jobState'] as const)
    if (!WORD.test(text(facts[key], key))) throw invalid(`${key} is at most 64 characters of a-z 0-9 _ . : -`);
}

function text(value: unknown, name: string, most: number = LIMITS.effectTextCodePoints): string {
  if (typeof value !== 'string') throw invalid(`${name} is not a text`);
  if (!codePointsWithin(value, most)) throw invalid(`${name} is longer than ${most} characters`);
  if (FORBIDDEN.test(value) || !value.isWellFormed())
    throw invalid(`${name} holds NUL, a line break or half a character`);
  return value;
}

function id(value: unknown, name: string): void {
  if (text(value, name) === '') throw invalid(`${name} is empty`);
}

function digest(value: unknown, name: string): void {
  if (!isSha256Hex(value)) throw invalid(`${name} is not a SHA-256 in lower-case hex`);
}

function flag(value: unknown, name: string): void {
  if (typeof value !== 'boolean') throw invalid(`${name} is not true or false`);
}

function position(value: unknown): void {
  if (!Number.isSafeInteger(value) || (value as number) < 0)
    throw invalid('sequence is not a whole number of at least 0');
}

function oneOf<T extends string>(value: unknown, values: readonly T[], name: string): T {
  const found = values.find((one) => one === value);
  if (found === undefined) throw invalid(`${name} is not one of its words`);
  return found;
}

function list<T>(value: readonly T[], name: string): readonly T[] {
  if (!Array.isArray(value)) throw invalid(`${name} is not a list`);
  requireWithin('effectReferences', value.length);
  return value;
}
