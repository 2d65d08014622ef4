import { z } from 'zod';
import { argumentsSha256, callArgumentHash, type Grant } from '../../../src/approvals/index.ts';
import { canonicalJson, type JsonObject } from '../../../src/core/index.ts';
import { callThroughGates, type GateAnswer, type GatedCall } from '../../../src/runs/index.ts';
import { modelToolSchemas, selectTools, tool, ToolRegistry } from '../../../src/tools/index.ts';
import { assert, check, contract } from '../../support/index.ts';

interface Gates {
  readonly registry: ToolRegistry;
  readonly executed: unknown[];
  readonly call: (name: string, given: JsonObject, host?: Partial<GatedCall>) => Promise<GateAnswer>;
}

function gates(): Gates {
  const registry = new ToolRegistry();
  const executed: unknown[] = [];
  const inputSchema = z.object({ value: z.number().int().default(0) });
  for (const [name, answer] of [
    ['exact_one', 'one'],
    ['grouped_two', 'two'],
  ] as const)
    registry.register(
      tool({
        name,
        description: name,
        groups: ['shared'],
        inputSchema,
        effect: 'read',
        execute({ value }) {
          executed.push([name, value]);
          return answer;
        },
      }),
    );
  registry.register(
    tool({
      name: 'guarded',
      description: 'guarded',
      inputSchema,
      effect: 'once',
      needsApproval: true,
      editable: ['value'],
      urlPatterns: ['https://allowed.example.com/**'],
      execute({ value }) {
        executed.push(['guarded', value]);
        return 'ok';
      },
    }),
  );
  const allowed = new Set(registry.all().map((one) => one.name));
  const principal = { tenant: 'local', subject: 'owner', roles: [] };
  const call: Gates['call'] = (name, given, host) =>
    callThroughGates(registry, {
      name,
      arguments: given,
      toolCallId: 'call-1',
      allowed,
      grant: null,
      traceId: 'trace-1',
      principal,
      idempotencyKey: 'key-1',
      signal: new AbortController().signal,
      ...host,
    });
  return { registry, executed, call };
}

const EXPLICIT = { tools: ['exact_one'], toolGroups: ['shared'], excludeTools: [] };
const ALLOWED_PAGE = 'https://allowed.example.com/path';

const fitting = (over: Partial<Grant> = {}): Grant => ({
  batch_id: 'batch-1',
  trace_id: 'trace-1',
  tool_call_id: 'call-1',
  tool_name: 'guarded',
  argument_hash: callArgumentHash('call-1', 'guarded', argumentsSha256(canonicalJson({ value: 4 }))),
  decision: 'approved',
  ...over,
});

const textOf = (answer: GateAnswer): string => (answer.denied ? answer.text : '');

contract('RUN-24 RUN-25', 'an explicit list switches groups off, for names and for schemas', () => {
  const { registry } = gates();
  const names = selectTools(registry, EXPLICIT);
  assert.deepEqual(names, new Set(['exact_one']));
  assert.deepEqual(
    modelToolSchemas(registry, names).map((schema) => schema.function.name),
    ['exact_one'],
  );
});

contract('RUN-26 RUN-27', 'a tool outside the list is denied as a value, and no body runs', async () => {
  const { registry, executed, call } = gates();
  const denied = await call('grouped_two', {}, { allowed: selectTools(registry, EXPLICIT) });
  assert.match(textOf(denied), /not allowed/);
  assert.deepEqual(executed, []);
});

contract('RUN-28 RUN-29 RUN-30 RUN-31', 'neither a grant opens the page nor the page the grant', async () => {
  const { executed, call } = gates();
  assert.match(textOf(await call('guarded', { value: 4 }, { grant: fitting() })), /URL policy denied/);
  const elsewhere = { grant: fitting(), pageUrl: 'https://evil.example/x' };
  assert.match(textOf(await call('guarded', { value: 4 }, elsewhere)), /URL policy denied/);
  assert.match(textOf(await call('guarded', { value: 4 }, { pageUrl: ALLOWED_PAGE })), /confirmation required/);
  assert.deepEqual(executed, []);
});

contract('RUN-32 RUN-33', 'with the page and a fitting grant the tool answers as it does, once', async () => {
  const { executed, call } = gates();
  const answer = await call('guarded', { value: 4 }, { grant: fitting(), pageUrl: ALLOWED_PAGE });
  assert.ok(!answer.denied && answer.outcome.state === 'done');
  assert.equal(answer.outcome.output, 'ok');
  assert.deepEqual(executed, [['guarded', 4]]);
});

check('a grant counts for exactly one call: every other part of it is asked', async () => {
  const { executed, call } = gates();
  const wrong: Partial<Grant>[] = [
    { trace_id: 'trace-2' },
    { tool_call_id: 'call-2' },
    { tool_name: 'exact_one' },
    { argument_hash: 'a'.repeat(64) },
    { decision: 'rejected' as 'approved' },
  ];
  for (const over of wrong) {
    const answer = await call('guarded', { value: 4 }, { grant: fitting(over), pageUrl: ALLOWED_PAGE });
    assert.match(textOf(answer), /confirmation required/, JSON.stringify(over));
  }
  const changed = await call('guarded', { value: 5 }, { grant: fitting(), pageUrl: ALLOWED_PAGE });
  assert.match(textOf(changed), /confirmation required/);
  assert.deepEqual(executed, []);
});

check('arguments outside the schema and unknown tools are denied before a person is asked', async () => {
  const { executed, call } = gates();
  assert.match(textOf(await call('exact_one', { value: 'x' })), /Invalid arguments/);
  assert.match(textOf(await call('invented', {})), /not allowed/);
  assert.match(textOf(await call('exact_one', { value: 1 }, { askForEach: true })), /confirmation required/);
  assert.deepEqual(executed, []);
});
