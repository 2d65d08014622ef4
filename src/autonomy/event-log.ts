import type { AutoEvent, AutoEventType, RunScope } from './model.ts';
import { sameJson, type Told } from './documents.ts';
import { type ProofName, requireProof } from './errors.ts';

const SCOPE = ['run_id', 'root_frame_id', 'branch_id', 'turn_id', 'execution_id'] as const;

export const sameScope = (a: RunScope, b: RunScope): boolean => SCOPE.every((part) => a[part] === b[part]);

/**
 * The events that are being held against their owners. Each is asked for once, by what its owner implies; what nobody
 * asked for in the end was put there by somebody else.
 */
export class EventLog {
  readonly #byKey = new Map<string, AutoEvent>();
  readonly #asked = new Set<string>();
  readonly #count: number;

  constructor(events: readonly AutoEvent[]) {
    for (const event of events) this.#byKey.set(`${event.run_id}\0${event.idempotency_key}`, event);
    this.#count = events.length;
  }

  /** The one event that an owner implies, equal in every part. */
  require(scope: RunScope, type: AutoEventType, told: Told, proof: ProofName): AutoEvent {
    const event = this.#byKey.get(`${scope.run_id}\0${told.key}`);
    requireProof(event !== undefined, proof, `its event ${type} is missing`);
    const found = event as AutoEvent;
    const equal =
      found.type === type &&
      sameScope(found, scope) &&
      found.request_sha256 === told.request &&
      found.created_at === told.at &&
      sameJson(found.payload, told.payload);
    requireProof(equal && !this.#asked.has(found.event_id), proof, `its event ${type} is not what was written`);
    this.#asked.add(found.event_id);
    return found;
  }

  /** Nothing is left over. */
  requireAllKnown(proof: ProofName): void {
    requireProof(this.#asked.size === this.#count, proof, 'there is an event without its owner');
  }
}
