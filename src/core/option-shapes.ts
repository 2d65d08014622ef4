import { fail, type HoldfastError } from './errors.ts';
import { LIMITS } from './limits.ts';
import { codePointsWithin, isBlank } from './text.ts';

/**
 * What the value of an option must be: throws INVALID_VALUE otherwise, naming the option and showing nothing of what was
 * given. Types say the same to whoever compiles; this says it to plain JavaScript, before anything is opened.
 */
export type OptionShape = (name: string, value: unknown) => void;

function wrongOption(name: string, rule: string): HoldfastError {
  return fail('INVALID_VALUE', `The option \`${name}\` must be ${rule}.`, { details: { option: name } });
}

/** A shape by a question and what it asks for, as it stands after "must be". */
export function shapeOf(rule: string, fits: (value: unknown) => boolean): OptionShape {
  return (name, value) => {
    if (!fits(value)) throw wrongOption(name, rule);
  };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const flagOption = shapeOf('true or false', (value) => typeof value === 'boolean');
export const functionOption = shapeOf('a function', (value) => typeof value === 'function');
export const stringOption = shapeOf('text', (value) => typeof value === 'string');
export const objectOption = shapeOf('an object', isObject);

/** A text that names something: not blank, without NUL and lone surrogates, of at most `most` characters. */
export function textOption(most: number = LIMITS.identifierCodePoints): OptionShape {
  const isText = (value: unknown): boolean =>
    typeof value === 'string' &&
    codePointsWithin(value, most) &&
    !isBlank(value) &&
    !value.includes('\0') &&
    value.isWellFormed();
  return shapeOf(`text of 1 to ${most} characters, not blank and without NUL`, isText);
}

export function wholeOption(least: number, most: number): OptionShape {
  const isWithin = (value: unknown): boolean =>
    typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most;
  return shapeOf(`a whole number from ${least} to ${most}`, isWithin);
}

export function wordOption(words: readonly string[]): OptionShape {
  return shapeOf(words.map((word) => `'${word}'`).join(' or '), (value) => words.some((word) => word === value));
}

export function nullableOption(shape: OptionShape): OptionShape {
  return (name, value) => {
    if (value !== null) shape(name, value);
  };
}

export function listOption(item: OptionShape): OptionShape {
  return (name, value) => {
    if (!Array.isArray(value)) throw wrongOption(name, 'a list');
    // Not `forEach`, which passes over holes.
    for (const [at, one] of value.entries()) item(`${name}[${at}]`, one);
  };
}

/** Whatever has these functions, as its own or by its class. */
export function functionsOption(...functions: readonly string[]): OptionShape {
  const has = (value: unknown): boolean =>
    ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
    functions.every((name) => typeof (value as Record<string, unknown>)[name] === 'function');
  return shapeOf(`an object with ${functions.map((name) => `\`${name}()\``).join(' and ')}`, has);
}

/** An object of whatever names, each with a value of this shape. */
export function recordOption(shape: OptionShape): OptionShape {
  return (name, value) => {
    objectOption(name, value);
    for (const [key, one] of Object.entries(value as Record<string, unknown>))
      shape(`${name}.${key.slice(0, 64)}`, one);
  };
}

export interface FieldShapes {
  readonly needed?: Readonly<Record<string, OptionShape>>;
  readonly optional?: Readonly<Record<string, OptionShape>>;
}

/** An object with these fields; `undefined` is a field that is left out, and fields of other names are passed over. */
export function fieldsOption({ needed = {}, optional = {} }: FieldShapes): OptionShape {
  const names = Object.keys(needed).map((name) => `\`${name}\``);
  const rule = names.length === 0 ? 'an object' : `an object with ${names.join(' and ')}`;
  return (name, value) => {
    if (!isObject(value)) throw wrongOption(name, rule);
    const path = (field: string): string => (name === '' ? field : `${name}.${field}`);
    for (const [field, shape] of Object.entries(needed)) shape(path(field), value[field]);
    for (const [field, shape] of Object.entries(optional))
      if (value[field] !== undefined) shape(path(field), value[field]);
  };
}

/** Checks the options of `what`, such as `Holdfast.open`. Throws INVALID_VALUE at the first that is of a wrong shape. */
export function checkOptions(what: string, given: unknown, shapes: FieldShapes): void {
  if (!isObject(given))
    throw fail('INVALID_VALUE', `The options of \`${what}\` must be an object.`, { details: { option: what } });
  fieldsOption(shapes)('', given);
}
