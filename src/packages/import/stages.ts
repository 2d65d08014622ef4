import { join } from 'node:path';
import { importRule } from '../../approvals/index.ts';
import type { SessionPackage } from '../../archive/index.ts';
import { makeFolder } from '../../core/index.ts';
import {
  addDelivery,
  addRecord,
  ANNOTATION,
  appendEvent,
  ARTIFACT,
  ARTIFACT_VERSION,
  bindWorkspace,
  CAPABILITY_STATE,
  CELL,
  CHECKPOINT_STATE,
  completeImportedMessage,
  ENVIRONMENT_SNAPSHOT,
  faceImported,
  GENERATION,
  importAttempt,
  importBranch,
  importCheckpoint,
  importEvent,
  importGroup,
  importMessage,
  LINEAGE_EDGE,
  MEMORY,
  type Message,
  openGroup,
  openSession,
  OPERATION,
  PLAN,
  type Principal,
  putSetting,
  RECOVERY_ENTRY,
  REVIEW_STEP,
  type Shape,
} from '../../sessions/index.ts';
import { addProject, appendFeed, renameProject, type Tx } from '../../store/index.ts';
import type { PackageContext } from '../model.ts';
import { quarantineKey, quarantineText } from '../quarantine.ts';
import { PENDING_TEXT } from './conversation.ts';
import { writeSnapshot } from './files.ts';
import type { ImportPlan, PlannedGroup } from './plan-model.ts';

/** What the session is called until everything in it is there: nothing of the package is seen before. */
const NEUTRAL_SESSION = 'Imported session';
const NEUTRAL_PROJECT = 'Imported Session (quarantined)';

/** Rows of one transaction: readers and other writers get their turns in between. */
const ROWS_A_COMMIT = 200;
/** Lines of the ledger of one transaction, about: a large group is written in several. */
const LINES_A_COMMIT = 500;

/** Records come in whole, into a session that nobody else may write to yet. */
const IMPORTED = { imported: true } as const;

/**
 * The steps of one import, in their order. Each is a method of its own, so that a test can put a fault in the place of
 * one. Whatever interrupts them leaves a session that is quarantined and neutrally named.
 */
export class ImportStages {
  readonly context: PackageContext;
  readonly principal: Principal;
  readonly plan: ImportPlan;
  readonly pkg: SessionPackage;
  /** What was not stored before this import. */
  readonly added = { trees: [] as string[], contents: [] as string[] };

  constructor(context: PackageContext, principal: Principal, plan: ImportPlan, pkg: SessionPackage) {
    this.context = context;
    this.principal = principal;
    this.plan = plan;
    this.pkg = pkg;
  }

  /** The project, the session and its quarantine, in one transaction: from here on there is a locked placeholder. */
  async root(): Promise<void> {
    const { store, sessions, clock } = this.context;
    const { projectId, root } = this.plan;
    const { tenant: tenantId, subject: subjectId } = this.principal;
    await store.write('packages.root', async (tx) => {
      await addProject(tx, clock, { tenantId, subjectId }, { projectId, name: NEUTRAL_PROJECT });
      const session = { projectId, rootFrameId: root, origin: 'import', name: NEUTRAL_SESSION } as const;
      await openSession(tx, sessions, this.principal, session);
      const text = quarantineText('session_package_import_in_progress', this.pkg.archiveSha256, 0);
      await putSetting(tx, sessions, root, quarantineKey(root), text);
    });
  }

