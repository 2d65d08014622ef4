import type { Clock } from '../../core/index.ts';
import type { Store } from '../../store/index.ts';
import type {
  Attachment,
  AttachmentInput,
  GoalTree,
  IntegrityReport,
  NewTrace,
  PageRequest,
  Trace,
  TraceChange,
  TraceEvent,
  TraceFilter,
  TraceMessage,
} from '../trace/model.ts';
import type { ChangeOf, TraceStore } from '../trace/port.ts';
import * as records from './records.ts';

/** The SQL home of traces: each call is one transaction of the store. Its functions for a `tx` are exported beside it. */
export class SqlTraceStore implements TraceStore {
  readonly #store: Store;
  readonly #scope: records.TraceScope;
  readonly #clock: Clock;

  constructor(store: Store, scope: records.TraceScope, clock: Clock) {
    this.#store = store;
    this.#scope = scope;
    this.#clock = clock;
  }

  createTrace(trace: NewTrace): Promise<Trace> {
    return this.#store.write('traces.create', (tx) => records.insertTrace(tx, this.#scope, trace, this.#clock));
  }

  getTrace(traceId: string): Promise<Trace | null> {
    return this.#store.read('traces.get', (tx) => records.findTrace(tx, this.#scope, traceId));
  }

  listTraces(filter: TraceFilter = {}): Promise<readonly Trace[]> {
    return this.#store.read('traces.list', (tx) => records.pageOfTraces(tx, this.#scope, filter));
  }

  updateTrace(traceId: string, change: ChangeOf<Trace, TraceChange>): Promise<Trace> {
    return this.#store.write('traces.update', (tx) =>
      records.changeTrace(tx, this.#scope, traceId, change, this.#clock),
    );
  }

  getGoalTree(traceId: string): Promise<GoalTree | null> {
    return this.#store.read('traces.goals', (tx) => records.findGoals(tx, this.#scope, traceId));
  }

  updateGoalTree(traceId: string, tree: GoalTree): Promise<void> {
    return this.#store.write('traces.put_goals', (tx) => records.putGoals(tx, this.#scope, traceId, tree, this.#clock));
  }

  addMessage(message: TraceMessage): Promise<void> {
    return this.#store.write('traces.add_message', (tx) =>
      records.insertMessage(tx, this.#scope, message, this.#clock),
    );
  }

  getMessage(messageId: string): Promise<TraceMessage | null> {
    return this.#store.read('traces.message', (tx) => records.findMessage(tx, this.#scope, messageId));
  }

  getTraceMessages(traceId: string, page: PageRequest<number> = {}): Promise<readonly TraceMessage[]> {
    return this.#store.read('traces.messages', (tx) => records.pageOfMessages(tx, this.#scope, traceId, page));
  }

  writeMessageAttachment(traceId: string, messageId: string, input: AttachmentInput): Promise<Attachment> {
    return this.#store.write('traces.attach', (tx) =>
      records.insertAttachment(tx, this.#scope, { traceId, messageId }, input, this.#clock),
    );
  }

  readAttachment(traceId: string, name: string): Promise<Uint8Array | null> {
    return this.#store.read('traces.attachment', (tx) => records.findAttachment(tx, this.#scope, traceId, name));
  }

  appendEvent(traceId: string, type: string, data: TraceEvent['data']): Promise<number> {
    return this.#store.write('traces.append_event', (tx) =>
      records.insertEvent(tx, this.#scope, traceId, { type, data }, this.#clock),
    );
  }

  getEvents(traceId: string, page: PageRequest<number> = {}): Promise<readonly TraceEvent[]> {
    return this.#store.read('traces.events', (tx) => records.pageOfEvents(tx, this.#scope, traceId, page));
  }

  reconcileTraceIntegrity(traceId: string): Promise<IntegrityReport> {
    return this.#store.write('traces.recount', (tx) => records.recountTrace(tx, this.#scope, traceId, this.#clock));
  }

  async close(): Promise<void> {
    // The store belongs to whoever opened it.
  }
}
