import { codePointsWithin, fail, isBlank, LIMITS } from '../core/index.ts';
import { isStandardSchema } from './compile-schema.ts';
import { TOOL_EFFECTS, type ToolDefinition } from './model.ts';
import { DEFAULT_TIMEOUT_MS, longestCallMs, retryOf } from './retry.ts';
import { checkUrlPatterns } from './url-policy.ts';

type Given = ToolDefinition<Record<string, unknown>, Record<string, unknown>>;

function wrong(field: string, rule: string): Error {
  return fail('TOOL_INVALID', `The tool's \`${field}\` ${rule}.`, { details: { field } });
}

const NAME = /^[A-Za-z][A-Za-z0-9_-]*$/;
const FIELDS: ReadonlySet<string> = new Set(
  (
    'name description inputSchema jsonSchema outputSchema effect needsApproval editable execute status authorize ' +
    'precondition timeoutMs settlesWithinMs receipt resources postconditions observe secretFields checkOutput ' +
    'outputLimits onError retry parallel groups urlPatterns producer revisions'
  ).split(' '),
);
const REVISIONS = ['inputSchema', 'outputSchema', 'effect', 'handler', 'producer', 'policy'] as const;
const HANDLERS = ['status', 'authorize', 'precondition', 'receipt', 'resources', 'postconditions', 'observe'] as const;

/** Throws `TOOL_INVALID` at the first field that is not as declared. Plain JavaScript callers are checked like all. */
export function checkDefinition(d: Given): void {
  if (typeof d !== 'object' || d === null) throw wrong('definition', 'must be an object');
  for (const field of Object.keys(d)) if (!FIELDS.has(field)) throw wrong(field.slice(0, 64), 'is no field of a tool');
  checkTexts(d);
  checkSchemas(d);
  checkEffect(d);
  checkHandlers(d);
  checkBounds(d);
  checkRetry(d);
  checkLists(d);
  checkRevisions(d);
}

function checkTexts(d: Given): void {
  if (typeof d.name !== 'string' || d.name.length > LIMITS.toolNameCodePoints || !NAME.test(d.name))
    throw wrong('name', `must be 1 to ${LIMITS.toolNameCodePoints} letters, digits, \`_\` or \`-\`, a letter first`);
  if (typeof d.description !== 'string' || !codePointsWithin(d.description, LIMITS.toolDescriptionCodePoints))
    throw wrong('description', `must be text of at most ${LIMITS.toolDescriptionCodePoints} characters`);
  if (d.producer !== undefined && !isLabel(d.producer))
    throw wrong('producer', `must be text of 1 to ${LIMITS.toolLabelCodePoints} characters`);
}

function checkSchemas(d: Given): void {
  for (const field of ['inputSchema', 'outputSchema'] as const) {
    const schema: unknown = d[field];
    if (schema === undefined && field === 'outputSchema') continue;
    if (!isStandardSchema(schema) && !isPlainObject(schema))
      throw wrong(field, 'must be a Standard Schema or a JSON Schema object');
  }
  if (d.jsonSchema !== undefined && !isPlainObject(d.jsonSchema)) throw wrong('jsonSchema', 'must be an object');
}

function checkEffect(d: Given): void {
  if (!TOOL_EFFECTS.includes(d.effect)) throw wrong('effect', `must be one of ${TOOL_EFFECTS.join(', ')}`);
  if (d.effect === 'once' && d.status !== undefined)
    throw wrong('status', 'is refused for effect `once`: a tool that can be asked is `reconcilable`');
  if (d.effect === 'reconcilable' && d.status === undefined)
    throw wrong('status', 'is needed for effect `reconcilable`');
}

function checkHandlers(d: Given): void {
  if (typeof d.execute !== 'function') throw wrong('execute', 'must be a function');
  for (const field of HANDLERS)
    if (d[field] !== undefined && typeof d[field] !== 'function') throw wrong(field, 'must be a function');
  if (d.checkOutput !== undefined && typeof d.checkOutput !== 'function')
    throw wrong('checkOutput', 'must be a function');
  if (d.needsApproval !== undefined && typeof d.needsApproval !== 'boolean' && typeof d.needsApproval !== 'function')
    throw wrong('needsApproval', 'must be true, false or a function');
  if (d.onError !== undefined && d.onError !== 'unknown' && d.onError !== 'not_done')
    throw wrong('onError', 'must be `unknown` or `not_done`');
  if (d.parallel !== undefined && typeof d.parallel !== 'boolean') throw wrong('parallel', 'must be true or false');
}

