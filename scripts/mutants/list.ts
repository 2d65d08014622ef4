import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';

/** One edit that must turn the named tests red. */
export interface Mutant {
  readonly context: string;
  readonly number: number;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  readonly tests: readonly string[];
  readonly why: string;
}

const FOLDER = 'test/mutants';

/** The contexts that have mutants. */
export function contextsIn(root: string): string[] {
  return readdirSync(join(root, FOLDER))
    .filter((name) => name.endsWith('.json'))
    .map((name) => name.slice(0, -'.json'.length))
    .sort();
}

export function readMutants(root: string, context: string): Mutant[] {
  const entries = JSON.parse(readFileSync(join(root, FOLDER, `${context}.json`), 'utf8')) as Omit<Mutant, 'context'>[];
  return entries.map((entry, index) => ({ ...entry, context, number: index + 1 }));
}

/** Why a mutant cannot be tried as it is written, or undefined. */
export function faultOf(root: string, mutant: Mutant): string | undefined {
  const texts = [mutant.file, mutant.find, mutant.replace, mutant.why];
  if (texts.some((text) => typeof text !== 'string') || !Array.isArray(mutant.tests) || mutant.tests.length === 0)
    return 'it needs file, find, replace, why and at least one test';
  const missing = [mutant.file, ...mutant.tests].find((path) => !existsSync(join(root, path)));
  if (missing !== undefined) return `${missing} does not exist`;
  const parts = readFileSync(join(root, mutant.file), 'utf8').split(mutant.find);
  if (mutant.find === '' || parts.length < 2) return `'find' is not in ${mutant.file}`;
  if (parts.length > 2) return `'find' is ${parts.length - 1} times in ${mutant.file}`;
  return syntaxFault(mutant.file, parts.join(mutant.replace));
}

/** A mutant that does not even parse proves nothing. */
function syntaxFault(file: string, text: string): string | undefined {
  if (!file.endsWith('.ts')) return undefined;
  try {
    stripTypeScriptTypes(text);
    return undefined;
  } catch {
    return `${file} does not parse any more`;
  }
}
