import { type ApprovalBatch, batchDocument, type BatchHome, readBatchDocument } from '../../approvals/index.ts';
import { reading } from '../trace/documents.ts';
import type { BatchStore } from '../trace/batch-store.ts';
import type { TraceFolder } from './trace-folder.ts';

const BATCH = 'tool_approvals.json';

/** How a batch reaches the folder of its trace. */
interface FolderAccess {
  read<T>(traceId: string, body: (folder: TraceFolder) => T): Promise<T>;
  write<T>(traceId: string, body: (folder: TraceFolder) => T): Promise<T>;
}

/** The file home of approval batches: `tool_approvals.json` in the folder of each trace. */
export class FileBatches implements BatchStore, BatchHome {
  readonly #access: FolderAccess;

  constructor(access: FolderAccess) {
    this.#access = access;
  }

  get(traceId: string): Promise<ApprovalBatch | null> {
    return this.#access.read(traceId, stored);
  }

  replace(traceId: string, batch: ApprovalBatch): Promise<void> {
    return this.#access.write(traceId, (folder) => folder.writeObject(BATCH, batchDocument(batch)));
  }

  change(traceId: string, change: (now: ApprovalBatch | null) => ApprovalBatch): Promise<ApprovalBatch> {
    return this.#access.write(traceId, (folder) => {
      const now = stored(folder);
      const next = change(now);
      if (next !== now) folder.writeObject(BATCH, batchDocument(next));
      return next;
    });
  }
}

function stored(folder: TraceFolder): ApprovalBatch | null {
  const bytes = folder.read(BATCH);
  return bytes === null ? null : reading('the approval batch', () => readBatchDocument(Buffer.from(bytes).toString()));
}
