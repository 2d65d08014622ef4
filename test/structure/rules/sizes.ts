import {
  isArrowFunction,
  isConstructorDeclaration,
  isFunctionDeclaration,
  isFunctionExpression,
  isGetAccessorDeclaration,
  isMethodDeclaration,
  isSetAccessorDeclaration,
  type Node,
  SyntaxKind,
} from 'typescript/unstable/ast';
import { eachNode, type ParsedFile, placeOf, type SourceTree } from '../source-tree.ts';

export const LARGEST_FILE = 500;
export const LARGE_FILE = 300;
export const LONGEST_FUNCTION = 100;
export const LONG_FUNCTION = 35;

export interface Sized {
  readonly place: string;
  readonly lines: number;
}

function isFunction(node: Node): boolean {
  if (isArrowFunction(node)) return node.body.kind === SyntaxKind.Block;
  return (
    isFunctionDeclaration(node) ||
    isFunctionExpression(node) ||
    isMethodDeclaration(node) ||
    isConstructorDeclaration(node) ||
    isGetAccessorDeclaration(node) ||
    isSetAccessorDeclaration(node)
  );
}

export function fileSizes(files: readonly ParsedFile[]): Sized[] {
  return files.map((file) => ({ place: file.path, lines: file.text.trimEnd().split('\n').length }));
}

/** Every function, method, accessor and block-bodied arrow, nested ones also on their own. */
export function functionSizes(files: readonly ParsedFile[]): Sized[] {
  const found: Sized[] = [];
  for (const file of files)
    eachNode(file, (node) => {
      if (!isFunction(node)) return;
      const first = file.ast.getLineAndCharacterOfPosition(node.getStart(file.ast)).line;
      const last = file.ast.getLineAndCharacterOfPosition(node.getEnd()).line;
      found.push({ place: placeOf(file, node), lines: last - first + 1 });
    });
  return found;
}

export function above(sizes: readonly Sized[], bound: number): string[] {
  return sizes.filter(({ lines }) => lines > bound).map(({ place, lines }) => `${place} has ${lines} lines`);
}

/** The share of sizes that stay within a bound, from 0 to 1. */
export function shareWithin(sizes: readonly Sized[], bound: number): number {
  return sizes.length === 0 ? 1 : sizes.filter(({ lines }) => lines <= bound).length / sizes.length;
}

/** The product's own files, where the shares are held; the bounds themselves hold everywhere. */
export function productFiles(tree: SourceTree): readonly ParsedFile[] {
  return tree.files.filter((file) => file.path.startsWith('src/'));
}
