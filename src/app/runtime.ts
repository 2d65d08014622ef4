import {
  Approvals,
  type ApproverRule,
  checkPolicies,
  type EditVerdict,
  type PolicySet,
  type RequestedAction,
  approvalSessionHooks,
} from '../approvals/index.ts';
import { Autonomy, autonomyContext, autonomyHooks, Supervisor, type TreeCheck } from '../autonomy/index.ts';
import {
  type CallsContext,
  callScopeText,
  callSessionHooks,
  isKnownLater,
  HOLDFAST_PROFILE,
  operationTools,
} from '../calls/index.ts';
import { canonicalJson, type Clock, createIds, fail, type JsonObject, noFaults, noTelemetry } from '../core/index.ts';
import { type Filesystem, openFilesystem } from '../effects/index.ts';
import { Operations, PROVIDER_PROFILES } from '../operations/index.ts';
import type { SessionPackages } from '../packages/index.ts';
import {
  allEnded,
  type DamagedRun,
  type RunRecord,
  Runs,
  runSessionHooks,
  SIDE_BRANCH_KINDS,
  type SideBranchKind,
} from '../runs/index.ts';
import { type Principal, ProposedSecrets, type SessionContext } from '../sessions/index.ts';
import { addProject, appendFeed, ensureTenant, findProject, type Store } from '../store/index.ts';
import { acceptArguments, guardedToolOf, inputOf, settledGuardTool, ToolRegistry } from '../tools/index.ts';
import type { HoldfastOptions } from './holdfast.ts';
import { startExpiry } from './expiry-timer.ts';
import { type Notices, startNotices } from './notices/notices.ts';
import { openHoldfastStore } from './open-store.ts';
import { outdatedHere } from './outdated-here.ts';
import { pausedBecause } from './pause.ts';
import { type Histories, openHistories } from './session-history.ts';
import { principalNow } from './principal-now.ts';
import { beginLife, type ProcessLife } from './process-life.ts';
import { startRecovery } from './recovery-timer.ts';
import { openSessionPackages } from './session-packages.ts';
import { restoreTools, sessionKeeper } from './session-keeper.ts';

/** Everything that is open on one data folder, put together. */
export interface Runtime {
  readonly store: Store;
  readonly principal: Principal;
  readonly projectId: string;
  readonly tools: ToolRegistry;
  readonly approvals: Approvals;
  readonly operations: Operations;
  readonly calls: CallsContext;
  readonly runs: Runs;
  readonly filesystem: Filesystem;
  /** Checkpoints, reverts and workspaces of sessions. */
  readonly histories: Histories;
  /** The record of supervised runs. What dead processes had left open in it was closed when this one opened. */
  readonly autonomy: Autonomy;
  /** Who supervises the runs of agents that are defined so. */
  readonly supervisor: Supervisor;
  /** Sessions that travel. */
  readonly packages: SessionPackages;
  /** Runs that dead processes had left when this one opened, and that were let go of. */
  readonly reconciled: readonly string[];
  /** The others: left exactly as they are stored, since a record of them is damaged. */
  readonly damaged: readonly DamagedRun[];
  /**
   * Goes on as a new process where this one was taken for dead under the id `from`, such as while its machine slept; answers
   * its id from now.
   * For whoever begins runs under it by itself: a guard. What was held under the id before is held no more. Whatever
   * begins a run or carries one on does so by itself, unless `comesBack` is false.
   */
  readonly comeBack: (from: string) => Promise<string>;
  /**
   * Settles once the heartbeat of this process found that it was taken for dead: others may have let go of what it held.
   * What is begun or carried on next is so under a new id; with `comesBack` false it is refused (INSTANCE_ENDED), and
   * whoever stays is to close it and open it again.
   */
  readonly lost: Promise<void>;
  /**
   * Settles once whoever is to be told of what waits (`notices`) was told, or could not be at the first try: for a process
   * that ends and leaves something waiting. It takes no longer than one notice may.
   */
  readonly tellWaiting: () => Promise<void>;
  close(): Promise<void>;
}

/** The role that may decide what waits, where nothing else is said. */
export const APPROVER_ROLE = 'approver';
const LOCAL_OWNER: Principal = Object.freeze({ tenant: 'local', subject: 'owner', roles: [APPROVER_ROLE] });
const OWNER_DECIDES: ApproverRule = Object.freeze({ roles: [APPROVER_ROLE], subjects: [], requesterMayDecide: true });
const NO_POLICIES: PolicySet = Object.freeze({ policies: [], mode: 'enforce' });
const nothing = (): Promise<void> => Promise.resolve();
const NO_NOTICES: Notices = { tellWaiting: nothing, stop: nothing };
const DAY_MS = 24 * 60 * 60 * 1000;
const INSTANCE_LEASE_MS = 10_000;
/** Less than the ten seconds after which a container is killed by default: what is unknown is still written down. */
const CLOSE_WAIT_MS = 8_000;

