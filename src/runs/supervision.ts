import type { Principal } from '../sessions/index.ts';
import type { ReadTx, Tx } from '../store/index.ts';
import type { Agent } from './context.ts';
import type { RunRecord } from './model.ts';

/** What a follow-up run may still do, as its supervisor says before each of its turns. */
export interface TurnBounds {
  /** Why it may not go on; null where it may. */
  readonly refusal: string | null;
  /** How many calls it may still propose. */
  readonly callsLeft: number;
  /** Milliseconds that its next turn may take; Infinity where there is no bound. */
  readonly withinMs: number;
}

/** A further run of the same agent in the same turn, such as a repair. */
export interface FollowUp {
  /** Names it within the run that it follows: the same key gives the same run, whoever asks and however often. */
  readonly key: string;
  /** What the agent is told, as a message of the user. */
  readonly content: string;
  readonly maxTurns: number;
}

/** A run that this process has in hand, as its supervisor is given it. */
export interface Supervised {
  /** As it stands now that its own turns are over, or wait. */
  readonly run: RunRecord;
  readonly agent: Agent;
  /** Aborted when the run is to stop. */
  readonly signal: AbortSignal;
  /** Begins a follow-up, or takes up the one of that key, and settles when it has come to a stand. */
  readonly followUp: (asked: FollowUp) => Promise<RunRecord>;
}

/** What happens to a run before it begins and after its own turns, where somebody supervises it. */
export interface Supervision {
  /** In the commit that begins a run, or takes up one whose supervision has ended. */
  begun(tx: Tx, run: Pick<RunRecord, 'runId' | 'agent' | 'principal' | 'place'>): Promise<void>;
  /** Whether something is left to be done about a run that has ended. */
  isOpen(tx: ReadTx, principal: Principal, run: RunRecord): Promise<boolean>;
  /** Whether a follow-up has nothing left to do, since what it was begun for has ended: it begins nothing more. */
  isOver(tx: ReadTx, followUp: RunRecord): Promise<boolean>;
  /**
   * After a run came to a stand: settles when the supervision has ended too, or waits for a person. False where nobody
   * supervises the run: nothing was done, and it stands as it did.
   */
  carryOn(supervised: Supervised): Promise<boolean>;
  /** In the commit of a follow-up's reply, before its calls are written: the group that they will stand in. */
  groupOpened(tx: Tx, run: RunRecord, groupId: string): Promise<void>;
  boundsOf(run: RunRecord): Promise<TurnBounds>;
}
