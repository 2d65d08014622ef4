import { systemIds } from '../core/index.ts';
import type * as wire from '../gateway/index.ts';
import { events, type EventsAsked, type GatewayEvent } from './events.ts';
import { addressOf, type ClientOptions, type PackageBytes, send, sendFor } from './request.ts';

/** A page of a list: `after` is the `next` of the page before. */
export interface PageAsked {
  readonly after?: string;
  readonly limit?: number;
}

/** A request that creates. The same key with the same request creates once, however often it is sent. */
export interface Creating {
  /** Default: a fresh one, so that each call creates. Give your own to send it again after a lost answer. */
  readonly key?: string;
}

/** A package that is being fetched. */
export interface PackageDownload {
  readonly sizeBytes: number;
  /** SHA-256 of the bytes, to be compared with what came. */
  readonly sha256: string;
  /** The package's identity. */
  readonly manifestSha256: string;
  readonly body: ReadableStream<Uint8Array>;
}

const at = (...parts: readonly string[]): string => `/api/v1/${parts.map(encodeURIComponent).join('/')}`;

/**
 * The gateway's routes as functions, with the types of the schemas that the gateway validates with. Each throws
 * `GatewayRefusal` for what the gateway refuses, and what `fetch` throws where it cannot be reached. INVALID_VALUE for a
 * `url` that is no address of HTTP.
 */