/** Puts a runtime together; see `Holdfast.open`. What was opened is closed again when a later step fails. */
export async function openRuntime(options: HoldfastOptions & { readonly clock: Clock }): Promise<Runtime> {
  const { policies = NO_POLICIES } = options;
  checkPolicies(policies.policies);
  const { store, folder } = await openHoldfastStore({
    dataDir: options.dataDir ?? '.holdfast',
    create: options.create ?? true,
    ...(options.observer ? { observer: options.observer } : {}),
    ...(options.faults ? { faults: options.faults } : {}),
  });
  try {
    return await openLife(store, folder.path, { ...options, policies });
  } catch (error) {
    await store.close();
    throw error;
  }
}

type Given = HoldfastOptions & { readonly clock: Clock; readonly policies: PolicySet };

/** What fails after this ends the process for the others at once: nothing is left to it. */
async function openLife(store: Store, dataDir: string, options: Given): Promise<Runtime> {
  const { clock, ids = createIds(clock), faults = noFaults, instanceLeaseMs: leaseMs = INSTANCE_LEASE_MS } = options;
  const life = await beginLife(store, { clock, ids, leaseMs, faults });
  try {
    return await assemble(store, dataDir, { ...options, ids, faults, instanceLeaseMs: leaseMs }, life);
  } catch (error) {
    // Where even that cannot be written down, its lease ends.
    await life.stop().catch(() => undefined);
    throw error;
  }
}

async function assemble(
  store: Store,
  dataDir: string,
  options: Given & Required<Pick<Given, 'ids' | 'faults' | 'instanceLeaseMs'>>,
  life: ProcessLife,
): Promise<Runtime> {
  const { clock, ids, faults, policies, comesBack = true, notices, onDamage, instanceLeaseMs: leaseMs } = options;
  const principal = options.principal ?? LOCAL_OWNER;
  const projectId = options.projectId ?? 'default';
  await ensurePlace(store, clock, principal, projectId);
  const { comeBack, lost, ids: ownIds } = life;
  const tools = registryOf(options);
  const operations = operationsOf(store, tools);
  const sessions: SessionContext = {
    clock,
    ids,
    hooks: [autonomyHooks, approvalSessionHooks, callSessionHooks(operations), runSessionHooks(() => sessions)],
  };
  const histories = openHistories({ store, dataDir, context: sessions, given: options.workspaceOf, faults });
  const packages = openSessionPackages({
    store,
    dataDir,
    context: sessions,
    histories,
    env: options.secretsIn ?? process.env,
    tools,
    faults,
  });
  const keeping = restoreTools(histories.history, store);
  for (const tool of keeping) tools.register(tool);
  const filesystem = openFilesystem({ dataDir });
  const calls: CallsContext = {
    store,
    clock,
    sessions,
    operations,
    tools,
    policies,
    approver: options.approver ?? OWNER_DECIDES,
    approvalExpiresMs: options.approvalExpiresMs === undefined ? DAY_MS : options.approvalExpiresMs,
    get workerId() {
      return life.instanceId;
    },
    pausedBecause,
    principalNow: (had) => store.read('app.principal', (tx) => principalNow(tx, clock, principal, had)),
    faults,
    telemetry: options.telemetry ?? noTelemetry,
  };
  const checkpoint = async ({ principal: by, place: { rootFrameId, branchId } }: RunRecord): Promise<void> => {
    await histories.history.checkpoint(by, { rootFrameId, branchId, reason: 'before a write' });
  };
  const approvals = new Approvals(store, sessions, {
    validate: (action, edited) => validateEdit(tools, action, edited),
    fits: (action) => outdatedHere(calls, action, (tool) => runs.mayCall(tool)),
    telemetry: calls.telemetry,
  });
  const supervisor = new Supervisor({
    store,
    autonomy: autonomyContext(sessions),
    approvals,
    ...histories,
    trees: treesOf(histories),
    tools,
    isKnownLater: (by, statusRef, triedMs) => isKnownLater(calls, by, statusRef, triedMs),
    get instanceId() {
      return life.instanceId;
    },
    faults,
  });
  const runs = new Runs({
    calls,
    get instanceId() {
      return life.instanceId;
    },
    comeBack: comesBack ? comeBack : staysLost,
    filesystem,
    closeWaitMs: options.closeWaitMs ?? CLOSE_WAIT_MS,
    sideBranches: kindsOf(options),
    checkpoint,
    supervision: supervisor,
  });
  runs.define(sessionKeeper(keeping));
  const { released: reconciled, damaged } = await runs.recover();
  for (const run of damaged) onDamage?.(run);
  const autonomy = new Autonomy({ store, sessions, trees: treesOf(histories) });
  await autonomy.sweep(...ownIds);
  await packages.sweep();
  const stopExpiry = startExpiry(approvals);
  const stopRecovery = startRecovery({ runs, autonomy, ids: ownIds, everyMs: leaseMs, damaged, onDamage });
  const teller = notices ? startNotices({ store, approvals, clock, principal }, notices) : NO_NOTICES;
  const close = closerOf(async () => {
    // First of all: what is carried out here begins nothing from this moment on.
    await allEnded([runs.close(), stopExpiry(), stopRecovery(), teller.stop()]);
    await life.stop();
  }, store);
  const parts = { tools, approvals, operations, calls, runs, filesystem, histories, autonomy, supervisor, packages };
  const { tellWaiting } = teller;
  return { store, principal, projectId, ...parts, reconciled, damaged, comeBack, lost, tellWaiting, close };
}

