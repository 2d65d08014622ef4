import { canonicalJson } from './canonical-json.ts';
import { sha256Hex } from './digest.ts';
import type { JsonObject } from './json-value.ts';

/** A chain over rows in their order: its digest says every one of them, where each stood, and that none is missing. */
export class RowChain {
  #digest = sha256Hex('holdfast-row-chain-v1');
  #count = 0;

  add(row: JsonObject): void {
    this.#digest = sha256Hex(`${this.#digest}${canonicalJson(row)}`);
    this.#count += 1;
  }

  get digest(): string {
    return this.#digest;
  }

  get count(): number {
    return this.#count;
  }
}
