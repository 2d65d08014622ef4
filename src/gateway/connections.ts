import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

/** What came over which connection: what the time of a request means there, and how it is cut. */
export class Connections {
  readonly #of = new WeakMap<Request, IncomingMessage>();
  readonly #unhurried = new WeakMap<Duplex, IncomingMessage>();
  /** The answers of each connection that are not through yet. */
  readonly #open = new WeakMap<Duplex, Set<ServerResponse>>();
  #isClosing = false;

  /** Takes over what the server does with a connection that breaks HTTP or is too slow. */
  watch(server: Server): void {
    server.on('request', ({ socket }, answer) => {
      const open = this.#open.get(socket) ?? new Set();
      this.#open.set(socket, open.add(answer));
      answer.once('close', () => {
        open.delete(answer);
        if (this.#isClosing && open.size === 0) socket.destroySoon();
      });
    });
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      if (error.code !== 'ERR_HTTP_REQUEST_TIMEOUT' || !this.#isUnhurried(socket)) this.#refuse(error.code, socket);
    });
  }

  met(request: Request, incoming: IncomingMessage | undefined): void {
    if (incoming) this.#of.set(request, incoming);
  }

  /** From now on this request may take longer than others until all of it is there: whoever reads it bounds it. */
  unhurry(request: Request): void {
    const incoming = this.#of.get(request);
    if (incoming) this.#unhurried.set(incoming.socket, incoming);
  }

  /** Ends the connection of a request at once, whatever is on its way. */
  cut(request: Request): void {
    this.#of.get(request)?.socket.destroy();
  }

  /** From now on a connection ends with its last answer: no other request is waited for on it. */
  closeWhenAnswered(): void {
    this.#isClosing = true;
  }

  /** Only until the body is there: the next request on the connection has its usual time. */
  #isUnhurried(socket: Duplex): boolean {
    return this.#unhurried.get(socket)?.complete === false;
  }

  /** As a server does of itself: nothing is written into an answer that has begun. */
  #refuse(code: string | undefined, socket: Duplex): void {
    const hasBegun = [...(this.#open.get(socket) ?? [])].some((answer) => answer.headersSent);
    if (socket.writable && !hasBegun) {
      const status = STATUSES[code ?? ''] ?? 400;
      socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n\r\n`);
    }
    socket.destroy();
  }
}

const STATUSES: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  HPE_HEADER_OVERFLOW: 431,
};