function closerOf(end: () => Promise<void>, store: Store): () => Promise<void> {
  let closing: Promise<void> | undefined;
  return () => (closing ??= closeAfter(end(), store));
}

/** A full disk, or a clock that went back, keeps an end from being written down, and nothing open. */
async function closeAfter(end: Promise<void>, store: Store): Promise<void> {
  try {
    await end;
  } finally {
    await store.close();
  }
}

/** INSTANCE_ENDED, for a host that closes and opens anew. */
const staysLost = (): Promise<never> =>
  Promise.reject(fail('INSTANCE_ENDED', 'The lease of this process has ended, and it does not come back by itself.'));

/** A repair starts only from a workspace of which every content was read just before. */
const treesOf =
  ({ workspaces }: Histories): TreeCheck =>
  async (treeId) =>
    (await workspaces.verifyTree(treeId)).length === 0;

async function ensurePlace(store: Store, clock: Clock, principal: Principal, projectId: string): Promise<void> {
  const { tenant: tenantId, subject: subjectId } = principal;
  await store.write('app.place', async (tx) => {
    await ensureTenant(tx, clock, { tenantId, name: tenantId });
    const ref = { tenantId, subjectId };
    if (!(await findProject(tx, ref, projectId))) await addProject(tx, clock, ref, { projectId, name: projectId });
  });
}

function kindsOf({ sideBranches = [] }: HoldfastOptions): ReadonlyMap<string, SideBranchKind> {
  return new Map([...SIDE_BRANCH_KINDS, ...sideBranches].map((kind) => [kind.type, kind]));
}

function registryOf({ tools = [], retiredTools = [] }: HoldfastOptions): ToolRegistry {
  const registry = new ToolRegistry(settledGuardTool);
  for (const tool of tools) registry.register(tool);
  for (const tool of retiredTools) registry.registerRetired(tool);
  return registry;
}

function operationsOf(store: Store, tools: ToolRegistry): Operations {
  return new Operations({
    store,
    tools: operationTools(tools),
    // Who decided was judged by `approvals/` when they did, and the audit holds the two records together.
    isApprover: () => true,
    profiles: [...PROVIDER_PROFILES, HOLDFAST_PROFILE],
    verdicts: true,
    toolsComeAndGo: true,
    // Each stands for a call, whose proposal has kept them. A call's response id is the id of its action group.
    secretFieldsOf: async (tx, all) => {
      const kept = await ProposedSecrets.read(
        tx,
        all.map(({ first }) => first.responseId),
      );
      return all.map(({ first }) => kept.of(first.responseId, first.callId));
    },
    // A call's beginning and end stand in the feed as its ledger lines; what happens outside a call is told here.
    onChange: async (tx, { kind, tenant, statusRef }) => {
      if (kind === 'reserved' || kind === 'succeeded') return;
      await appendFeed(tx, { tenantId: tenant, kind: `operation.${kind}`, reference: statusRef });
    },
  });
}

/** Edited arguments must fit the tool as any arguments do; what they touch is worked out anew. */
async function validateEdit(tools: ToolRegistry, action: RequestedAction, given: JsonObject): Promise<EditVerdict> {
  const { tool: name, toolRevision, sideEffectClass } = action;
  const tool = tools.current(name) ?? guardedToolOf(name, { effect: sideEffectClass, policy: toolRevision });
  if (!tool)
    throw fail('TOOL_UNKNOWN', `The tool ${name} is not registered in this process, so a change cannot be checked.`, {
      resolve:
        'Edit where the tool is known (`--config`, its MCP server running); or approve it unchanged, or reject it.',
    });
  const accepted = await acceptArguments(tool, canonicalJson(given));
  if (!accepted.ok) return { ok: false, issues: accepted.issues };
  const read = await inputOf(tool, accepted.text);
  return read.ok ? { ok: true, ...callScopeText(tool, read.input) } : { ok: false, issues: read.issues };
}
