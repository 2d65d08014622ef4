import { LIMITS } from '../../core/index.ts';
import type { SchemaIssue } from '../model.ts';
import { CheckingThread } from './checking-thread.ts';
import { interpret } from './interpret.ts';
import { measureJson } from './measure.ts';
import { prepareSchema } from './prepare.ts';

export { measureJson } from './measure.ts';

const thread = new CheckingThread();
let schemas = 0;

/**
 * Makes a bounded check of a JSON Schema document of unknown origin. Throws `TOOL_SCHEMA_INVALID`; the check itself
 * never throws. Small values and simple schemas are checked at once, within a budget of steps; patterns, formats,
 * `uniqueItems`, `unevaluated…` and large values in a thread with a deadline.
 */
export function compileJsonSchema(document: unknown): (value: unknown) => Promise<readonly SchemaIssue[]> {
  const prepared = prepareSchema(document);
  const text = JSON.stringify(document);
  schemas += 1;
  const id = schemas;
  return async (value) => {
    const measured = measureJson(value, { nodes: LIMITS.checkedValues, depth: LIMITS.checkedDepth });
    if (typeof measured === 'string') return [{ path: '', message: TOO_LARGE[measured] }];
    if (!prepared.hard && measured.nodes <= LIMITS.inlineCheckedValues)
      return interpret(prepared, value, LIMITS.inlineCheckSteps);
    return thread.check(id, text, JSON.stringify(value));
  };
}

const TOO_LARGE = {
  nodes: `the value holds more than ${LIMITS.checkedValues} values`,
  depth: `the value is deeper than ${LIMITS.checkedDepth} levels`,
  not_json: 'the value is not plain JSON',
} as const;
