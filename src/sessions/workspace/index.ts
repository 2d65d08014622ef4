export type { Added, Collected } from './collect.ts';
export type { Capture, SeenFile, SkippedName, SkipReason, TreeChange, TreeEntry, WorkspaceTree } from './model.ts';
export type { Restored } from './restore.ts';
export { type ReadFile, type ReadWorkspace, readWorkspaceWhole } from './read-whole.ts';
export type { ScanOptions } from './scan.ts';
export { diffTrees, readTreeDocument, treeDocument, treeIdOf } from './tree.ts';
export { type KeptContent, type TreeProblem, WorkspaceStore, type WorkspaceStoreOptions } from './workspace-store.ts';
