import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Runtime } from '../app/index.ts';
import { displayText, fail, momentText } from '../core/index.ts';
import type { Quarantine } from '../packages/index.ts';
import type { Checkpoint, Session, SessionBranch, TreeChange } from '../sessions/index.ts';
import type { CommandContext, ExitCode } from './commands.ts';
import type { Colours } from './output.ts';
import { moreLine, noneLine } from './pages.ts';
import { type RunOptions, withoutAgents } from './with-runtime.ts';

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

const sessionDocument = (session: Session) => ({
  session_id: session.rootFrameId,
  project_id: session.projectId,
  kind: session.kind,
  origin: session.origin,
  trust_state: session.trustState,
  name: session.name,
  active_branch_id: session.activeBranchId,
  created_at: session.createdAt,
  updated_at: session.updatedAt,
});

const checkpointDocument = (point: Checkpoint) => ({
  checkpoint_id: point.checkpointId,
  branch_id: point.branchId,
  number: point.number,
  reason: point.reason,
  internal: point.internal,
  workspace_tree_id: point.workspaceTreeId,
  reverted_to: point.metadata['reverted_to'] ?? null,
  created_at: point.createdAt,
});

const branchDocument = (branch: SessionBranch) => ({
  branch_id: branch.branchId,
  parent_branch_id: branch.parentBranchId,
  base_checkpoint_id: branch.baseCheckpointId,
  head_checkpoint_id: branch.headCheckpointId,
  name: branch.name,
});

/** Trees that were captured lately may be named by a checkpoint in a moment. */
const COLLECT_GRACE_MS = 3_600_000;

/** How many sessions, or records of one, a page has unless told. */
export const PAGE = '20';

export const unlessDefault = ({ limit }: { readonly limit: string }) => (limit === PAGE ? {} : { limit });

const named = (name: string | null): string => (name === null ? '' : `  ${displayText(name)}`);

export function list(context: CommandContext, options: RunOptions & { limit: string; after?: string }) {
  return withoutAgents(context, options, async ({ runtime }) => {
    const { listSessions } = await import('../sessions/index.ts');
    const limit = Number(options.limit);
    const query = options.after === undefined ? { limit } : { limit, after: options.after };
    const page = await runtime.store.read('cli.sessions', (tx) => listSessions(tx, runtime.principal, query));
    context.output.result({
      document: {
        sessions: page.items.map(sessionDocument),
        damaged: page.damaged.map(({ rootFrameId, code, why }) => ({ session_id: rootFrameId, code, why })),
        next: page.next,
      },
      lines: (colours) => [
        ...(page.items.length + page.damaged.length === 0
          ? [noneLine(options.after, 'There are no sessions yet.')]
          : []),
        ...page.items.map(sessionLine),
        ...page.damaged.map(
          (one) =>
            `${displayText(one.rootFrameId)}  ${colours.red('damaged')}  ${one.code}; to see it: ${colours.command('holdfast audit')}`,
        ),
        ...(page.next === null
          ? []
          : [moreLine(colours, 'sessions list', unlessDefault(options), `--after ${page.next}`)]),
      ],
    });
    return 0;
  });
}

const sessionLine = (session: Session): string =>
  `${session.rootFrameId}  ${session.kind.padEnd(6)}  ${momentText(session.createdAt)}${named(session.name)}${
    session.trustState === 'local' ? '' : '  quarantined'
  }`;

/** A session as it is shown whole: every branch, its newest checkpoints, how much it holds of each kind. */
async function readWhole({ store, principal }: Runtime, id: string) {
  const sessions = await import('../sessions/index.ts');
  const { readQuarantine } = await import('../packages/index.ts');
  return store.read('cli.session', async (tx) => ({
    session: await sessions.requireSession(tx, principal, id),
    branches: (await sessions.listBranches(tx, principal, id, { limit: 500 })).items,
    checkpoints: await sessions.newestCheckpoints(tx, principal, id),
    running: await sessions.runningRestore(tx, principal, id),
    records: await sessions.countAllRecords(tx, id),
    quarantine: await readQuarantine(tx, id),
  }));
}

/** An import that was interrupted cannot be trusted: what is there is only good for being removed. */
function lockedLines(id: string, quarantine: Quarantine | null, { command }: Pick<Colours, 'command'>): string[] {
  if (quarantine === null) return [];
  if (quarantine.reason !== 'session_package_import_in_progress')
    return [`  locked: look at it, then ${command(`holdfast sessions trust ${id} --yes`)}`];
  return [
    '  locked: its import has not ended, and it is not whole',
    `  where nothing imports it any more: ${command(`holdfast sessions delete ${id} --yes`)}, then import it again`,
  ];
}

