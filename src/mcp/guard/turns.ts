/** Work that waits for the work before it under the same name. */
export class Turns {
  readonly #last = new Map<string, Promise<void>>();

  async take<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name);
    const { promise: over, resolve } = Promise.withResolvers<void>();
    this.#last.set(name, over);
    await before;
    try {
      return await work();
    } finally {
      resolve();
      if (this.#last.get(name) === over) this.#last.delete(name);
    }
  }
}
