// The example's agent: a scripted model, and a folder of notes that it reads and writes a report into.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { defineConfig, type ModelFunction, tool } from '../../src/index.ts';

const folder = process.env['TRAVEL_FOLDER'];
if (folder === undefined) throw new Error('TRAVEL_FOLDER is not set: run this through examples/travel/travel.ts');

const readOrders = tool({
  name: 'read_orders',
  description: 'Read the orders of the night.',
  inputSchema: z.strictObject({}),
  outputSchema: z.string(),
  effect: 'read',
  execute: () => readFileSync(join(folder, 'orders.csv'), 'utf8'),
});

const writeReport = tool({
  name: 'write_report',
  description: 'Write the report of the night. Writing the same text twice leaves the same report.',
  inputSchema: z.strictObject({ text: z.string() }),
  outputSchema: z.string(),
  effect: 'idempotent',
  needsApproval: false,
  execute({ text }) {
    writeFileSync(join(folder, 'report.md'), text);
    return 'report.md was written.';
  },
});

/** Reads, writes and answers; asked for more, it adds to the report that it is shown in its own history. */
const reporter: ModelFunction = ({ messages }) => {
  const asked = messages.findLast(({ role }) => role === 'user')?.text ?? '';
  const since = messages.slice(messages.findLastIndex(({ role }) => role === 'user'));
  const answers = since.filter(({ role }) => role === 'tool');
  if (asked.includes('total')) {
    const written = messages.flatMap((message) => (message.role === 'assistant' ? message.calls : []));
    const report = written.find(({ toolName }) => toolName === 'write_report')?.argumentsText;
    if (report === undefined) return 'I was not shown any report.';
    if (answers.length > 0) return 'The total was added.';
    const { text } = z.object({ text: z.string() }).parse(JSON.parse(report));
    return { calls: [{ callId: 'total', toolName: 'write_report', arguments: { text: `${text}\nTotal: 64.00\n` } }] };
  }
  if (answers.length === 0) return { calls: [{ callId: 'read', toolName: 'read_orders', arguments: {} }] };
  if (answers.length > 1) return 'The report is written.';
  const text = '# Orders of the night\n\n- ORDER-101: 49.00\n- ORDER-102: 15.00\n';
  return { calls: [{ callId: 'write', toolName: 'write_report', arguments: { text } }] };
};

export default defineConfig({
  agents: [
    {
      name: 'reporter',
      model: reporter,
      instructions: 'You report what was ordered in the night.',
      tools: [readOrders, writeReport],
    },
  ],
});
