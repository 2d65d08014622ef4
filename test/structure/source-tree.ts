import { join, relative } from 'node:path';
import type { Node, SourceFile } from 'typescript/unstable/ast';
import { createVirtualFileSystem } from 'typescript/unstable/fs';
import { API, type Checker } from 'typescript/unstable/sync';

/** One parsed file; `path` is relative to the tree's root, with forward slashes. */
export interface ParsedFile {
  readonly path: string;
  readonly text: string;
  readonly ast: SourceFile;
}

/** The TypeScript files of one project, parsed, with the compiler's knowledge of their symbols. */
export interface SourceTree {
  readonly root: string;
  readonly files: readonly ParsedFile[];
  readonly checker: Checker;
  close(): void;
}

const SAMPLE_ROOT = '/sample';
const SAMPLE_CONFIG = JSON.stringify({
  compilerOptions: { noLib: true, types: [], module: 'NodeNext', target: 'ES2024', allowImportingTsExtensions: true },
  include: ['**/*.ts'],
});

function open(root: string, api: API): SourceTree {
  const snapshot = api.updateSnapshot({ openProject: join(root, 'tsconfig.json') });
  const project = snapshot.getProjects()[0];
  if (project === undefined) throw new Error('the compiler opened no project');
  const files: ParsedFile[] = [];
  for (const name of project.program.getSourceFileNames()) {
    const path = relative(root, name).replaceAll('\\', '/');
    if (path.startsWith('..') || path.startsWith('bundled:') || path.includes('node_modules')) continue;
    const ast = project.program.getSourceFile(name);
    if (ast !== undefined) files.push({ path, text: ast.text, ast });
  }
  return { root, files, checker: project.checker, close: () => api.close() };
}

/** This repository's own sources: what tsconfig.json includes. */
export function readRepository(): SourceTree {
  const root = join(import.meta.dirname, '..', '..');
  return open(root, new API({ cwd: root }));
}

/** A small project in memory, to show that a rule sees what it must see. */
export function readSample(files: Readonly<Record<string, string>>): SourceTree {
  const placed = Object.entries(files).map(([path, text]) => [`${SAMPLE_ROOT}/${path}`, text]);
  const fs = createVirtualFileSystem({
    [`${SAMPLE_ROOT}/tsconfig.json`]: SAMPLE_CONFIG,
    [`${SAMPLE_ROOT}/package.json`]: '{"type":"module"}',
    ...Object.fromEntries(placed),
  });
  return open(SAMPLE_ROOT, new API({ cwd: SAMPLE_ROOT, fs }));
}

/** Calls `visit` on every node of a file, parents first. */
export function eachNode(file: ParsedFile, visit: (node: Node) => void): void {
  const walk = (node: Node): undefined => {
    visit(node);
    node.forEachChild(walk);
    return undefined;
  };
  walk(file.ast);
}

/** `src/a.ts:12`, as editors and people take it. */
export function placeOf(file: ParsedFile, node: Node): string {
  const { line } = file.ast.getLineAndCharacterOfPosition(node.getStart(file.ast));
  return `${file.path}:${line + 1}`;
}
