import { setTimeout as sleep } from 'node:timers/promises';
import type { ModelFunction } from '../../src/index.ts';

/** Asks for one call; its turn after that stays until it is let go, and is counted. */
export class SlowModel {
  readonly begun: string[] = [];
  now = 0;
  most = 0;
  #let: () => void = () => undefined;
  readonly #open = new Promise<void>((resolve) => (this.#let = resolve));

  readonly #letOne: (() => void)[] = [];

  letGo(): void {
    this.#let();
  }

  /** Lets the turn end that has been there longest. */
  letOneGo(): void {
    this.#letOne.shift()?.();
  }

  readonly turn: ModelFunction = async ({ messages, signal }) => {
    const task = messages[0]?.text ?? '';
    if (messages.length === 1) return { calls: [{ callId: 'c', toolName: 'take_note', arguments: { note: task } }] };
    this.begun.push(task);
    this.now += 1;
    this.most = Math.max(this.most, this.now);
    const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    const own = new Promise<void>((resolve) => this.#letOne.push(resolve));
    await Promise.race([this.#open, own, stopped]);
    this.now -= 1;
    return 'done';
  };

  async untilBegun(count: number): Promise<void> {
    for (let i = 0; i < 400 && this.begun.length < count; i += 1) await sleep(25);
    // So that one too many would be seen as well.
    await sleep(150);
  }
}