function checkBounds(d: Given): void {
  checkWhole('timeoutMs', d.timeoutMs, 1, LIMITS.toolTimeoutMs);
  checkWhole('settlesWithinMs', d.settlesWithinMs, 0, LIMITS.toolSettlesWithinMs);
  checkOutputLimits(d.outputLimits);
  checkWhole('outputLimits', d.outputLimits?.maxBytes, 1, LIMITS.toolOutputBytes);
  checkWhole('outputLimits', d.outputLimits?.maxDepth, 0, LIMITS.toolOutputDepth);
}

function checkOutputLimits(limits: unknown): void {
  if (limits === undefined) return;
  if (!isPlainObject(limits)) throw wrong('outputLimits', 'must be an object');
  for (const name of Object.keys(limits))
    if (name !== 'maxBytes' && name !== 'maxDepth') throw wrong('outputLimits', `has no \`${name.slice(0, 64)}\``);
}

function checkRetry({ retry, effect, timeoutMs = DEFAULT_TIMEOUT_MS }: Given): void {
  if (retry === undefined) return;
  if (effect !== 'read' && effect !== 'idempotent')
    throw wrong('retry', 'is refused for an effect other than `read` and `idempotent`: a repetition could do it twice');
  if (!isPlainObject(retry)) throw wrong('retry', 'must be an object');
  for (const name of Object.keys(retry))
    if (name !== 'most' && name !== 'pauseMs') throw wrong('retry', `has no \`${name.slice(0, 64)}\``);
  const { most, pauseMs } = retry;
  if (most === undefined) throw wrong('retry', 'must say `most`');
  checkWhole('retry', most, 1, LIMITS.toolRetries);
  checkWhole('retry', pauseMs, 0, LIMITS.toolRetryPauseMs);
  if (
    longestCallMs({ timeoutMs, retry: retryOf({ most, ...(pauseMs === undefined ? {} : { pauseMs }) }) }) >
    LIMITS.toolCallMs
  )
    throw wrong('retry', `may take at most ${LIMITS.toolCallMs} ms with every time-out and pause`);
}

function checkWhole(field: string, value: unknown, least: number, most: number): void {
  if (value === undefined) return;
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < least || value > most)
    throw wrong(field, `must be a whole number from ${least} to ${most}`);
}

function checkLists(d: Given): void {
  for (const field of ['editable', 'groups', 'secretFields'] as const) {
    const list: unknown = d[field];
    if (list === undefined) continue;
    if (!Array.isArray(list) || list.length > LIMITS.toolListItems || !list.every(isLabel))
      throw wrong(field, `must be at most ${LIMITS.toolListItems} texts, none empty`);
    if (new Set(list).size !== list.length) throw wrong(field, 'names something twice');
  }
  if (d.urlPatterns === undefined) return;
  const patterns: unknown = d.urlPatterns;
  if (!Array.isArray(patterns) || patterns.length === 0 || !patterns.every((p) => typeof p === 'string'))
    throw wrong('urlPatterns', 'must be a list of at least one text; leave it out for a tool without pages');
  checkUrlPatterns(d.urlPatterns);
}

function checkRevisions(d: Given): void {
  if (d.revisions === undefined) return;
  if (!isPlainObject(d.revisions)) throw wrong('revisions', 'must be an object');
  for (const [name, value] of Object.entries(d.revisions)) {
    if (!REVISIONS.some((known) => known === name)) throw wrong('revisions', `has no \`${name.slice(0, 64)}\``);
    if (!isLabel(value)) throw wrong('revisions', `must be texts of 1 to ${LIMITS.toolLabelCodePoints} characters`);
  }
}

/** Text that may stand in a column and on a screen: not blank, bounded, no control characters. */
function isLabel(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    !isBlank(value) &&
    codePointsWithin(value, LIMITS.toolLabelCodePoints) &&
    !/[\p{Cc}\p{Cs}]/u.test(value)
  );
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
