import { fail, JSON_PROFILES, LIMITS, noTelemetry, readCanonicalJson, type Telemetry } from '../core/index.ts';
import type { Page, Principal, SessionContext } from '../sessions/index.ts';
import type { Store } from '../store/index.ts';
import { type DamagedRequest, exact, readRequests } from './audit.ts';
import type { ApprovalBatch } from './batch.ts';
import { tellDecisions } from './decision-span.ts';
import { decide, requireApprover, type Verdict } from './decisions.ts';
import { type ShownRequest, showRequest } from './display.ts';
import { checkEdit, type ValidateArguments } from './edits.ts';
import type { PermissionRequest } from './model.ts';
import type { Fits } from './outdated.ts';
import * as sql from './queries.ts';
import { requireRequest } from './requests.ts';
import { requestOf } from './rows.ts';
import { checkSaid, type Said } from './said.ts';
import { type BatchPage, pageOfBatches, readBatch } from './stored-batches.ts';
import { sweepExpired, type SweepResult } from './use.ts';

/** Requests as they are listed. One that was changed behind the program's back keeps no other from being shown. */
export interface RequestPage extends Page<ShownRequest> {
  /** Those of the page that are neither shown nor used. */
  readonly damaged: readonly DamagedRequest[];
}

/** What deciding needs of the tools that the process knows. */
export interface ApprovalHost {
  readonly validate: ValidateArguments;
  /** Default: nothing is claimed. */
  readonly fits?: Fits;
  readonly telemetry?: Telemetry;
}

/** Permission requests as people use them: list, show, decide. Every method answers for the principal's tenant only. */
export class Approvals {
  readonly #store: Store;
  readonly #context: SessionContext;
  readonly #validate: ValidateArguments;
  readonly #fits: Fits;
  readonly #telemetry: Telemetry;

  constructor(store: Store, context: SessionContext, { validate, fits, telemetry }: ApprovalHost) {
    this.#store = store;
    this.#context = context;
    this.#validate = validate;
    this.#fits = fits ?? (() => null);
    this.#telemetry = telemetry ?? noTelemetry;
  }

  /** What waits for a decision, oldest first. `after` is the `next` of the page before. */
  async pending(principal: Principal, query: { after?: string; limit?: number } = {}): Promise<RequestPage> {
    return this.#page(sql.LIST_PENDING, principal, query.after ?? '', query.limit);
  }

