import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AutonomyTerms } from '../../src/autonomy/index.ts';
import {
  type AgentHandle,
  functionModel,
  Holdfast,
  type HoldfastOptions,
  type Model,
  type Tool,
  type ToolDefinition,
  tool,
} from '../../src/index.ts';
import { newDataFolder } from './new-database.ts';

/** What an author and a reviewer come to with the file `report.txt`, whose right content is `total 42`. */
export interface SupervisedWorld {
  readonly holdfast: Holdfast;
  readonly agent: AgentHandle;
  readonly folder: string;
  readonly report: () => string;
}

export interface SupervisedSetting {
  readonly dataDir: string;
  readonly author?: Model;
  readonly reviewer?: Model;
  readonly terms?: Partial<AutonomyTerms>;
  readonly options?: HoldfastOptions;
  readonly needsApproval?: boolean;
  /** Happens in each write of the report, before it. */
  readonly beforeWrite?: () => Promise<void>;
  /** What else the tool that writes the report is; it is idempotent unless told. */
  readonly toolIs?: Partial<ToolDefinition>;
  /** The session has no folder of its own. */
  readonly noWorkspace?: boolean;
  readonly retries?: { readonly most: number };
}

/** A write of the report, as an author proposes it. */
export const writes = (content: string) => ({ calls: [{ toolName: 'write_report', arguments: { content } }] });

/** An author that writes each of these in turn, once for its task and once for every repair; then it is done. */
export const authorOf = (...contents: readonly string[]): Model =>
  functionModel(({ messages }) => {
    const asked = messages.filter(({ role }) => role === 'user').length;
    return messages.at(-1)?.role === 'user' ? writes(contents[asked - 1] ?? contents.at(-1) ?? '') : 'Done.';
  }, 'author');

/** The one thing a reviewer finds. */
export const WRONG = {
  severity: 'major',
  category: 'arithmetic',
  claim: 'The total is wrong; it is 42.',
  evidence: ['report.txt'],
};

/** A reviewer that passes exactly the right content. */
export const honestReviewer = (): Model =>
  functionModel(({ messages }) => {
    const passes = messages.at(-1)?.text.includes('total 42') === true;
    return JSON.stringify(
      passes
        ? { verdict: 'pass', summary: 'The total is right.', findings: [] }
        : { verdict: 'issues', summary: 'The total is wrong.', findings: [WRONG] },
    );
  }, 'reviewer');

/** A tool that writes the file `report.txt` of a folder. */
export function reportTool(
  folder: string,
  needsApproval = false,
  beforeWrite?: () => Promise<void>,
  more: Partial<ToolDefinition> = {},
): Tool {
  return tool({
    name: 'write_report',
    description: 'Writes the report.',
    inputSchema: {
      type: 'object',
      properties: { content: { type: 'string' } },
      required: ['content'],
      additionalProperties: false,
    },
    effect: 'idempotent',
    needsApproval,
    execute: async (input) => {
      await beforeWrite?.();
      const { content } = input as { readonly content: string };
      writeFileSync(join(folder, 'report.txt'), content);
      return { bytes: content.length };
    },
    ...more,
  });
}

export async function openSupervised(setting: SupervisedSetting): Promise<SupervisedWorld> {
  const { dataDir, author = authorOf('total 41', 'total 42'), reviewer = honestReviewer() } = setting;
  const folder = join(dataDir, '..', 'workspace');
  mkdirSync(folder, { recursive: true });
  const workspaceOf = () => (setting.noWorkspace ? null : folder);
  await newDataFolder(dataDir);
  const holdfast = await Holdfast.open({ dataDir, workspaceOf, ...setting.options });
  const agent = holdfast.agent({
    name: 'writer',
    model: author,
    instructions: 'Write the report.',
    tools: [reportTool(folder, setting.needsApproval, setting.beforeWrite, setting.toolIs)],
    ...(setting.retries ? { retries: setting.retries } : {}),
    autonomy: { reviewer: { model: reviewer }, ...setting.terms },
  });
  return { holdfast, agent, folder, report: () => readFileSync(join(folder, 'report.txt'), 'utf8') };
}
