// The clients of the load, in a process of their own as clients are: told by a message what to do, it tells what it saw.
import { GatewayRefusal, HoldfastClient } from '../../src/client/index.ts';
import { systemClock } from '../../src/core/index.ts';

export interface LoadWork {
  readonly url: string;
  /** One a client. */
  readonly tokens: readonly string[];
  readonly tasks: readonly (readonly [requestId: string, decision: 'approve' | 'reject'])[];
}

export interface LoadSeen {
  readonly faults: readonly string[];
  /** Milliseconds of each decision. */
  readonly times: readonly number[];
  /** Whose decision was heard, as often as it was. */
  readonly heard: readonly string[];
  /** The notes of the calls that were approved. */
  readonly approved: readonly string[];
}

const EVERY = 7;

async function work({ url, tokens, tasks }: LoadWork): Promise<LoadSeen> {
  const faults: string[] = [];
  const times: number[] = [];
  const heard: string[] = [];
  const approved: string[] = [];
  const left = [...tasks];
  const decideNext = async (client: HoldfastClient): Promise<void> => {
    for (let task = left.shift(); task; task = left.shift()) {
      const [id, decision] = task;
      try {
        const { digest, canonical_arguments: text } = await client.showApproval(id);
        const began = systemClock.nowMs();
        const said = await client.decide(id, { decision, digest }).finally(() => {
          times.push(systemClock.nowMs() - began);
        });
        heard.push(id);
        if (said.request.status === 'allowed' || said.request.status === 'used')
          approved.push((JSON.parse(text) as { note: string }).note);
        if (left.length % EVERY === 0) await client.listApprovals({ limit: 20 });
      } catch (error) {
        const isSecond = error instanceof GatewayRefusal && error.code === 'APPROVAL_ALREADY_DECIDED';
        if (!isSecond) faults.push(`${decision} ${id}: ${String(error)}`);
      }
    }
  };
  await Promise.all(tokens.map((token) => decideNext(new HoldfastClient({ url, token }))));
  return { faults, times, heard, approved };
}

process.once('message', (message) => {
  void work(message as LoadWork).then((seen) => process.send?.(seen, () => process.disconnect()));
});
