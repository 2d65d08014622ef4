import { z } from 'zod';
import { type Tool, tool, type ToolDefinition, ToolRegistry } from '../../src/tools/index.ts';
import { assert, check } from '../support/index.ts';

function make(name: string, change: Partial<ToolDefinition> = {}): Tool {
  return tool({ name, description: '', inputSchema: z.object({}), effect: 'read', execute: () => 1, ...change });
}

check('a name stays bound to its tool: the same again is nothing new, another is refused', () => {
  const registry = new ToolRegistry();
  const first = make('look');
  registry.register(first);
  registry.register(first);
  assert.throws(() => registry.register(make('look')), { code: 'TOOL_EXISTS' });
  assert.throws(() => registry.register(make('look', { revisions: { handler: 'h2' } })), { code: 'TOOL_EXISTS' });
  assert.equal(registry.current('look'), first);
  assert.equal(registry.current('constructor'), undefined);
  assert.deepEqual(registry.all(), [first]);
});

check('retired revisions are found by all six texts, and each once', () => {
  const registry = new ToolRegistry();
  const now = make('look', { revisions: { handler: 'h2' } });
  const old = make('look', { revisions: { handler: 'h1' } });
  registry.register(now);
  registry.registerRetired(old);
  registry.registerRetired(old);
  assert.equal(registry.revision('look', now.revisions), now);
  assert.equal(registry.revision('look', old.revisions), old);
  assert.equal(registry.current('look'), now);
  for (const name of Object.keys(old.revisions))
    assert.equal(registry.revision('look', { ...old.revisions, [name]: 'other' }), undefined, name);
  assert.throws(() => registry.registerRetired(make('look', { revisions: { handler: 'h1' } })), {
    code: 'TOOL_EXISTS',
  });
  assert.throws(() => registry.registerRetired(make('look', { revisions: { handler: 'h2' } })), {
    code: 'TOOL_EXISTS',
  });
});

check('a bare definition cannot be registered', () => {
  const bare = { name: 'bare', description: '', inputSchema: {}, effect: 'read', execute: () => 1 };
  assert.throws(() => new ToolRegistry().register(bare as unknown as Tool), { code: 'TOOL_INVALID' });
  assert.throws(() => new ToolRegistry().register(Object.freeze(bare) as unknown as Tool), { code: 'TOOL_INVALID' });
});

check('a registry takes ten thousand tools and not one more', () => {
  const registry = new ToolRegistry();
  const one = make('t');
  for (let i = 0; i < 10_000; i += 1) registry.register(Object.freeze({ ...one, name: `t${i}` }));
  assert.equal(registry.all().length, 10_000);
  assert.throws(() => registry.register(make('more')), { code: 'TOOL_INVALID' });
});