export class HoldfastClient {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = { ...options, url: addressOf(options.url) };
  }

  principal(): Promise<wire.PrincipalBody> {
    return this.#get(at('principal'));
  }

  listProjects(page: PageAsked = {}): Promise<wire.ProjectPageBody> {
    return this.#get(at('projects'), page);
  }

  createProject(name: string, creating: Creating = {}): Promise<wire.ProjectBody> {
    return this.#create(at('projects'), { name }, creating);
  }

  listSessions(page: PageAsked = {}): Promise<wire.SessionPageBody> {
    return this.#get(at('sessions'), page);
  }

  createSession(session: wire.NewSessionBody = {}, creating: Creating = {}): Promise<wire.BegunSessionBody> {
    return this.#create(at('sessions'), session, creating);
  }

  showSession(sessionId: string): Promise<wire.SessionBody> {
    return this.#get(at('sessions', sessionId));
  }

  listBranches(sessionId: string, page: PageAsked = {}): Promise<wire.BranchPageBody> {
    return this.#get(at('sessions', sessionId, 'branches'), page);
  }

  listMessages(sessionId: string, page: PageAsked = {}): Promise<wire.MessagePageBody> {
    return this.#get(at('sessions', sessionId, 'messages'), page);
  }

  listRuns(page: PageAsked = {}): Promise<wire.RunPageBody> {
    return this.#get(at('runs'), page);
  }

  /** Begins a run; it goes on in the gateway's process. Watch it with `events` or `showRun`. */
  startRun(run: wire.NewRunBody, creating: Creating = {}): Promise<wire.BegunRunBody> {
    return this.#create(at('runs'), run, creating);
  }

  /** One run with its newest calls; `after` is the `calls_next` of the answer before, for the page of older ones. */
  showRun(runId: string, page: PageAsked = {}): Promise<wire.RunBody> {
    return this.#get(at('runs', runId), page);
  }

  /** The goal tree beside a run; null where none was given. */
  showGoals(runId: string): Promise<wire.RunGoalsBody> {
    return this.#get(at('runs', runId, 'goals'));
  }

  listSideBranches(runId: string, page: PageAsked = {}): Promise<wire.SideBranchPageBody> {
    return this.#get(at('runs', runId, 'side-branches'), page);
  }

  /** One side branch of a run, with what it said in each turn. */
  showSideBranch(runId: string, sideBranchId: string): Promise<wire.SideBranchBody> {
    return this.#get(at('runs', runId, 'side-branches', sideBranchId));
  }

  stopRun(runId: string): Promise<wire.MovedRunBody> {
    return this.#post(at('runs', runId, 'stop'));
  }

  resumeRun(runId: string): Promise<wire.MovedRunBody> {
    return this.#post(at('runs', runId, 'resume'));
  }

  runEffects(runId: string, page: PageAsked = {}): Promise<wire.RunEffectsBody> {
    return this.#get(at('runs', runId, 'effects'), page);
  }

  listApprovals(query: PageAsked & { readonly which?: 'pending' | 'all' } = {}): Promise<wire.ApprovalPageBody> {
    return this.#get(at('approvals'), query);
  }

  showApproval(requestId: string): Promise<wire.ApprovalBody> {
    return this.#get(at('approvals', requestId));
  }

  /** Decides a request, once, on exactly what `showApproval` showed: send its digest. */
  decide(requestId: string, decision: wire.DecisionBody): Promise<wire.DecidedBody> {
    return this.#post(at('approvals', requestId, 'decision'), decision);
  }

  /** The batches of a run in which a call needs or needed a person, newest first. A page may end before its limit. */
  listBatches(runId: string, page: PageAsked = {}): Promise<wire.BatchPageBody> {
    return this.#get(at('runs', runId, 'batches'), page);
  }

  showBatch(runId: string, batchId: string): Promise<wire.BatchBody> {
    return this.#get(at('runs', runId, 'batches', batchId));
  }

  /** Decides calls of one model reply together: all of it is heard, or none. */
  decideBatch(runId: string, batchId: string, decisions: wire.BatchDecisionsBody): Promise<wire.DecidedBatchBody> {
    return this.#post(at('runs', runId, 'batches', batchId, 'decisions'), decisions);
  }

  /** Standing rules of the tenant, oldest first. */
  listRules(page: PageAsked = {}): Promise<wire.RulePageBody> {
    return this.#get(at('rules'), page);
  }

  /** Makes a standing rule, or says something else with the one of the same place, tool and pattern. */
  putRule(rule: wire.NewRuleBody, creating: Creating = {}): Promise<wire.RuleBody> {
    return this.#create(at('rules'), rule, creating);
  }

  dropRule(ruleId: string): Promise<wire.RuleBody> {
    return send(this.#options, { method: 'DELETE', path: at('rules', ruleId) });
  }

  listOperations(query: PageAsked & { readonly open?: boolean } = {}): Promise<wire.OperationPageBody> {
    return this.#get(at('operations'), query);
  }

  showOperation(statusRef: string): Promise<wire.OperationBody> {
    return this.#get(at('operations', statusRef));
  }

  /** Has the other side asked what became of it; `reason` says why it is as unknown as before, where it is. */
  askOperation(statusRef: string): Promise<wire.MovedOperationBody> {
    return this.#post(at('operations', statusRef, 'status'));
  }

  /** Has it delivered again under the same key, where its tool allows that; `reason` as above. */
  processOperation(statusRef: string): Promise<wire.MovedOperationBody> {
    return this.#post(at('operations', statusRef, 'process'));
  }

  /** Says what a person found out about it; final. */
  settleOperation(statusRef: string, verdict: wire.VerdictBody): Promise<wire.OperationBody> {
    return this.#post(at('operations', statusRef, 'verdict'), verdict);
  }

  auditOperations(): Promise<wire.OperationsAuditBody> {
    return this.#get(at('operations', 'audit'));
  }

  showEffect(runId: string, effectId: string): Promise<wire.VerifiedEffectBody> {
    return this.#get(at('runs', runId, 'effects', effectId));
  }

  /** Reviews and assessments on a branch of a session, newest first; the main branch unless told. */
  listAudits(
    sessionId: string,
    query: PageAsked & { readonly branch_id?: string; readonly subject_kind?: string } = {},
  ): Promise<wire.AuditPageBody> {
    return this.#get(at('sessions', sessionId, 'audits'), query);
  }

  listEffects(page: PageAsked = {}): Promise<wire.EffectPageBody> {
    return this.#get(at('effects'), page);
  }

  /** Checks a package without admitting anything of it: a failed check is a report. */
  verifyPackage(bytes: PackageBytes): Promise<wire.VerifyReportBody> {
    return send(this.#options, { method: 'POST', path: at('sessions', 'verify'), bytes });
  }

  /** Imports a package as a new session, locked until `recoverSession` confirms it. Without a key, each call imports. */
  importSession(bytes: PackageBytes, { key }: Creating = {}): Promise<wire.ImportedSessionBody> {
    const path = at('sessions', 'import');
    return send(this.#options, { method: 'POST', path, bytes, ...(key === undefined ? {} : { key }) });
  }

  /** The whole session as a package, to be read as it comes; its digests are known before the first byte. */
  async exportSession(rootFrameId: string): Promise<PackageDownload> {
    const path = at('frames', rootFrameId, 'session', 'export');
    const response = await sendFor(this.#options, { method: 'GET', path });
    const header = (name: string): string => response.headers.get(name) ?? '';
    return {
      sizeBytes: Number(header('content-length')),
      sha256: header('x-content-sha256'),
      manifestSha256: header('x-manifest-sha256'),
      body: response.body ?? new Blob([]).stream(),
    };
  }

  /** What runs for a session, and whether it is view-only. */
  showKernel(rootFrameId: string): Promise<wire.KernelStatusBody> {
    return this.#get(at('frames', rootFrameId, 'kernel'));
  }

  /** Runs code in the session's kernel, where there is one. */
  executeInKernel(rootFrameId: string, execution: wire.ExecutionBody): Promise<wire.KernelStatusBody> {
    return this.#post(at('frames', rootFrameId, 'kernel', 'execute'), execution);
  }

  /** Says something in a session: begins a run with it. */
  sendMessage(rootFrameId: string, message: wire.NewMessageBody, creating: Creating = {}): Promise<wire.BegunRunBody> {
    return this.#create(at('frames', rootFrameId, 'message'), message, creating);
  }

  createCheckpoint(
    rootFrameId: string,
    checkpoint: wire.NewCheckpointBody,
    creating: Creating = {},
  ): Promise<wire.CheckpointBody> {
    return this.#create(at('frames', rootFrameId, 'branches', 'checkpoints'), checkpoint, creating);
  }

  listCheckpoints(sessionId: string, page: PageAsked = {}): Promise<wire.CheckpointPageBody> {
    return this.#get(at('sessions', sessionId, 'checkpoints'), page);
  }

  /** What going back would change and would not undo; with `to`, what changes from one checkpoint to another. */
  diffCheckpoint(
    sessionId: string,
    checkpointId: string,
    query: { readonly to?: string } = {},
  ): Promise<wire.DifferenceBody> {
    return this.#get(at('sessions', sessionId, 'checkpoints', checkpointId, 'diff'), query);
  }

  forkBranch(sessionId: string, branch: wire.NewBranchBody, creating: Creating = {}): Promise<wire.ForkedBody> {
    return this.#create(at('sessions', sessionId, 'branches'), branch, creating);
  }

  /** Asks to go on with another branch: the run that begins waits for a person's decision. */
  activateBranch(sessionId: string, branchId: string, creating: Creating = {}): Promise<wire.BegunRunBody> {
    return this.#create(at('sessions', sessionId, 'branches', branchId, 'activate'), {}, creating);
  }

  /** Asks to go back to a checkpoint: the run that begins waits for a person's decision. */
  revertSession(sessionId: string, revert: wire.NewRevertBody, creating: Creating = {}): Promise<wire.BegunRunBody> {
    return this.#create(at('sessions', sessionId, 'revert'), revert, creating);
  }

  listArtifacts(sessionId: string, page: PageAsked = {}): Promise<wire.ArtifactPageBody> {
    return this.#get(at('sessions', sessionId, 'artifacts'), page);
  }

  listArtifactVersions(
    sessionId: string,
    artifactId: string,
    page: PageAsked = {},
  ): Promise<wire.ArtifactVersionPageBody> {
    return this.#get(at('sessions', sessionId, 'artifacts', artifactId), page);
  }

  /** The bytes of exactly this version, to be read as they come; compare them with the digest. */
  async readArtifactVersion(versionId: string): Promise<Omit<PackageDownload, 'manifestSha256'>> {
    const response = await sendFor(this.#options, { method: 'GET', path: at('artifacts', 'versions', versionId) });
    return {
      sizeBytes: Number(response.headers.get('content-length')),
      sha256: response.headers.get('x-content-sha256') ?? '',
      body: response.body ?? new Blob([]).stream(),
    };
  }

  /** How much is recorded of each kind, and the records of one kind. */
  listRecords(sessionId: string, query: PageAsked & { readonly kind?: string } = {}): Promise<wire.RecordPageBody> {
    return this.#get(at('sessions', sessionId, 'records'), query);
  }

  /** Gives an artifact a new version with this text. */
  editArtifact(artifactId: string, content: string, creating: Creating = {}): Promise<wire.EditedArtifactBody> {
    return this.#create(at('artifacts', artifactId, 'edit'), { content }, creating);
  }

  /** Trusts an imported session: `{ action: 'restart_fresh', confirmed: true }` is the only way out of its quarantine. */
  recoverSession(rootFrameId: string, recovery: wire.RecoveryBody): Promise<wire.RecoveredBody> {
    return this.#post(at('frames', rootFrameId, 'recovery'), recovery);
  }

  /** Removes a session whole. */
  removeSession(rootFrameId: string): Promise<wire.RemovedBody> {
    return send(this.#options, { method: 'DELETE', path: at('frames', rootFrameId) });
  }

  listTokens(page: PageAsked = {}): Promise<wire.TokenPageBody> {
    return this.#get(at('tokens'), page);
  }

  createToken(token: wire.NewTokenBody, creating: Creating = {}): Promise<wire.IssuedTokenBody> {
    return this.#create(at('tokens'), token, creating);
  }

  rotateToken(tokenId: string): Promise<wire.IssuedTokenBody> {
    return this.#post(at('tokens', tokenId, 'rotate'));
  }

  revokeToken(tokenId: string): Promise<wire.TokenBody> {
    return send(this.#options, { method: 'DELETE', path: at('tokens', tokenId) });
  }

  /** What happens, in order; see `events`. */
  events(asked: EventsAsked = {}): AsyncGenerator<GatewayEvent, void> {
    return events(this.#options, asked);
  }

  #get<T>(path: string, query: object = {}): Promise<T> {
    return send(this.#options, { method: 'GET', path, query: { ...query } });
  }

  #post<T>(path: string, body: object = {}): Promise<T> {
    return send(this.#options, { method: 'POST', path, body });
  }

  #create<T>(path: string, body: object, { key = systemIds.next() }: Creating): Promise<T> {
    return send(this.#options, { method: 'POST', path, body, key });
  }
}
