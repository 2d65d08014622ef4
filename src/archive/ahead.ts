/** How many streams are worked on at a time, and how many bytes may wait for their turn. */
const AT_WORK = 3;
const WAITING_BYTES = 4 * 1024 * 1024;

type Chunks = AsyncIterable<Buffer>;

/**
 * Streams that are used one after another, but worked on before their turn: while one is used, the next ones fill a
 * bounded store. What comes out, and in which order, is as if nothing had been done ahead.
 */
export class WorkAhead {
  readonly #makers: readonly (() => Chunks)[];
  readonly #started: AheadStream[] = [];
  #atWork = 0;
  #waiting = 0;
  #isStopped = false;

  constructor(makers: readonly (() => Chunks)[]) {
    this.#makers = makers;
  }

  /** The chunks of one stream; streams are asked for in their order, each to its end. */
  async *chunks(index: number): AsyncGenerator<Buffer> {
    this.#start(index);
    const stream = this.#started[index] as AheadStream;
    for (;;) {
      const chunk = await stream.next();
      if (chunk === undefined) return;
      this.#waiting -= chunk.length;
      this.#start(index);
      yield chunk;
    }
  }

  /** Gives everything up that was begun; settles once nothing is worked on any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#started.map((stream) => stream.stop()));
  }

  /** The stream that is used is always worked on; others as long as there is room. */
  #start(used: number): void {
    while (this.#started.length < this.#makers.length && !this.#isStopped) {
      const hasRoom = this.#atWork < AT_WORK && this.#waiting < WAITING_BYTES;
      if (this.#started.length > used && !hasRoom) return;
      const make = this.#makers[this.#started.length] as () => Chunks;
      const stream = new AheadStream((bytes) => {
        this.#waiting += bytes;
        return this.#waiting < WAITING_BYTES;
      });
      this.#started.push(stream);
      this.#atWork += 1;
      void stream.work(make).then(() => {
        this.#atWork -= 1;
        this.#start(used);
      });
    }
  }
}

/** One stream, pulled until it holds enough. */
class AheadStream {
  readonly #chunks: Buffer[] = [];
  readonly #hasRoom: (bytes: number) => boolean;
  #working: Promise<void> = Promise.resolve();
  #failure: { readonly error: unknown } | null = null;
  #isEnded = false;
  #isStopped = false;
  #wakeUser: () => void = () => {};
  #wakeWorker: () => void = () => {};

  /** `hasRoom` is told of every chunk that waits, and says whether more may. */
  constructor(hasRoom: (bytes: number) => boolean) {
    this.#hasRoom = hasRoom;
  }

  /** Settles at the end, and never fails: what went wrong is told to whoever uses the stream. */
  work(make: () => Chunks): Promise<void> {
    this.#working = this.#pull(make);
    return this.#working;
  }

  async #pull(make: () => Chunks): Promise<void> {
    try {
      for await (const chunk of make()) {
        this.#chunks.push(chunk);
        const hasRoom = this.#hasRoom(chunk.length);
        this.#wakeUser();
        // Whoever uses up all that waits here wakes the work again, however much waits elsewhere.
        if (!hasRoom && !this.#isStopped) await new Promise<void>((settle) => (this.#wakeWorker = settle));
        if (this.#isStopped) return;
      }
    } catch (error) {
      this.#failure = { error };
    } finally {
      this.#isEnded = true;
      this.#wakeUser();
    }
  }

  async next(): Promise<Buffer | undefined> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (this.#chunks.length === 0) this.#wakeWorker();
      if (chunk !== undefined) return chunk;
      if (this.#failure) throw this.#failure.error;
      if (this.#isEnded) return undefined;
      await new Promise<void>((settle) => (this.#wakeUser = settle));
    }
  }

  stop(): Promise<void> {
    this.#isStopped = true;
    this.#wakeWorker();
    return this.#working;
  }
}
