// A small billing service in its own process: the other side of the demo. It keeps a log of its own, one line a
// commit, on disk before it answers, and it is the judge of what really happened. It does not honour idempotency keys:
// the same request twice is two credit notes. It can be asked whether a reference was ever committed.
//
//   node billing-service.ts LOG   ->  prints {"port":N}; then {"committed":"REF"} whenever it withholds an answer
//
//   POST /credit-notes {"reference","order","amount_cents","reason"}   -> 201 {"credit_note","order","amount_cents"}
//   GET  /credit-notes?reference=REF                                   -> 200 {"found":bool,...}
//   GET  /ledger                                                       -> 200 [every commit]
//   POST /withhold?order=ORDER                                         -> 204; the next commit for it gets no answer
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface CreditNote {
  readonly credit_note: string;
  readonly reference: string;
  readonly order: string;
  readonly amount_cents: number;
  readonly reason: string;
}

const MOST_BYTES = 64 * 1024;
const logFile = process.argv[2];
if (logFile === undefined) {
  console.error('usage: billing-service.ts LOG');
  process.exit(2);
}
const notes: CreditNote[] = existsSync(logFile)
  ? readFileSync(logFile, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as CreditNote)
  : [];
const log = openSync(logFile, 'a', 0o600);
let withheldOrder: string | null = null;

function commit(note: CreditNote): void {
  writeSync(log, `${JSON.stringify(note)}\n`);
  fsyncSync(log);
  notes.push(note);
}

async function readBody(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8') as AsyncIterable<string>) {
    text += chunk;
    if (text.length > MOST_BYTES) throw new Error('the body is too long');
  }
  return text;
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function create(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const asked = JSON.parse(await readBody(request)) as Omit<CreditNote, 'credit_note'>;
  const note = { credit_note: `CN-${notes.length + 1}`, ...asked };
  commit(note);
  if (note.order === withheldOrder) {
    withheldOrder = null;
    console.log(JSON.stringify({ committed: note.reference }));
    return; // the connection stays open and silent: whoever asked can only be killed or give up
  }
  answer(response, 201, { credit_note: note.credit_note, order: note.order, amount_cents: note.amount_cents });
}

async function route(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://127.0.0.1');
  const what = `${request.method ?? ''} ${url.pathname}`;
  if (what === 'POST /credit-notes') return create(request, response);
  if (what === 'GET /credit-notes') {
    const note = notes.find((n) => n.reference === url.searchParams.get('reference'));
    return answer(response, 200, note ? { found: true, ...note } : { found: false });
  }
  if (what === 'GET /ledger') return answer(response, 200, notes);
  if (what === 'POST /withhold') {
    withheldOrder = url.searchParams.get('order');
    response.writeHead(204).end();
    return;
  }
  return answer(response, 404, { error: 'no such route' });
}

const server = createServer((request, response) => {
  route(request, response).catch(() => answer(response, 400, { error: 'bad request' }));
});
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: (server.address() as AddressInfo).port })));
process.on('SIGTERM', () => {
  closeSync(log);
  process.exit(0);
});
