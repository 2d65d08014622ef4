import {
  type ActionGroup,
  groupsOfTurnOfKind,
  newestGroupsOfTurn,
  type Page,
  type PageQuery,
  type Principal,
  type TurnPlace,
} from '../sessions/index.ts';
import type { ReadTx } from '../store/index.ts';
import { type GroupWithCalls, withCalls } from './history.ts';
import { isOfMainLine, SIDE_BRANCH_GROUP } from './side-branch/told.ts';

/** Groups of a turn that one look takes: most replies have few calls. */
const GROUPS_AT_ONCE = 100;

/** The groups of a turn with their calls, in their order; of a long turn only so many as hold the newest calls. */
export interface TurnHistory {
  readonly groups: readonly GroupWithCalls[];
  /** Where the page of older ones begins; null where there is nothing older. */
  readonly next: string | null;
}

/**
 * The newest groups of a turn, whatever else its session holds. It ends with the group that brings its calls to `limit`,
 * or a hundred groups later than that: those without calls are few. Without a limit it has them all. `after` is the
 * `next` of the page before. INVALID_VALUE.
 */
export async function historyOfTurn(
  tx: ReadTx,
  principal: Principal,
  place: TurnPlace,
  { after, limit = Number.MAX_SAFE_INTEGER }: PageQuery = {},
): Promise<TurnHistory> {
  const groups: GroupWithCalls[] = [];
  let calls = 0;
  for (let before = after; ; ) {
    const query = { limit: GROUPS_AT_ONCE, ...(before === undefined ? {} : { after: before }) };
    const page = await newestGroupsOfTurn(tx, principal, place, query);
    for (const [i, group] of page.items.entries()) {
      const read = await withCalls(tx, principal, group);
      groups.push(read);
      calls += read.calls.length;
      const isLast = page.next === null && i === page.items.length - 1;
      if (!isLast && (calls >= limit || groups.length >= limit + GROUPS_AT_ONCE))
        return { groups: groups.toReversed(), next: String(group.position) };
    }
    if (page.next === null) return { groups: groups.toReversed(), next: null };
    before = page.next;
  }
}

/** The side branches of a turn, in the order in which they were opened. */
export async function sideBranchesOfTurn(
  tx: ReadTx,
  principal: Principal,
  place: TurnPlace,
): Promise<readonly GroupWithCalls[]> {
  const found: GroupWithCalls[] = [];
  for (let after: string | undefined; ; ) {
    const query = after === undefined ? {} : { after };
    const page: Page<ActionGroup> = await groupsOfTurnOfKind(tx, principal, place, SIDE_BRANCH_GROUP, query);
    for (const group of page.items) found.push(await withCalls(tx, principal, group));
    if (page.next === null) return found;
    after = page.next;
  }
}

/** The newest group of a turn that is of its main line; null before its first reply. */
export async function newestReplyOfTurn(
  tx: ReadTx,
  principal: Principal,
  place: TurnPlace,
): Promise<ActionGroup | null> {
  for (let after: string | undefined; ; ) {
    const page = await newestGroupsOfTurn(tx, principal, place, after === undefined ? {} : { after });
    const found = page.items.find((group) => group.kind !== 'user' && isOfMainLine(group));
    if (found) return found;
    if (page.next === null) return null;
    after = page.next;
  }
}
