import { LIMITS } from '../../core/index.ts';
import { withToolListed } from '../wire/listed-tool.ts';
import { idKey, type RpcId } from '../wire/message.ts';
import { readServerLine } from '../wire/read-server-line.ts';
import type { Policy } from './policy-model.ts';
import { SETTLE_TOOL } from './settle-tool.ts';

/** The lists of tools that one host has asked its server for: where the policy offers the guard's own, it is added. */
export class ListedTools {
  readonly #offered: boolean;
  readonly #tell: (line: string) => void;
  readonly #asked = new Set<string>();

  constructor(policy: Pick<Policy, 'settleTool'>, tell: (line: string) => void) {
    this.#offered = policy.settleTool;
    this.#tell = tell;
  }

  asked(id: RpcId): void {
    if (!this.#offered) return;
    const [oldest] = this.#asked.size >= LIMITS.guardAnswersRemembered ? this.#asked : [];
    if (oldest !== undefined) this.#asked.delete(oldest);
    this.#asked.add(idKey(id));
  }

  /** What the host is told for this message of the server's: another text only where it is such a list. */
  told(bytes: Uint8Array): Uint8Array {
    if (this.#asked.size === 0) return bytes;
    const message = readServerLine(bytes, (key) => this.#asked.has(key));
    if (message.kind !== 'answer') return bytes;
    this.#asked.delete(idKey(message.id));
    if (message.answer.kind !== 'result') return bytes;
    const listed = withToolListed(bytes, SETTLE_TOOL);
    if (listed) return listed;
    this.#tell(`${SETTLE_TOOL.name} could not be added to the server's list of tools; it can be called all the same`);
    return bytes;
  }
}
