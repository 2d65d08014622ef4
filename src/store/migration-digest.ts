import { fail, sha256Hex } from '../core/index.ts';
import type { ContextSchema, Migration } from './migration.ts';

/** SHA-256 over number, name and text: what is stored with an applied migration and compared at every opening. */
export function migrationDigest({ number, name, sqlite }: Migration): string {
  return sha256Hex(`${number}\n${name}\n${sqlite}`);
}

/** @throws INVALID_VALUE where the contexts repeat a name or do not number their migrations 1, 2, 3 … */
export function checkSchemas(schemas: readonly ContextSchema[]): void {
  const contexts = new Set(schemas.map((schema) => schema.context));
  if (contexts.size !== schemas.length) throw fail('INVALID_VALUE', 'Two schemas name the same context.');
  if (schemas.filter((schema) => schema.schemaVersion !== undefined).length > 1)
    throw fail('INVALID_VALUE', 'Only one context may fix the schema version.');
  for (const { context, migrations } of schemas) {
    if (!/^[a-z][a-z_]*$/.test(context)) throw fail('INVALID_VALUE', 'A context is named in small letters.');
    if (migrations.some((migration, i) => migration.number !== i + 1))
      throw fail('INVALID_VALUE', `The migrations of ${context} are not numbered from 1 without gaps.`);
  }
}

export interface Step {
  readonly context: string;
  readonly migration: Migration;
}

export function stepKey(context: string, number: number): string {
  return `migration:${context}:${String(number).padStart(4, '0')}`;
}

/**
 * The steps of all contexts in an order that gives each what it needs: a context's own in their numbers, and those of
 * others first where `needs` says so. @throws INVALID_VALUE where a need is absent or circular
 */
export function orderSteps(schemas: readonly ContextSchema[]): Step[] {
  const left = schemas.flatMap(({ context, migrations }) => migrations.map((migration) => ({ context, migration })));
  const done = new Set<string>();
  const ordered: Step[] = [];
  const ready = ({ context, migration: { number, needs = [] } }: Step) =>
    (number === 1 || done.has(stepKey(context, number - 1))) &&
    needs.every((need) => done.has(stepKey(need.context, need.number)));
  while (left.length > 0) {
    const at = left.findIndex(ready);
    const [step] = at < 0 ? [] : left.splice(at, 1);
    if (step === undefined) throw fail('INVALID_VALUE', `A migration of ${left[0]?.context} lacks what it needs.`);
    done.add(stepKey(step.context, step.migration.number));
    ordered.push(step);
  }
  return ordered;
}
