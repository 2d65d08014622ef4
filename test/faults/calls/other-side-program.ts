// The other side of the crash tests, in a process of its own: node other-side-program.ts LOG, prints {"port":N}.
// It keeps books, one a crash, named by the first part of the path; one line in its log, on disk, for each commit, before
// it answers. It honours no key: the same request twice is two effects.
//   POST /BOOK/credit-notes {"reference","order","amount_cents"} · GET /BOOK/credit-notes?reference=REF · GET /BOOK/ledger
//   GET /BOOK/quiet, answered once whoever wrote into the book is gone, and what they sent is committed
import { fsyncSync, openSync, writeSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import type { Committed } from './invariants.ts';

const log = openSync(process.argv[2] ?? '', 'a', 0o600);
const books = new Map<string, Committed[]>();
const writers = new Map<string, Set<Socket>>();

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8') as AsyncIterable<string>) text += chunk;
  return text;
}

function writes({ socket }: IncomingMessage, name: string): void {
  const open = writers.get(name) ?? new Set();
  writers.set(name, open.add(socket));
  socket.once('close', () => open.delete(socket));
}

async function quiet(name: string): Promise<true> {
  // What was sent before this was asked may still have to be accepted and read.
  for (let turns = 0; turns < 5; turns += 1) await turn();
  const open = writers.get(name) ?? new Set();
  await Promise.all([...open].map((socket) => new Promise((gone) => socket.once('close', gone))));
  return true;
}

async function answerTo(request: IncomingMessage): Promise<unknown> {
  const url = new URL(request.url ?? '/', 'http://127.0.0.1');
  const [, name = '', what] = url.pathname.split('/');
  const book = books.get(name) ?? [];
  books.set(name, book);
  if (what === 'ledger') return book;
  if (what === 'quiet') return quiet(name);
  if (request.method === 'GET') {
    const committed = book.find((one) => one.reference === url.searchParams.get('reference'));
    return committed ? { found: true, ...committed } : { found: false };
  }
  writes(request, name);
  const asked = JSON.parse(await bodyOf(request)) as Omit<Committed, 'credit_note'>;
  const committed = { credit_note: `CN-${book.length + 1}`, ...asked };
  writeSync(log, `${JSON.stringify({ book: name, ...committed })}\n`);
  fsyncSync(log);
  book.push(committed);
  return { credit_note: committed.credit_note };
}

const server = createServer((request, response) => {
  answerTo(request).then(
    (answer) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer)),
    () => response.writeHead(400).end(),
  );
});
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: (server.address() as AddressInfo).port })));
