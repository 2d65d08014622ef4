import type { IncomingMessage } from 'node:http';
import { LIMITS } from '../../core/index.ts';
import { EventFramer } from '../wire/event-framer.ts';
import { type CallAnswer, idKey, type RpcId } from '../wire/message.ts';
import { readServerLine } from '../wire/read-server-line.ts';
import { readBody } from './bodies.ts';
import { mediaTypeOf } from './headers.ts';

/** The answer to a request of the guard's own, as a body or as an event; whatever else comes there is nobody's. */
export async function answerIn(response: IncomingMessage, id: RpcId): Promise<CallAnswer> {
  if (response.statusCode !== 200 || response.headers['content-encoding'] !== undefined)
    throw new Error('The server did not answer.');
  if (mediaTypeOf(response.headers['content-type']) !== 'text/event-stream') {
    const body = await readBody(response, LIMITS.guardLineBytes);
    const found = body && answerOf(body, id);
    if (found) return found;
    throw new Error('The server answered something else.');
  }
  const framer = new EventFramer();
  for await (const chunk of response as AsyncIterable<Uint8Array>)
    for (const event of framer.push(chunk)) {
      const found = event.kind === 'block' && event.data && answerOf(event.data, id);
      if (found) return found;
    }
  throw new Error('The stream ended without an answer.');
}

function answerOf(bytes: Uint8Array, id: RpcId): CallAnswer | null {
  const message = readServerLine(bytes, (key) => key === idKey(id));
  return message.kind === 'answer' ? message.answer : null;
}
