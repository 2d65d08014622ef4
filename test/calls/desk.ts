import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { z } from 'zod';
import {
  Holdfast,
  type HoldfastOptions,
  type ModelFunction,
  type Tool,
  tool,
  type ToolDefinition,
} from '../../src/index.ts';
import { countingObserver, type StoreCounts } from '../../src/store/index.ts';
import { temporaryFolder } from '../support/index.ts';
import { newDataFolder } from '../support/new-database.ts';

export interface Desk {
  readonly holdfast: Holdfast;
  readonly counts: StoreCounts;
  readonly dataDir: string;
}

/** A runtime on a folder of its own, with every event of its store counted; closed when the test is over. */
export async function openDesk(t: TestContext, options: HoldfastOptions = {}): Promise<Desk> {
  const dataDir = await newDataFolder(options.dataDir ?? join(await temporaryFolder(t), 'data'));
  const counts = countingObserver();
  const holdfast = await Holdfast.open({ ...options, dataDir, observer: counts.observe });
  t.after(() => holdfast.close());
  return { holdfast, counts, dataDir };
}

export const noteSchema = z.strictObject({ note: z.string() });
type Definition = ToolDefinition<typeof noteSchema>;

/** A tool that takes a note; what a test does not say is a `once` tool that needs nobody and answers `{ ok: true }`. */
export function noteTool(given: Partial<Definition> = {}): Tool {
  return tool<typeof noteSchema>({
    name: 'take_note',
    description: 'Takes a note.',
    inputSchema: noteSchema,
    effect: 'once',
    needsApproval: false,
    execute: () => ({ ok: true }),
    ...given,
  });
}

/** A model that makes these calls, one reply each, and then says `done` and what it was told last. */
export function callsThenDone(
  ...replies: readonly (readonly { name?: string; note?: string; id?: string }[])[]
): ModelFunction {
  return ({ messages }) => {
    const asked = messages.filter((message) => message.role === 'assistant').length;
    const reply = replies[asked];
    if (!reply) return `told: ${messages.at(-1)?.text ?? ''}`;
    return {
      calls: reply.map((call, i) => ({
        callId: call.id ?? `call-${asked}-${i}`,
        toolName: call.name ?? 'take_note',
        arguments: { note: call.note ?? 'milk' },
      })),
    };
  };
}
