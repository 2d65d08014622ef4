// The demo's agent: a recorded model (or a real provider, when its key is set), a folder behind the filesystem MCP
// server, a notebook behind the memory MCP server, and a billing service behind a tool of our own.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { defineConfig, recordedModelFromFile, tool } from '../../src/index.ts';
import { realModel } from './real-model.ts';

function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run this through npm run demo`);
  return value;
}

const folder = setting('DEMO_FOLDER');
const billing = setting('DEMO_BILLING_URL');
const packages = createRequire(import.meta.url);
const program = (name: string): string => join(dirname(packages.resolve(`${name}/package.json`)), 'dist', 'index.js');

const creditNote = z.object({ credit_note: z.string(), order: z.string(), amount_cents: z.number().int() });

const issueCreditNote = tool({
  name: 'issue_credit_note',
  description: 'Give a customer money back for an order. Amounts are in cents.',
  inputSchema: z.strictObject({
    order: z.string().regex(/^[A-Z]+-\d+$/),
    amount_cents: z.number().int().positive(),
    reason: z.enum(['duplicate', 'damaged', 'goodwill']),
  }),
  outputSchema: creditNote,
  effect: 'reconcilable',
  // Small amounts need nobody; everything else waits for a person, who may change the reason but not the amount.
  needsApproval: (input) => input.amount_cents > 2000,
  editable: ['reason'],
  precondition: (input) =>
    input.amount_cents <= 50_000 || { refused: 'No credit note above 500.00 is issued by an agent.' },
  timeoutMs: 20_000,
  settlesWithinMs: 5000,
  receipt: (output) => ({ receiptId: output.credit_note }),
  async execute(input, call) {
    const response = await fetch(`${billing}/credit-notes`, {
      method: 'POST',
      body: JSON.stringify({ reference: call.idempotencyKey, ...input }),
      signal: call.signal,
    });
    return response.json();
  },
  async status(_input, call) {
    const response = await fetch(`${billing}/credit-notes?reference=${call.idempotencyKey}`, { signal: call.signal });
    const found = z.looseObject({ found: z.boolean() }).parse(await response.json());
    return found.found ? { state: 'happened', output: creditNote.parse(found) } : { state: 'not_happened' };
  },
});

export default defineConfig({
  instanceLeaseMs: 5000,
  agents: [
    {
      name: 'billing-clerk',
      model: (await realModel()) ?? recordedModelFromFile(join(import.meta.dirname, 'transcript.json')),
      instructions: 'You handle complaints about orders. Read the complaint, put it right, leave a report.',
      tools: [issueCreditNote],
      mcpServers: ['files', 'notebook'],
    },
  ],
  mcpServers: {
    files: {
      server: {
        command: process.execPath,
        args: [program('@modelcontextprotocol/server-filesystem'), folder],
        cwd: folder,
      },
      policies: {
        list_directory: { effect: 'read' },
        read_text_file: { effect: 'read' },
        write_file: {
          effect: 'idempotent',
          needsApproval: false,
          resources: (input) => [
            { kind: 'filesystem', role: 'file', root: folder, path: String(input['path']), mayBeMissing: true },
          ],
          postconditions: () => [{ role: 'file', predicate: 'exists' }],
        },
      },
    },
    notebook: {
      server: {
        command: process.execPath,
        args: [program('@modelcontextprotocol/server-memory')],
        env: { PATH: process.env['PATH'] ?? '', MEMORY_FILE_PATH: join(folder, 'notebook.jsonl') },
      },
      policies: { create_entities: { effect: 'idempotent', needsApproval: false }, read_graph: { effect: 'read' } },
    },
  },
});
