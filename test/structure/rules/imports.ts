import { posix } from 'node:path';
import {
  isCallExpression,
  isExportDeclaration,
  isImportDeclaration,
  isImportTypeNode,
  isLiteralTypeNode,
  isStringLiteral,
  type Node,
  SyntaxKind,
} from 'typescript/unstable/ast';
import { eachNode, type ParsedFile, placeOf, type SourceTree } from '../source-tree.ts';

/** A room may use the rooms before it in this list, through their `index.ts`. */
export const ROOMS = [
  'core',
  'store',
  'principals',
  'archive',
  'tools',
  'sessions',
  'effects',
  'approvals',
  'operations',
  'calls',
  'models',
  'runs',
  'autonomy',
  'packages',
  'mcp',
  'app',
  'engine',
  'gateway',
  'client',
  'cli',
  'testing',
] as const;

/** What may name a concrete store: the composition root and the public test kit. */
const MAY_NAME_A_STORE = new Set(['app', 'testing']);
const STORE_DOORS = /^src\/store\/(sqlite|postgres)\/index\.ts$/;

export interface Import {
  readonly from: string;
  readonly place: string;
  readonly specifier: string;
  /** The file in the tree, for a relative import. */
  readonly to: string | undefined;
  readonly typeOnly: boolean;
}

interface Named {
  readonly specifier: Node;
  readonly typeOnly: boolean;
}

function named(node: Node): Named | undefined {
  if (isImportDeclaration(node))
    return {
      specifier: node.moduleSpecifier,
      typeOnly: node.importClause?.phaseModifier === SyntaxKind.TypeKeyword,
    };
  if (isExportDeclaration(node) && node.moduleSpecifier !== undefined)
    return { specifier: node.moduleSpecifier, typeOnly: node.isTypeOnly };
  if (isImportTypeNode(node) && isLiteralTypeNode(node.argument))
    return { specifier: node.argument.literal, typeOnly: true };
  if (isCallExpression(node) && node.expression.kind === SyntaxKind.ImportKeyword) {
    const argument = node.arguments[0];
    if (argument !== undefined) return { specifier: argument, typeOnly: false };
  }
  return undefined;
}

/** Every import and re-export of a file, dynamic and type-only ones included. */
export function importsOf(file: ParsedFile): Import[] {
  const found: Import[] = [];
  eachNode(file, (node) => {
    const name = named(node);
    if (name === undefined || !isStringLiteral(name.specifier)) return;
    const specifier = name.specifier.text;
    const to = specifier.startsWith('.') ? posix.join(posix.dirname(file.path), specifier) : undefined;
    found.push({ from: file.path, place: placeOf(file, node), specifier, to, typeOnly: name.typeOnly });
  });
  return found;
}

function roomOf(path: string): string | undefined {
  return /^src\/([^/]+)\//.exec(path)?.[1];
}

function judge(edge: Import): string | undefined {
  const from = roomOf(edge.from);
  const to = edge.to === undefined ? undefined : roomOf(edge.to);
  if (edge.to === undefined || from === to) return undefined;
  if (!edge.to.startsWith('src/')) return `${edge.place} leaves src/ for ${edge.to}`;
  if (to === undefined) return `${edge.place} imports the public face ${edge.to}`;
  const toAt = (ROOMS as readonly string[]).indexOf(to);
  const fromAt = from === undefined ? ROOMS.indexOf('cli') : (ROOMS as readonly string[]).indexOf(from);
  if (toAt < 0) return `${edge.place}: ${to} is not a room`;
  if (fromAt < 0) return `${edge.place}: ${from} is not a room`;
  if (toAt >= fromAt) return `${edge.place}: ${from ?? 'index.ts'} may not use ${to}`;
  if (STORE_DOORS.test(edge.to))
    return MAY_NAME_A_STORE.has(from ?? '') ? undefined : `${edge.place} names a concrete store`;
  return edge.to === `src/${to}/index.ts` ? undefined : `${edge.place} goes around the door of ${to} to ${edge.to}`;
}

/** Imports of src/ that go down the list of rooms, around a door, or to a concrete store. */
export function wrongImports(tree: SourceTree): string[] {
  return tree.files
    .filter((file) => file.path.startsWith('src/'))
    .flatMap(importsOf)
    .map(judge)
    .filter((problem) => problem !== undefined);
}

/** Circles of imports that exist at run time, each as the list of its files. */
export function circles(tree: SourceTree): string[][] {
  const graph = new Map<string, string[]>();
  for (const file of tree.files) {
    const targets = importsOf(file).filter((edge) => !edge.typeOnly && edge.to !== undefined);
    graph.set(
      file.path,
      targets.map((edge) => edge.to ?? ''),
    );
  }
  const found: string[][] = [];
  const done = new Set<string>();
  const trail: string[] = [];
  const walk = (path: string): void => {
    const at = trail.indexOf(path);
    if (at >= 0) found.push([...trail.slice(at), path]);
    if (at >= 0 || done.has(path)) return;
    trail.push(path);
    for (const next of graph.get(path) ?? []) walk(next);
    trail.pop();
    done.add(path);
  };
  for (const path of graph.keys()) walk(path);
  return found;
}