export function show(context: CommandContext, id: string, options: RunOptions): Promise<ExitCode> {
  return withoutAgents(context, options, async ({ runtime }) => {
    const { session, branches, checkpoints, running, records, quarantine } = await readWhole(runtime, id);
    context.output.result({
      document: {
        ...sessionDocument(session),
        branches: branches.map(branchDocument),
        checkpoints: checkpoints.map(checkpointDocument),
        running_restore: running?.operationId ?? null,
        quarantine: quarantine?.reason ?? null,
        records,
      },
      lines: (colours) => [
        `${colours.bold(session.rootFrameId)}${named(session.name)}  ${session.kind}, since ${momentText(session.createdAt)}`,
        ...lockedLines(id, quarantine, colours),
        ...(running === null ? [] : [`  interrupted: ${colours.command(`holdfast sessions recover ${id}`)}`]),
        ...branches.map(
          (one) => `  branch ${one.branchId === session.activeBranchId ? '*' : ' '} ${one.branchId}${named(one.name)}`,
        ),
        ...checkpoints.map((one) => `  ${one.checkpointId}  ${momentText(one.createdAt)}  ${displayText(one.reason)}`),
        ...Object.entries(records).map(([kind, count]) => `  ${kind}: ${count}`),
      ],
    });
    return running === null ? 0 : 1;
  });
}

export function checkpoint(
  context: CommandContext,
  id: string,
  options: RunOptions & { workspace?: string; branch?: string; reason: string },
): Promise<ExitCode> {
  return withoutAgents(context, options, async ({ runtime }) => {
    const { makeCheckpoint } = await import('../app/index.ts');
    const { bindWorkspace, requireSession } = await import('../sessions/index.ts');
    const { store, principal, calls } = runtime;
    const session = await store.read('cli.session', (tx) => requireSession(tx, principal, id));
    if (options.workspace !== undefined) {
      const folder = resolve(options.workspace);
      // Before it is bound: a session that is bound to nothing could make no checkpoint any more.
      if (!isFolder(folder)) throw fail('WORKSPACE_NOT_A_FOLDER', 'The workspace is not a folder that can be read.');
      await store.write('cli.workspace', (tx) => bindWorkspace(tx, calls.sessions, principal, id, folder));
    }
    const branchId = options.branch ?? session.activeBranchId;
    const made = await makeCheckpoint(runtime, principal, { rootFrameId: id, branchId, reason: options.reason });
    context.output.result({
      document: checkpointDocument(made),
      lines: () => [
        `${made.checkpointId}  ${made.workspaceTreeId === null ? 'without a workspace' : `workspace ${made.workspaceTreeId}`}`,
      ],
    });
    return 0;
  });
}

export function fork(context: CommandContext, id: string, point: string, options: RunOptions & { name?: string }) {
  return withoutAgents(context, options, async ({ runtime }) => {
    const { forkBranch } = await import('../sessions/index.ts');
    const { store, principal, calls } = runtime;
    const name = options.name === undefined ? {} : { name: options.name };
    const made = await store.write('cli.fork', (tx) =>
      forkBranch(tx, calls.sessions, principal, { rootFrameId: id, fromCheckpointId: point, ...name }),
    );
    context.output.result({
      document: { branch_id: made.branchId, head: checkpointDocument(made.head) },
      lines: () => [made.branchId],
    });
    return 0;
  });
}

export function diff(
  context: CommandContext,
  id: string,
  point: string,
  other: string | undefined,
  options: RunOptions,
): Promise<ExitCode> {
  return withoutAgents(context, options, async ({ runtime }) => {
    const { history } = runtime.histories;
    if (other !== undefined) {
      const changes = await history.diff(runtime.principal, id, point, other);
      context.output.result({ document: { changes }, lines: () => changeLines(changes) });
      return 0;
    }
    const { previewDocument } = await import('../app/index.ts');
    const preview = await history.preview(runtime.principal, id, point);
    context.output.result({
      document: { changes: preview.changes, ...previewDocument(preview) },
      lines: () => [...changeLines(preview.changes), ...notUndoneLines(previewDocument(preview))],
    });
    return 0;
  });
}

const changeLines = (changes: readonly TreeChange[]): string[] =>
  changes.length === 0 ? ['No file changes.'] : changes.map((one) => `${one.change}  ${displayText(one.path)}`);

