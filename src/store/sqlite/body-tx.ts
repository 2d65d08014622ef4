import { fail } from '../../core/index.ts';
import type { StoreObserver } from '../observer.ts';
import type { Row, RunResult, Sql, SqlParams, Tx } from '../port.ts';
import { storeError } from './driver-errors.ts';
import type { Prepared, Statements } from './statements.ts';

/** What the bodies of one group share. */
export interface Ground {
  readonly statements: Statements;
  readonly mayWrite: boolean;
  /** Whether the group's transaction is still there: an error may have undone it. */
  readonly isOpen: () => boolean;
  readonly observer: StoreObserver | undefined;
  /** Called once a body, before its first writing statement. */
  readonly beforeWriting: () => void;
}

const NONE: SqlParams = [];

/** The transaction that one body is given. Statements run at once; the promises are already settled. */
export class BodyTx implements Tx {
  readonly name: string;
  readonly #ground: Ground;
  ended = false;
  wrote = false;
  /** The first error of a statement, kept even where the body caught it: it may have undone the group. */
  failure: unknown = undefined;

  constructor(name: string, ground: Ground) {
    this.name = name;
    this.#ground = ground;
  }

  // Not `async`: nothing is awaited here, and every statement of every body would leave more behind than a promise.
  run(sql: Sql, params: SqlParams = NONE): Promise<RunResult> {
    try {
      return Promise.resolve(this.#ground.statements.run(this.#enter(sql), params));
    } catch (error) {
      return Promise.reject(this.#refused(error));
    }
  }

  get<R extends Row = Row>(sql: Sql, params: SqlParams = NONE): Promise<R | undefined> {
    try {
      return Promise.resolve(this.#ground.statements.get(this.#enter(sql), params) as R | undefined);
    } catch (error) {
      return Promise.reject(this.#refused(error));
    }
  }

  all<R extends Row = Row>(sql: Sql, params: SqlParams = NONE): Promise<R[]> {
    try {
      return Promise.resolve(this.#ground.statements.all(this.#enter(sql), params) as R[]);
    } catch (error) {
      return Promise.reject(this.#refused(error));
    }
  }

  #enter(sql: Sql): Prepared {
    if (this.ended) throw fail('STORE_TX_ENDED', `The transaction of ${this.name} has ended.`);
    const ground = this.#ground;
    // Without its transaction each statement would be stored at once, by itself.
    if (this.failure !== undefined && !ground.isOpen()) throw this.failure;
    const prepared = ground.statements.prepare(sql);
    if (prepared.writes && !this.wrote) this.#firstWrite();
    if (ground.observer !== undefined) ground.observer({ kind: 'statement', name: this.name, text: prepared.text });
    return prepared;
  }

  #firstWrite(): void {
    if (!this.#ground.mayWrite) throw fail('STORE_SQL_REFUSED', `${this.name} is a read and may not write.`);
    this.#ground.beforeWriting();
    this.wrote = true;
  }

  #refused(thrown: unknown): unknown {
    const error = storeError(thrown);
    this.failure ??= error;
    return error;
  }
}
