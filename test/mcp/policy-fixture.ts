import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonValue } from '../../src/core/index.ts';
import { openFilesystem } from '../../src/effects/index.ts';
import { judgeCall, readPolicy, sealPolicy } from '../../src/mcp/index.ts';

export type Draft = Record<string, unknown>;

/** A policy about a server of files and a few other tools, whose root is `root`. */
export function draft(root: string, change: Draft = {}): Draft {
  return {
    version: 1,
    name: 'files',
    revision: '1',
    server: 'files',
    approvers: { roles: ['operator'] },
    roots: { files: { path: root } },
    tools: {
      read_file: { effect: 'read' },
      write_file: {
        effect: 'idempotent',
        editable: ['content'],
        resources: [{ kind: 'filesystem', role: 'file', root: 'files', path: '/path', may_be_missing: true }],
        postconditions: [{ role: 'file', predicate: 'content_sha256', content: '/content' }],
      },
      move_many: {
        effect: 'once',
        resources: [
          { kind: 'filesystem', role: 'source', root: 'files', path: '/moves/*/from' },
          { kind: 'owned', role: 'note', namespace: 'notes', collection: 'notes', record: '/note' },
        ],
        postconditions: [{ role: 'source', predicate: 'absent' }],
      },
      shell: { effect: 'once', resources: 'anything' },
      pay: { effect: 'once', on_error: 'not_done' },
    },
    rules: [
      { id: 'reads', tools: ['read_*'], decision: 'allow' },
      { id: 'small', tools: ['pay'], when: [{ at: '/amount', at_most: 10 }], decision: 'allow' },
      { id: 'large', tools: ['pay'], when: [{ at: '/amount', at_least: 1000 }], decision: 'deny', reason: 'too much' },
      {
        id: 'boss',
        tools: ['pay'],
        when: [{ at: '/amount', at_least: 100 }],
        decision: 'ask',
        approvers: { roles: ['boss'] },
      },
      { id: 'writes', tools: ['write_file'], when: [{ at: '/path', within: 'files' }], decision: 'allow' },
      { id: 'all', tools: ['*'], decision: 'allow' },
    ],
    ...change,
  };
}

export function workspace(folder: string): string {
  const root = join(folder, 'ws');
  mkdirSync(root);
  writeFileSync(join(root, 'a.txt'), 'a');
  writeFileSync(join(root, 'b.txt'), 'b');
  return root;
}

export const policyOf = (value: unknown) => readPolicy(JSON.stringify(value));

export function judge(value: Draft, name: string, args: JsonValue = {}) {
  return judgeCall(sealPolicy(policyOf(value), openFilesystem()), name, args);
}
