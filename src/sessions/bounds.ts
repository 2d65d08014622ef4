import { codePointsWithin, fail, LIMITS, requireText, requireWithin } from '../core/index.ts';
import { SESSION_PAGE_DEFAULT } from './model.ts';

/** An id of a caller, as `requireText` wants texts, within the bound for ids. */
export function checkId(name: string, value: string): void {
  requireText(name, value, LIMITS.sessionIdCodePoints);
}

/** A kind or type: lower-case words joined by `_`. */
export function checkWord(name: string, value: string): void {
  requireWithin('sessionWordCodePoints', value.length);
  if (!/^[a-z][a-z0-9_]*$/.test(value)) throw fail('INVALID_VALUE', `${name} must be lower-case words joined by _.`);
}

/** A long text that may be blank; what cannot be stored is refused. */
export function checkLongText(name: string, value: string | null | undefined): void {
  if (value == null) return;
  requireWithin('sessionTextUnits', value.length);
  if (value.includes('\0') || !value.isWellFormed())
    throw fail('INVALID_VALUE', `${name} must be valid text without NUL or lone surrogates.`);
}

/** A stored JSON text, already canonical. */
export function checkJsonText(text: string | null): string | null {
  if (text !== null && !codePointsWithin(text, LIMITS.sessionJsonCodePoints))
    requireWithin('sessionJsonCodePoints', text.length);
  return text;
}

/** How many rows a page may have: what was asked for, within 1 and the bound. */
export function pageSize(limit: number | undefined): number {
  const wanted = limit ?? SESSION_PAGE_DEFAULT;
  if (!Number.isInteger(wanted) || wanted < 1) throw fail('INVALID_VALUE', 'limit must be a whole number from 1.');
  return Math.min(wanted, LIMITS.sessionPageRows);
}
