import { isJsonObject, type JsonObject, type JsonValue } from '../core/index.ts';
import { isAbsent, objectOf } from './documents.ts';
import { listItems, only, readListed } from './listed-document.ts';

const MESSAGES = 'messages';
const FIELDS = ['message_id', 'branch_id', 'seq', 'role', 'created_at'] as const;

type Chunks = AsyncIterable<Buffer>;

/**
 * The session of a package without what its messages say: of each there stays who it is and where it stands, and the
 * whole of one that tells of a delivery. `see` is given every message whole, as it passes. Undefined for what is not one
 * strict JSON object.
 */
export const readSession = (content: Chunks, see: (message: JsonValue) => void): Promise<JsonObject | undefined> =>
  readListed(content, MESSAGES, {
    whole: (message) => {
      see(message);
      if (!isJsonObject(message)) return null;
      const envelope = objectOf(message, 'metadata')?.['completion_delivery'];
      return isAbsent(envelope) ? only(message, FIELDS) : message;
    },
  });

/** The messages of a session, whole, one after the other. The document has been read before. */
export async function* sessionMessages(content: Chunks): AsyncGenerator<JsonObject> {
  for await (const message of listItems(content, MESSAGES)) if (isJsonObject(message)) yield message;
}
