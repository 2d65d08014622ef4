// The agent of the example: a recorded author, a recorded reviewer of its own profile, the files of a desk behind the
// filesystem MCP server, and one tool of our own that writes the report.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { defineConfig, recordedModelFromFile, tool } from '../../src/index.ts';
import { recordedReviews } from './recorded-reviews.ts';

function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run this through overnight.ts`);
  return value;
}

const desk = setting('OVERNIGHT_DESK');
const report = join(desk, 'report.md');
const recorded = (name: string): string => join(import.meta.dirname, 'recorded', `${name}.json`);
const packages = createRequire(import.meta.url);
const filesystem = join(dirname(packages.resolve('@modelcontextprotocol/server-filesystem/package.json')), 'dist');
const written = z.object({ sha256: z.string() });
const digestOf = (content: string): string => createHash('sha256').update(content).digest('hex');

function onDisk(): string | null {
  try {
    return readFileSync(report, 'utf8');
  } catch {
    return null;
  }
}

const writeReport = tool({
  name: 'write_report',
  description: 'Writes report.md, whole.',
  inputSchema: z.strictObject({ content: z.string() }),
  outputSchema: written,
  effect: 'reconcilable',
  needsApproval: false,
  timeoutMs: 10_000,
  settlesWithinMs: 0,
  resources: () => [{ kind: 'filesystem', role: 'file', root: desk, path: 'report.md', mayBeMissing: true }],
  postconditions: () => [{ role: 'file', predicate: 'exists' }],
  async execute({ content }) {
    writeFileSync(report, content);
    // The third ending: the disk has it, and nobody answers.
    if (content.includes(process.env['OVERNIGHT_HOLD'] ?? '\0')) await sleep(60_000);
    return { sha256: digestOf(content) };
  },
  status: ({ content }) =>
    onDisk() === content ? { state: 'happened', output: { sha256: digestOf(content) } } : { state: 'not_happened' },
});

export default defineConfig({
  instanceLeaseMs: 4000,
  workspaceOf: () => desk,
  agents: [
    {
      name: 'analyst',
      model: recordedModelFromFile(recorded(process.env['OVERNIGHT_AUTHOR'] ?? 'author')),
      instructions: 'You sum up figures. Read the task, do it, and say where the result is.',
      tools: [writeReport],
      mcpServers: ['files'],
      autonomy: {
        reviewer: {
          model: recordedReviews(
            ['review-of-the-first', 'review-of-the-repaired', 'review-of-the-stubborn'].map(recorded),
          ),
          profileId: 'report-reviewer',
        },
        budgets: { max_repair_rounds: 1 },
      },
    },
  ],
  mcpServers: {
    files: {
      server: { command: process.execPath, args: [join(filesystem, 'index.js'), desk], cwd: desk },
      policies: { list_directory: { effect: 'read' }, read_text_file: { effect: 'read' } },
    },
  },
});
