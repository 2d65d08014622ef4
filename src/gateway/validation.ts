import type { z } from 'zod';
import { displayText, fail } from '../core/index.ts';

const LONGEST_SHOWN = 120;

/** The value as the schema wants it, or REQUEST_INVALID that names the place: the first of what is wrong, never a value. */
export function readAs<S extends z.ZodType>(schema: S, value: unknown, part: string): z.output<S> {
  const read = schema.safeParse(value, { reportInput: false });
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const where = shown([part, ...(issue?.path ?? [])].map(String).join('.'));
  throw fail('REQUEST_INVALID', `${where}: ${shown(issue?.message ?? 'not as it must be')}.`, { details: { where } });
}

/** Keys come from the caller: they are shown cut and without what would not be seen. */
function shown(text: string): string {
  const units = Array.from(text);
  return displayText(units.length > LONGEST_SHOWN ? `${units.slice(0, LONGEST_SHOWN).join('')}…` : text);
}
