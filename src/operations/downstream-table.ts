import { canonicalJson, type JsonValue, utcText } from '../core/index.ts';
import type { Store } from '../store/index.ts';
import type { DeliveryAnswer, DeliveryRequest, DownstreamPort } from './downstream.ts';
import { keepDownstreamReceipt } from './record.ts';
import { bindReceipt } from './rows.ts';

/** What the stand-in does for one delivery: the same for the same effect identity, whenever it is asked. */
export interface TableEffect {
  readonly receiptId: string;
  readonly downstreamRequestId: string;
  readonly resourceRevision: string;
  readonly data: JsonValue;
}

/**
 * The other side as a table of this database: it commits in a transaction of its own, so that a crash can fall between
 * its commit and ours. The first commit stands, its time included.
 */
export function tableDownstream(store: Store, perform: (request: DeliveryRequest) => TableEffect): DownstreamPort {
  const deliver = async (request: DeliveryRequest): Promise<DeliveryAnswer> => {
    const { data, ...effect } = perform(request);
    const receipt = {
      ...effect,
      resultJson: canonicalJson(data),
      producerRevision: request.contract.producer,
      observedAt: utcText(request.now),
    };
    const bound = bindReceipt(receipt, request.requestSha256, request.contract.effect);
    const kept = await store.write('operations.downstream', (tx) =>
      keepDownstreamReceipt(tx, request.scope, bound, request.now),
    );
    return { kind: 'done', receipt: kept };
  };
  return { home: 'table', deliver };
}
