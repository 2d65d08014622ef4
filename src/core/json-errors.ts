import { fail, type HoldfastError } from './errors.ts';

/** What a JSON text or value can be too large in. */
export type JsonSizeReason = 'bytes' | 'string' | 'members' | 'items' | 'values' | 'digits';

const SIZE_WORDS: Record<JsonSizeReason, string> = {
  bytes: 'bytes',
  string: 'code points in one string',
  members: 'members in one object',
  items: 'items in one array',
  values: 'values in all',
  digits: 'digits in one number',
};

export function tooLarge(reason: JsonSizeReason, max: number): HoldfastError {
  return fail('JSON_TOO_LARGE', `The JSON has more than ${max} ${SIZE_WORDS[reason]}.`, { details: { reason, max } });
}

export function tooDeep(max: number): HoldfastError {
  return fail('JSON_TOO_DEEP', `The nesting of the JSON is deeper than ${max} levels.`, { details: { max } });
}

export function badEncoding(reason: 'utf8' | 'bom' | 'lone_surrogate'): HoldfastError {
  const words = {
    utf8: 'The bytes are not valid UTF-8.',
    bom: 'The JSON begins with a byte order mark.',
    lone_surrogate: 'The JSON has a lone surrogate, which UTF-8 cannot carry.',
  };
  return fail('JSON_ENCODING', words[reason], { details: { reason } });
}

export function badNumber(reason: 'not_finite' | 'overflow' | 'integer_range'): HoldfastError {
  const words = {
    not_finite: 'NaN and Infinity are not JSON.',
    overflow: 'A number is too large for a double.',
    integer_range: 'An integer lies beyond 2^53 - 1 in absolute value.',
  };
  return fail('JSON_NUMBER', words[reason], { details: { reason } });
}

export function unsupported(reason: string): HoldfastError {
  return fail('JSON_UNSUPPORTED_VALUE', `The value is not JSON: ${reason}.`, { details: { reason } });
}
