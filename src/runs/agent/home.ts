import type { BatchStore } from '../trace/batch-store.ts';
import type { TraceStore } from '../trace/port.ts';
import type { RunHolds } from '../trace/run-holds.ts';
import { FileTraceStore, type FileTraceStoreOptions } from '../trace-files/store.ts';

/** What the loop of a run needs of the place where the run lies. Each part can be decorated. */
export interface RunHome {
  readonly traces: TraceStore;
  readonly batches: BatchStore;
  readonly holds: RunHolds;
}

/** The file home: traces, batches and holds in one folder. */
export function fileRunHome(options: FileTraceStoreOptions): RunHome & { readonly traces: FileTraceStore } {
  const traces = new FileTraceStore(options);
  return { traces, batches: traces.batches, holds: traces.holds };
}
