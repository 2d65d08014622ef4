import { canonicalJson, HoldfastError, type JsonValue, JsonNumber } from '../../core/index.ts';
import type { Filesystem, FilesystemRoot } from '../../effects/index.ts';
import { isReadTwice, valuesAt } from './json-pointer.ts';
import { pathOfServer } from './path-words.ts';
import type { Policy, PolicyCondition, PolicyRule } from './policy-model.ts';

/** `unclear`: the argument is missing or of another type, or the path cannot be judged. */
export type Answer = 'yes' | 'no' | 'unclear';

/** A policy with its roots sealed: what conditions and targets about files are judged with. */
export interface SealedPolicy {
  readonly policy: Policy;
  readonly filesystem: Filesystem;
  readonly roots: ReadonlyMap<string, FilesystemRoot>;
}

/** Whether a rule applies to these arguments, and the first condition that stood against it or was unclear. */
export interface RuleAnswer {
  readonly applies: boolean;
  readonly at?: string;
  readonly unclear: boolean;
}

/**
 * What cannot be told counts against the call: an allow applies only when every condition is clearly true of every
 * value; an ask or a deny applies unless some condition is clearly false of all of them.
 */
export function ruleApplies(sealed: SealedPolicy, rule: PolicyRule, args: JsonValue): RuleAnswer {
  let unclear: string | undefined;
  for (const condition of rule.when) {
    const answers = answersOf(sealed, condition, args);
    const fine =
      rule.decision === 'allow' ? answers.every((one) => one === 'yes') : answers.some((one) => one !== 'no');
    if (!fine) return { applies: false, at: condition.at, unclear: answers.includes('unclear') };
    if (!answers.includes('yes') && answers.includes('unclear')) unclear ??= condition.at;
  }
  return unclear === undefined ? { applies: true, unclear: false } : { applies: true, at: unclear, unclear: true };
}

/** Whether every one of these conditions is clearly true of every value that it looks at. */
export function holdsOf(sealed: SealedPolicy, conditions: readonly PolicyCondition[], value: JsonValue): boolean {
  return conditions.every((condition) => answersOf(sealed, condition, value).every((one) => one === 'yes'));
}

function answersOf(sealed: SealedPolicy, { at, test }: PolicyCondition, args: JsonValue): readonly Answer[] {
  if (isReadTwice(args, at)) return ['unclear'];
  const values = valuesAt(args, at);
  if (test.kind === 'present') return [(values !== undefined) === test.present ? 'yes' : 'no'];
  if (values === undefined) return ['unclear'];
  return values.map((value) => {
    switch (test.kind) {
      case 'equals':
        return isOneOf(value, [test.value]);
      case 'one_of':
        return isOneOf(value, test.values);
      case 'range':
        return inRange(value, test.atLeast, test.atMost);
      case 'within':
        return isWithinRoot(sealed, test.root, value);
      default:
        return test satisfies never;
    }
  });
}

/** Many servers take `"true"` for true and `"5"` for 5: that a value of another type is another value cannot be told. */
function isOneOf(value: JsonValue, wanted: readonly JsonValue[]): Answer {
  if (wanted.some((one) => sameValue(value, one))) return 'yes';
  return wanted.every((one) => typeOf(one) === typeOf(value)) ? 'no' : 'unclear';
}

function typeOf(value: JsonValue): string {
  if (value === null) return 'null';
  return numberOf(value) === undefined ? typeof value : 'number';
}

/** Numbers by value, `1.0` and `1` alike; everything else as canonical JSON. */
function sameValue(a: JsonValue, b: JsonValue): boolean {
  const [x, y] = [numberOf(a), numberOf(b)];
  if (x !== undefined && y !== undefined) return x === y || Number(x) === Number(y);
  return x === undefined && y === undefined && canonicalJson(a) === canonicalJson(b);
}

function inRange(value: JsonValue, atLeast: number | null, atMost: number | null): Answer {
  const number = numberOf(value);
  if (number === undefined) return 'unclear';
  return (atLeast === null || number >= atLeast) && (atMost === null || number <= atMost) ? 'yes' : 'no';
}

function numberOf(value: JsonValue): number | bigint | undefined {
  if (value instanceof JsonNumber) return value.value;
  return typeof value === 'number' || typeof value === 'bigint' ? value : undefined;
}

function isWithinRoot(sealed: SealedPolicy, name: string, value: JsonValue): Answer {
  const root = sealed.roots.get(name);
  const path = root && typeof value === 'string' ? pathOfServer(root, value) : null;
  if (!root || path === null) return 'unclear';
  try {
    sealed.filesystem.resolve(root, path, { allowMissing: true });
    return 'yes';
  } catch (error) {
    return error instanceof HoldfastError && error.code === 'RESOURCE_OUTSIDE_ROOT' ? 'no' : 'unclear';
  }
}
