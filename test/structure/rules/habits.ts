import {
  isCallExpression,
  isIdentifier,
  isNewExpression,
  isPropertyAccessExpression,
  type Node,
  SyntaxKind,
} from 'typescript/unstable/ast';
import { eachNode, type ParsedFile, placeOf, type SourceTree } from '../source-tree.ts';

/** Time and chance come from core's Clock and Ids, which tests can hold still. */
const TIME_AND_CHANCE = new Set([
  'Date.now',
  'performance.now',
  'performance.timeOrigin',
  'process.hrtime',
  'Math.random',
  'crypto.randomUUID',
  'crypto.getRandomValues',
]);
const CHANCE_FUNCTIONS = new Set(['randomUUID', 'randomBytes', 'randomInt', 'getRandomValues']);

function timeOrChance(node: Node, file: ParsedFile): string | undefined {
  if (isPropertyAccessExpression(node)) {
    const text = node.getText(file.ast);
    return TIME_AND_CHANCE.has(text.replace(/^globalThis\./, '')) ? text : undefined;
  }
  if (isNewExpression(node) && isIdentifier(node.expression) && node.expression.text === 'Date')
    return (node.arguments?.length ?? 0) === 0 ? 'new Date()' : undefined;
  if (isCallExpression(node) && isIdentifier(node.expression)) {
    const name = node.expression.text;
    return name === 'Date' || CHANCE_FUNCTIONS.has(name) ? `${name}()` : undefined;
  }
  return undefined;
}

function isProductAbove(room: string, path: string): boolean {
  return path.startsWith('src/') && !path.startsWith(`src/${room}/`);
}

/** Reads of the wall clock and of randomness in src/ outside core/. */
export function clocksAndDice(tree: SourceTree): string[] {
  const found: string[] = [];
  for (const file of tree.files.filter(({ path }) => isProductAbove('core', path)))
    eachNode(file, (node) => {
      const name = timeOrChance(node, file);
      if (name !== undefined) found.push(`${placeOf(file, node)} uses ${name}`);
    });
  return found;
}

/** Every `any` type, in any folder. */
export function anyTypes(tree: SourceTree): string[] {
  const found: string[] = [];
  for (const file of tree.files)
    eachNode(file, (node) => {
      if (node.kind === SyntaxKind.AnyKeyword) found.push(`${placeOf(file, node)} says any`);
    });
  return found;
}

/** A word that must not stand in a file, and where. The words are spelled apart, so that this file may hold them. */
interface ForbiddenWord {
  readonly pattern: RegExp;
  readonly where: (path: string) => boolean;
}

const everywhere = (path: string): boolean => path.length > 0;
const product = (path: string): boolean => path.startsWith('src/');
const exemptFromHome = (path: string): boolean => !path.startsWith('test/');

export const FORBIDDEN_WORDS: readonly ForbiddenWord[] = [
  {
    pattern: new RegExp(`\\b(TO${'DO'}|FIX${'ME'}|XX${'X'}|HA${'CK'})\\b`),
    where: (path) => /\.(ts|js|mjs)$/.test(path),
  },
  { pattern: new RegExp(`@ts-(ig${'nore'}|no${'check'})`), where: everywhere },
  { pattern: new RegExp(`(ox|es)lint-dis${'able'}|biome-ig${'nore'}`), where: everywhere },
  { pattern: new RegExp(`ref${'und'}|ORDER-${'7'}|prot${'ein'}`, 'i'), where: product },
  { pattern: new RegExp(`(?<![\\w.~}/-])/${'(work|root)'}(?=/)`), where: everywhere },
  { pattern: new RegExp(`(?<![\\w.~}/-])/${'home'}/`), where: exemptFromHome },
  { pattern: new RegExp(`\\bregis${'try'}\\.[a-z0-9-]+\\.[a-z]+`), where: everywhere },
  { pattern: /"resolved": "http/, where: (path) => path.endsWith('package-lock.json') },
];

/** Lines of text files that hold a forbidden word. */
export function forbiddenWords(files: Iterable<{ readonly path: string; readonly text: string }>): string[] {
  const found: string[] = [];
  for (const { path, text } of files) {
    const rules = FORBIDDEN_WORDS.filter(({ where, pattern }) => where(path) && pattern.test(text));
    if (rules.length === 0) continue;
    for (const [index, line] of text.split('\n').entries())
      for (const { pattern } of rules)
        if (pattern.test(line)) found.push(`${path}:${index + 1} holds '${pattern.exec(line)?.[0] ?? ''}'`);
  }
  return found;
}
