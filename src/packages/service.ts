import { type ByteSource, bytesSource } from '../archive/index.ts';
import { fail, LIMITS } from '../core/index.ts';
import { type KeptRecords, type Principal, quarantinedImports, requireSession } from '../sessions/index.ts';
import { type ExportedPackage, exportPackage, type MakeExportStages } from './export/export.ts';
import { endErasures, eraseImport } from './import/erase.ts';
import { importPackage, type ImportOptions, type MakeStages } from './import/import.ts';
import type { ImportResult, PackageContext } from './model.ts';
import { receivePackage, type ReceivedPackage, requireReceivable } from './receive.ts';
import {
  type Quarantine,
  readQuarantine,
  type RecoveryAction,
  requireUnlock,
  type RuntimeStart,
  type Trusted,
  trustSession,
} from './quarantine.ts';
import { sweepStaging } from './staging.ts';

/** Seams of an export and an import, for tests. */
export interface PackageSeams {
  readonly exportStages?: MakeExportStages;
  readonly importStages?: MakeStages;
}

/** Sessions that travel: out as one sealed file, in under quarantine, and free by a person's act alone. */
export class SessionPackages {
  readonly #context: PackageContext;
  readonly #seams: PackageSeams;
  readonly #transfers = new Map<string, number>();
  #importing = false;

  constructor(context: PackageContext, seams: PackageSeams = {}) {
    this.#context = context;
    this.#seams = seams;
  }

  /**
   * Removes what exports and imports of dead processes left in the staging folder, and what is left of erased sessions:
   * at the start, and before each.
   */
  async sweep(): Promise<void> {
    await sweepStaging(this.#context);
    await endErasures(this.#context);
  }

  /** See `exportPackage`. Whoever must have head and workspace together holds the session's pen meanwhile. */
  async export(principal: Principal, rootFrameId: string): Promise<ExportedPackage> {
    await this.sweep();
    return exportPackage(this.#context, principal, rootFrameId, this.#seams.exportStages);
  }

  /**
   * Takes a package that comes over a wire into the staging folder and gives it to `work`; the file is gone before this
   * settles, or else goes with the next sweep. ARCHIVE_TOO_LARGE, for the announced length before a byte is taken; TOO_MANY_REQUESTS as
   * `takePlace` says.
   */
  async receive<T>(
    principal: Principal,
    incoming: { readonly announcedBytes: number; readonly chunks: AsyncIterable<Uint8Array> },
    work: (received: ReceivedPackage) => Promise<T>,
  ): Promise<T> {
    requireReceivable(incoming.announcedBytes);
    const free = this.takePlace(principal);
    try {
      await this.sweep();
      const received = await receivePackage(this.#context, incoming.chunks);
      try {
        return await work(received);
      } finally {
        // What could not be removed is left to the next sweep: what the work came to is told all the same.
        await received.close().catch(() => undefined);
      }
    } finally {
      free();
    }
  }

  /**
   * A place for one package that goes over a wire and lies on the disk meanwhile; what is given back frees it.
   * TOO_MANY_REQUESTS beyond `packageTransfers` of one tenant at a time.
   */
  takePlace({ tenant }: Principal): () => void {
    const taken = this.#transfers.get(tenant) ?? 0;
    if (taken >= LIMITS.packageTransfers)
      throw fail('TOO_MANY_REQUESTS', 'Too many packages are on their way at once.', { details: { retry_after: 1 } });
    this.#transfers.set(tenant, taken + 1);
    return () => {
      const left = (this.#transfers.get(tenant) ?? 1) - 1;
      if (left === 0) this.#transfers.delete(tenant);
      else this.#transfers.set(tenant, left);
    };
  }

  /** See `importPackage`, `ImportOptions`. One at a time: IMPORT_BUSY. The source is the caller's to close. */
  async import(
    principal: Principal,
    source: ByteSource | Uint8Array,
    within?: ImportOptions['within'],
  ): Promise<ImportResult> {
    if (this.#importing) throw fail('IMPORT_BUSY', 'Another package is being imported.');
    this.#importing = true;
    try {
      await this.sweep();
      const bytes = source instanceof Uint8Array ? bytesSource(Buffer.from(source)) : source;
      return await importPackage(this.#context, principal, bytes, { makeStages: this.#seams.importStages, within });
    } finally {
      this.#importing = false;
    }
  }

  /** Why a session is locked; null when it is not. SESSION_NOT_FOUND. */
  quarantineOf(principal: Principal, rootFrameId: string): Promise<Quarantine | null> {
    return this.#context.store.read('packages.quarantine', async (tx) => {
      await requireSession(tx, principal, rootFrameId);
      return readQuarantine(tx, rootFrameId);
    });
  }

  /** SESSION_QUARANTINED while a session is locked: what every route that would act asks first. */
  async requireTrusted(principal: Principal, rootFrameId: string): Promise<void> {
    if ((await this.quarantineOf(principal, rootFrameId)) !== null)
      throw fail('SESSION_QUARANTINED', 'The session was imported and is view-only until it is confirmed.');
  }

  /**
   * The only way out of a quarantine: a confirmed fresh restart, which `start` carries out and reports. Anything else
   * is RECOVERY_REFUSED and changes nothing. See `trustSession`.
   */
  async recover(
    principal: Principal,
    rootFrameId: string,
    asked: RecoveryAction,
    start: () => Promise<RuntimeStart>,
  ): Promise<Trusted> {
    const quarantine = await this.quarantineOf(principal, rootFrameId);
    if (quarantine === null) throw fail('NOT_QUARANTINED', 'The session is not quarantined.');
    requireUnlock(asked);
    const started = await start();
    const { store, sessions } = this.#context;
    return store.write('packages.trust', (tx) => trustSession(tx, sessions, principal, rootFrameId, started));
  }

  /** Removes an imported session whole, quarantined or not. See `eraseImport`. */
  erase(principal: Principal, rootFrameId: string): Promise<readonly KeptRecords[]> {
    return eraseImport(this.#context, principal, rootFrameId);
  }

  /** Placeholders of imports that were interrupted: locked, not whole, and only good for being removed. */
  unfinished(principal: Principal): Promise<string[]> {
    return this.#context.store.read('packages.unfinished', async (tx) => {
      const roots = await quarantinedImports(tx, principal.tenant);
      const unfinished: string[] = [];
      for (const { root } of roots)
        if ((await readQuarantine(tx, root))?.reason === 'session_package_import_in_progress') unfinished.push(root);
      return unfinished;
    });
  }
}