  /** What waits of one run, oldest first: at most as many as its last model turn proposed calls. */
  async pendingOfRun(
    principal: Principal,
    run: { readonly rootFrameId: string; readonly runId: string },
  ): Promise<readonly ShownRequest[]> {
    const params = [run.rootFrameId, run.runId, principal.tenant];
    const rows = await this.#store.read('approvals.pending-of-run', (tx) => tx.all(sql.LIST_PENDING_OF_RUN, params));
    const now = this.#context.clock.nowMs();
    return rows.map((row) => this.#shown(requestOf(row), now));
  }

  /** Every request of an action group, oldest first; of several about one call the last one counts. */
  async ofGroup(principal: Principal, groupId: string): Promise<readonly ShownRequest[]> {
    const params = [groupId, principal.tenant];
    const rows = await this.#store.read('approvals.of-group', (tx) => tx.all(sql.LIST_GROUP_REQUESTS, params));
    const now = this.#context.clock.nowMs();
    return rows.map((row) => this.#shown(requestOf(row), now));
  }

  /** Whether anything of a run still waits for a decision. */
  async isRunWaiting(
    principal: Principal,
    run: { readonly rootFrameId: string; readonly runId: string },
  ): Promise<boolean> {
    const params = [run.rootFrameId, run.runId, principal.tenant];
    const row = await this.#store.read('approvals.is-run-waiting', (tx) => tx.get(sql.IS_RUN_WAITING, params));
    return row !== undefined;
  }

  /** Every request, newest first. */
  async list(principal: Principal, query: { after?: string; limit?: number } = {}): Promise<RequestPage> {
    return this.#page(sql.LIST_REQUESTS, principal, query.after ?? '\u{10ffff}', query.limit);
  }

  async #page(text: string, principal: Principal, after: string, wanted = 100): Promise<RequestPage> {
    if (!Number.isInteger(wanted) || wanted < 1) throw fail('INVALID_VALUE', 'limit must be a whole number from 1.');
    const limit = Math.min(wanted, LIMITS.sessionPageRows);
    const params = [principal.tenant, after, limit + 1];
    const rows = await this.#store.read('approvals.list', (tx) => tx.all(exact(text), params));
    const now = this.#context.clock.nowMs();
    const page = rows.slice(0, limit);
    const { requests, damaged } = readRequests(page);
    const items = requests.map((request) => this.#shown(request, now));
    const last = rows.length > limit ? page.at(-1) : undefined;
    return { items, damaged, next: last ? String(last['decision_id']) : null };
  }

  #shown(request: PermissionRequest, now: number): ShownRequest {
    return showRequest(request, now, this.#fits);
  }

  /** A request that was decided here, as `show` shows it. */
  shownNow(request: PermissionRequest): ShownRequest {
    return this.#shown(request, this.#context.clock.nowMs());
  }

  /** One request with the digest of exactly what is shown. APPROVAL_NOT_FOUND, APPROVAL_CORRUPT. */
  async show(principal: Principal, requestId: string): Promise<ShownRequest> {
    const request = await this.#store.read('approvals.show', (tx) => requireRequest(tx, principal, requestId));
    return this.shownNow(request);
  }

  /** The calls of one model reply as a batch; null when the group proposed none. ACTION_GROUP_NOT_FOUND. */
  async batch(principal: Principal, groupId: string): Promise<ApprovalBatch | null> {
    return this.#store.read('approvals.batch', (tx) => readBatch(tx, principal, groupId));
  }

  /**
   * The batches of a run of which at least one call needs or needed a person, newest first. `after` is the `next` of the
   * page before: APPROVAL_NOT_FOUND for one that is no batch of this run. A page may end before `limit`, and one that is
   * damaged is named beside the others, see `pageOfBatches`.
   */
  async batchesOfRun(
    principal: Principal,
    runId: string,
    query: { after?: string; limit: number },
  ): Promise<BatchPage> {
    return this.#store.read('approvals.batches', (tx) => pageOfBatches(tx, principal, runId, query));
  }

  /**
   * Decides one or more requests, all or none. Edits are held against the editable fields and the tool's schema before
   * anything is stored. Refuses what is of a wrong shape with INVALID_VALUE, as `decide` and `checkEdit` do, and with APPROVAL_EXPIRED when a request's time was
   * over: that is written down, and nothing else is decided.
   */
  async decide(principal: Principal, said: readonly Said[]): Promise<readonly PermissionRequest[]> {
    checkSaid(said);
    const verdicts: Verdict[] = [];
    for (const one of said) verdicts.push(await this.#checked(principal, one));
    const result = await this.#store.write('approvals.decide', (tx) =>
      decide(tx, this.#context, principal, verdicts, this.#fits),
    );
    if (result.outcome === 'decided') {
      await tellDecisions(this.#telemetry, result.requests, this.#context.clock.nowMs());
      return result.requests;
    }
    throw fail('APPROVAL_EXPIRED', 'The time to decide this request is over; it was not decided.');
  }

  async #checked(principal: Principal, said: Said): Promise<Verdict> {
    const { editedArguments, ...verdict } = said;
    if (editedArguments === undefined) return verdict;
    if (said.decision !== 'approve') throw fail('INVALID_VALUE', 'Arguments are edited with an approval only.');
    const { action } = await this.#store.read('approvals.edit', (tx) => requireRequest(tx, principal, said.requestId));
    requireApprover(action, principal);
    if (action.requestSha256 !== said.digest)
      throw fail('APPROVAL_DIGEST_MISMATCH', 'What was decided on is not the request as it is stored.');
    const edit = await checkEdit(action, editedArguments, this.#validate);
    return edit ? { ...verdict, edit } : verdict;
  }

  /** Times out what has passed its expiry; see `sweepExpired`. Where nothing has, nothing is written. */
  async sweep(limit: number = LIMITS.approvalSweepRows): Promise<SweepResult> {
    const now = this.#context.clock.nowMs();
    const due = await this.#store.read('approvals.due', (tx) => tx.get(exact(sql.LIST_DUE), [now, 1]));
    if (!due) return { expired: [], corrupt: [] };
    return this.#store.write('approvals.sweep', (tx) =>
      sweepExpired(tx, this.#context, Math.min(limit, LIMITS.approvalSweepRows)),
    );
  }
}

/** The arguments of a request as a value. */
export const argumentsOf = (request: PermissionRequest) =>
  readCanonicalJson(request.action.canonicalArguments, JSON_PROFILES.packages);