  /** Writes items a few at a time, each group of them in one transaction. */
  async #each<T>(name: string, items: readonly T[], write: (tx: Tx, item: T) => Promise<void>): Promise<void> {
    for (let from = 0; from < items.length; from += ROWS_A_COMMIT)
      await this.context.store.write(`packages.${name}`, async (tx) => {
        for (const item of items.slice(from, from + ROWS_A_COMMIT)) await write(tx, item);
      });
  }

  async #records(...shapes: readonly Shape[]): Promise<void> {
    for (const shape of shapes)
      await this.#each(shape.kind, this.plan.records.of(shape), async (tx, record) => {
        await addRecord(tx, this.context.sessions, this.principal, this.plan.root, shape, record, IMPORTED);
      });
  }

  /** Where the files of this import lie. */
  get folder(): string {
    return join(this.context.importsFolder, this.plan.root);
  }

  async stagingFolder(): Promise<void> {
    makeFolder(this.context.files, this.folder);
  }

  async branches(): Promise<void> {
    await this.#each('branches', this.plan.branches, importBranch);
  }

  async messages(): Promise<void> {
    let messages: Message[] = [];
    const write = async (): Promise<void> => {
      const batch = messages;
      messages = [];
      await this.#each('messages', batch, importMessage);
    };
    for await (const message of this.plan.messages()) if (messages.push(message) >= ROWS_A_COMMIT) await write();
    await write();
  }

  async ledger(): Promise<void> {
    let groups: PlannedGroup[] = [];
    let lines = 0;
    const write = async (): Promise<void> => {
      const batch = groups;
      groups = [];
      lines = 0;
      await this.context.store.write('packages.ledger', async (tx) => {
        for (const { group, events } of batch) {
          if (group) await importGroup(tx, group);
          for (const event of events) await importEvent(tx, event);
        }
      });
    };
    for await (const planned of this.plan.groups()) {
      groups.push(planned);
      lines += (planned.group ? 1 : 0) + planned.events.length;
      if (lines >= LINES_A_COMMIT) await write();
    }
    if (groups.length > 0) await write();
  }

  async generations(): Promise<void> {
    await this.#records(GENERATION);
  }

  async cells(): Promise<void> {
    await this.#records(CELL);
  }

  async attempts(): Promise<void> {
    await this.#each('attempts', this.plan.attempts, (tx, attempt) => importAttempt(tx, this.plan.root, attempt));
  }

  async environments(): Promise<void> {
    await this.#records(ENVIRONMENT_SNAPSHOT);
  }

  /** All bytes are durable before a row speaks of them. */
  async artifacts(): Promise<void> {
    for (const sha256 of this.plan.bytes) await this.snapshot(sha256);
    await this.#records(ARTIFACT, ARTIFACT_VERSION);
  }

  async snapshot(sha256: string): Promise<void> {
    const content = this.pkg.passing(`artifact-data/${sha256}`);
    const { created } = await this.context.workspaces.keepContent(content, sha256);
    if (created) this.added.contents.push(sha256);
  }

  /** Each delivery in one transaction with the message that tells of it. */
  async deliveries(): Promise<void> {
    const { store, sessions } = this.context;
    for (const { delivery, message } of this.plan.deliveries)
      await store.write('packages.delivery', async (tx) => {
        await completeImportedMessage(tx, message, PENDING_TEXT);
        await addDelivery(tx, sessions, this.principal, this.plan.root, delivery, IMPORTED);
      });
  }

  async lineage(): Promise<void> {
    await this.#records(LINEAGE_EDGE);
  }

  async workspaceContent(): Promise<void> {
    const { workspaces } = this.context;
    for (const { treeId, tree } of this.plan.trees) {
      if (await workspaces.keepTree(treeId)) continue;
      this.added.trees.push(treeId);
      await workspaces.addTree(tree, (sha) => this.pkg.passing(`workspace/blobs/${sha}`));
    }
  }

  async history(): Promise<void> {
    await this.#each('checkpoints', this.plan.checkpoints, importCheckpoint);
    await this.#records(CHECKPOINT_STATE);
  }

  async autoMode(): Promise<void> {
    const { autoMode, store } = this.context;
    const history = this.plan.autoMode;
    if (!autoMode || !history) return;
    const place = { rootFrameId: this.plan.root, projectId: this.plan.projectId, resumeExecution: false } as const;
    await store.write('packages.auto_mode', (tx) => autoMode.import(tx, place, history));
  }

  async policies(): Promise<void> {
    const { projectId, root } = this.plan;
    await this.#each('policies', this.plan.rules, async (tx, rule) => {
      const scopeId = rule.scope === 'project' ? projectId : root;
      await importRule(tx, this.context.sessions, this.principal, { ...rule, scopeId });
    });
    await this.#records(CAPABILITY_STATE);
  }

  async plansReviewMemory(): Promise<void> {
    await this.#records(PLAN, MEMORY, ANNOTATION, REVIEW_STEP);
  }

  async operations(): Promise<void> {
    await this.#records(OPERATION, RECOVERY_ENTRY);
  }

  /** The workspace as it was, with the newest bytes of every artifact under its name. Nothing in it is run. */
  async workspace(): Promise<void> {
    const { importedWorkspaceOf, workspaces, files, store, sessions } = this.context;
    const directory = importedWorkspaceOf(this.plan.root);
    makeFolder(files, directory);
    const empty = await workspaces.capture(directory);
    if (empty.created) this.added.trees.push(empty.treeId);
    await workspaces.restore(this.plan.activeTreeId, directory, empty);
    for (const { name, sha256 } of this.plan.files)
      await writeSnapshot(this.context, join(directory, name), sha256, this.pkg.passing(`artifact-data/${sha256}`));
    await store.write('packages.workspace', (tx) =>
      bindWorkspace(tx, sessions, this.principal, this.plan.root, directory),
    );
  }

  /** The generation that says nothing runs here: the newest one of the active branch. */
  async marker(): Promise<void> {
    const { marker, root } = this.plan;
    const { store, sessions } = this.context;
    await store.write('packages.marker', (tx) =>
      addRecord(tx, sessions, this.principal, root, GENERATION, marker, IMPORTED),
    );
  }

  /** The names, the note in the ledger and the final quarantine, in one transaction: the session is whole. */
  async promote(within?: (tx: Tx) => Promise<void>): Promise<void> {
    const { store, sessions } = this.context;
    const { root, projectId, face, injectionFlags } = this.plan;
    const { tenant: tenantId, subject: subjectId } = this.principal;
    await store.write('packages.promote', async (tx) => {
      await renameProject(tx, { tenantId, subjectId }, projectId, this.plan.projectName);
      await faceImported(tx, face);
      await this.#note(tx);
      const text = quarantineText('untrusted_session_package', this.pkg.archiveSha256, injectionFlags);
      await putSetting(tx, sessions, root, quarantineKey(root), text);
      await appendFeed(tx, { tenantId, kind: 'session.imported', reference: root });
      await within?.(tx);
    });
  }

  async #note(tx: Tx): Promise<void> {
    const { sessions, ids, clock } = this.context;
    const imported = () => ({ id: ids.next(), createdAt: clock.nowMs() });
    const { id: groupId } = await openGroup(tx, sessions, this.principal, {
      rootFrameId: this.plan.root,
      branchId: this.plan.face.activeBranchId,
      turnId: ids.next(),
      kind: 'session_import',
      imported: imported(),
    });
    await appendEvent(tx, sessions, this.principal, {
      groupId,
      type: 'session_imported',
      sideEffectClass: 'metadata_write',
      result: { explicit_recovery_required: true, schema_version: 1, trust_state: 'quarantined', view_only: true },
      feed: null,
      imported: imported(),
    });
  }
}

/** The order of the stages after the root. Snapshots are durable before any delivery is bound. */
export const STAGE_ORDER = [
  'stagingFolder',
  'branches',
  'messages',
  'ledger',
  'generations',
  'cells',
  'attempts',
  'environments',
  'artifacts',
  'deliveries',
  'lineage',
  'workspaceContent',
  'history',
  'autoMode',
  'policies',
  'plansReviewMemory',
  'operations',
  'workspace',
  'marker',
] as const satisfies readonly (keyof ImportStages)[];
