import { LIMITS } from '../../core/index.ts';
import { validate } from '@cfworker/json-schema';
import type { SchemaIssue } from '../model.ts';
import type { PreparedSchema } from './prepare.ts';
import { StepsSpent, withSteps } from './steps.ts';

/** Issues of a value, none when it fits. A check that passes its budget is an issue: what was not checked is refused. */
export function interpret(schema: PreparedSchema, value: unknown, steps: number): SchemaIssue[] {
  try {
    const result = withSteps(steps, () => validate(value, schema.root, schema.dialect, schema.lookup, true));
    if (result.valid) return [];
    return result.errors.slice(-LIMITS.schemaIssues).map((error) => ({
      path: pointerOf(error.instanceLocation),
      message: error.error.slice(0, LIMITS.schemaIssueCodePoints),
    }));
  } catch (error) {
    if (error instanceof StepsSpent) return [{ path: '', message: 'checking this value needs too many steps' }];
    return [{ path: '', message: 'this value cannot be checked against its schema' }];
  }
}

/** `#/a/b` as the interpreter writes it -> `/a/b`. */
function pointerOf(location: string): string {
  const path = location.slice(1);
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}