interface NotUndoneDocument {
  readonly not_undone: readonly { readonly tool_call_id: string | null; readonly side_effect_class: string }[];
  readonly not_undone_more: boolean;
}

function notUndoneLines({ not_undone: left, not_undone_more: more }: NotUndoneDocument): string[] {
  if (left.length === 0) return [];
  return [
    'Not undone, since it was done outside the workspace:',
    ...left.map((one) => `  ${displayText(one.tool_call_id ?? 'a call')}  ${one.side_effect_class}`),
    ...(more ? ['  and more'] : []),
  ];
}

export function revert(
  context: CommandContext,
  id: string,
  point: string,
  options: RunOptions & { yes?: boolean },
): Promise<ExitCode> {
  return withoutAgents(context, options, async ({ runtime }) => {
    const { previewDocument, revertTask } = await import('../app/index.ts');
    const preview = await runtime.histories.history.preview(runtime.principal, id, point);
    if (!context.output.json)
      for (const line of [...changeLines(preview.changes), ...notUndoneLines(previewDocument(preview))])
        context.terminal.stderr.write(`${line}\n`);
    // In a locked session nobody is asked for what would be refused.
    await runtime.packages.requireTrusted(runtime.principal, id);
    return askKeeper(context, runtime, revertTask(id, point), options);
  });
}

export function activate(
  context: CommandContext,
  id: string,
  branch: string,
  options: RunOptions & { yes?: boolean },
): Promise<ExitCode> {
  return withoutAgents(context, options, async ({ runtime }) => {
    const { requireBranch } = await import('../sessions/index.ts');
    const { activateTask } = await import('../app/index.ts');
    await runtime.store.read('cli.branch', (tx) => requireBranch(tx, runtime.principal, id, branch));
    await runtime.packages.requireTrusted(runtime.principal, id);
    return askKeeper(context, runtime, activateTask(id, branch), options);
  });
}

/** A run of the house's own agent, whose one call waits for a person unless it is approved here. */
async function askKeeper(
  context: CommandContext,
  runtime: Runtime,
  task: string,
  { yes = false }: { readonly yes?: boolean },
): Promise<ExitCode> {
  const { SESSION_KEEPER, viewOfRun } = await import('../app/index.ts');
  const { watchedRun } = await import('./watched-run.ts');
  const { runs, principal, projectId, approvals } = runtime;
  let runId = '';
  await watchedRun(context, runtime, async (listener) => {
    const handle = await runs.start(principal, SESSION_KEEPER, { task, projectId, listener });
    runId = handle.runId;
    if (!yes) return handle;
    await handle.ended;
    const { pending } = await viewOfRun(runtime, principal, runId);
    for (const { requestId, digest } of pending)
      await approvals.decide(principal, [{ requestId, digest, decision: 'approve' }]);
    return pending.length === 0 ? handle : runs.resume(principal, runId, listener);
  });
  const view = await viewOfRun(runtime, principal, runId);
  if (view.status === 'waiting_confirmation') return 3;
  return view.calls[0]?.outcome?.state === 'done' ? 0 : 1;
}

export function recover(context: CommandContext, id: string, options: RunOptions & { rollBack?: boolean }) {
  return withoutAgents(context, options, async ({ runtime }) => {
    const how = options.rollBack ? 'roll_back' : 'finish';
    await runtime.histories.history.recover(runtime.principal, id, how);
    context.output.result({
      document: { session_id: id, recovered: how },
      lines: () => [how === 'finish' ? 'The revert is carried out.' : 'The session is as it was before the revert.'],
    });
    return 0;
  });
}

export function remove(context: CommandContext, id: string, options: RunOptions & { yes?: boolean }) {
  return withoutAgents(context, options, async ({ runtime }) => {
    if (!options.yes) throw fail('USAGE', 'Deleting a session cannot be undone: say so with --yes.');
    const { removeSession } = await import('../app/index.ts');
    const kept = await removeSession(runtime, runtime.principal, id);
    context.output.result({
      document: { session_id: id, deleted: true, kept },
      lines: () => ['The session is deleted.', ...kept.map((one) => `  kept for the audit: ${one.count} ${one.what}`)],
    });
    // It is gone, whatever becomes of what nothing names any more: the next collection takes that along.
    await runtime.histories.workspaces.collect(COLLECT_GRACE_MS).catch(() => undefined);
    return 0;
  });
}
