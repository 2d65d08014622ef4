import { z } from 'zod';
import { admitCall, modelToolSchemas, selectTools, tool, ToolRegistry } from '../../../src/tools/index.ts';
import { assert, check, contract } from '../../support/index.ts';

function sharedGroup(): ToolRegistry {
  const registry = new ToolRegistry();
  for (const name of ['exact_one', 'grouped_two'])
    registry.register(
      tool({
        name,
        description: name,
        groups: ['shared'],
        inputSchema: z.object({}),
        effect: 'read',
        execute: () => assert.fail('no tool body may run'),
      }),
    );
  return registry;
}

const EXPLICIT = { tools: ['exact_one'], toolGroups: ['shared'], excludeTools: [] };

contract('RUN-24', 'a list of tools that is not empty switches groups off', () => {
  assert.deepEqual([...selectTools(sharedGroup(), EXPLICIT)], ['exact_one']);
});

contract('RUN-25', 'the schemas for the model are those of the exact list', () => {
  const registry = sharedGroup();
  const schemas = modelToolSchemas(registry, selectTools(registry, EXPLICIT));
  assert.deepEqual(
    schemas.map((schema) => schema.function.name),
    ['exact_one'],
  );
});

check('a tool outside the list is denied as a value, before anything runs', () => {
  const registry = sharedGroup();
  const allowed = selectTools(registry, EXPLICIT);
  const admission = admitCall(registry, { name: 'grouped_two', allowed });
  assert.ok(admission.denied);
  assert.equal(admission.code, 'TOOL_NOT_ALLOWED');
  assert.match(admission.text, /not allowed/);
  const invented = admitCall(registry, { name: 'invented', allowed });
  assert.ok(invented.denied && invented.code === 'TOOL_UNKNOWN');
  assert.match(invented.text, /not allowed/);
});

check('without a list groups count, exclusion always counts, and nothing chosen is nothing allowed', () => {
  const registry = sharedGroup();
  const pick = (tools: string[], toolGroups: string[], excludeTools: string[]): string[] => [
    ...selectTools(registry, { tools, toolGroups, excludeTools }),
  ];
  assert.deepEqual(pick([], ['shared'], []), ['exact_one', 'grouped_two']);
  assert.deepEqual(pick([], ['shared'], ['exact_one']), ['grouped_two']);
  assert.deepEqual(pick(['exact_one', 'grouped_two'], [], ['grouped_two']), ['exact_one']);
  assert.deepEqual(pick([], [], []), []);
  assert.deepEqual(pick([], ['other'], []), []);
  assert.throws(() => pick(['invented'], [], []), { code: 'TOOL_UNKNOWN' });
});

check('a tool that is bound to pages is denied on every other page and without an address', () => {
  const registry = new ToolRegistry();
  const guarded = tool({
    name: 'guarded',
    description: '',
    inputSchema: z.object({ value: z.number() }),
    effect: 'once',
    needsApproval: true,
    urlPatterns: ['https://allowed.example.com/**'],
    execute: () => 'ok',
  });
  registry.register(guarded);
  const on = (pageUrl?: string) => admitCall(registry, { name: 'guarded', allowed: new Set(['guarded']), pageUrl });
  for (const page of [undefined, 'https://evil.example/x']) {
    const admission = on(page);
    assert.ok(admission.denied && admission.code === 'URL_POLICY_DENIED');
    assert.match(admission.text, /URL policy denied/);
  }
  const admission = on('https://allowed.example.com/path');
  assert.ok(!admission.denied && admission.tool === guarded);
});
