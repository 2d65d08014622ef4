import type { JsonObject } from '../core/index.ts';
import { branchGroups } from '../runs/index.ts';
import type { Principal } from '../sessions/index.ts';
import { type SideBranchView, sideBranchView, sideBranchViewDocument } from './run-view.ts';
import type { Runtime } from './runtime.ts';

/** A side branch with what it was asked and all that it said. */
export interface SideBranchStory extends SideBranchView {
  readonly instruction: string;
  readonly turns: readonly SideTurnView[];
}

export interface SideTurnView {
  readonly text: string;
  /** As `SideBranchView.cut`, of this turn. */
  readonly cut: SideBranchView['cut'];
  /** Tools that it asked for all the same: it has none, and nothing of it was carried out. */
  readonly proposed: readonly string[];
}

/** The side branches of a run, in the order in which they were opened. RUN_NOT_FOUND. */
export async function sideBranchesOf(
  runtime: Runtime,
  principal: Principal,
  runId: string,
): Promise<readonly SideBranchStory[]> {
  const { place } = await runtime.runs.get(principal, runId);
  const { rootFrameId, branchId, turnId } = place;
  const groups = await runtime.store.read('app.side-branches', (tx) =>
    branchGroups(tx, principal, rootFrameId, branchId),
  );
  return groups.flatMap((one): SideBranchStory[] => {
    const view = sideBranchView(one);
    if (view === null || !one.side || one.group.turnId !== turnId) return [];
    const { instruction, turns } = one.side;
    return [
      {
        ...view,
        instruction,
        turns: turns.map(({ text, cut, calls }) => ({ text, cut, proposed: calls.map(toolOf) })),
      },
    ];
  });
}

const toolOf = ({ toolName }: { readonly toolName: string }): string => toolName;

/** As a list of them has it: what it was asked, and what it said last. */
export const sideBranchDocument = (story: SideBranchStory): JsonObject => ({
  ...sideBranchViewDocument(story),
  instruction: story.instruction,
});

/** With each of its turns. */
export const sideBranchStoryDocument = (story: SideBranchStory): JsonObject => ({
  ...sideBranchDocument(story),
  turns: story.turns.map(({ text, cut, proposed }) => ({ text, cut, proposed: [...proposed] })),
});
