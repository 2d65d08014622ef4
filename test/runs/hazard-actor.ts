// The second actor of the hazards, in a process of its own. Each message names a data folder and what to do there; the
// answer is what came of it, or the code of the error.
import { Holdfast } from '../../src/index.ts';
import { ACTOR_OPTIONS, sendingAgent } from './hazard-agent.ts';

interface Order {
  readonly id: number;
  readonly dataDir: string;
  readonly laterMs: number;
  readonly act: 'decide' | 'stop' | 'resume' | 'sweep' | 'ran' | 'close';
  readonly principal: Holdfast['runtime']['principal'];
  readonly decisions?: Parameters<Holdfast['runtime']['approvals']['decide']>[1];
  readonly runId?: string;
}

const open = new Map<
  string,
  { readonly holdfast: Holdfast; readonly ran: () => number; readonly later: (ms: number) => void }
>();

async function actorIn(dataDir: string) {
  const known = open.get(dataDir);
  if (known) return known;
  let laterMs = 0;
  const clock = { nowMs: () => Date.now() + laterMs };
  const holdfast = await Holdfast.open({ ...ACTOR_OPTIONS, dataDir, clock });
  const { agent, ran } = sendingAgent();
  holdfast.agent(agent);
  const actor = { holdfast, ran, later: (ms: number) => void (laterMs = ms) };
  open.set(dataDir, actor);
  return actor;
}

async function obey({ dataDir, act, principal, decisions = [], runId = '', laterMs }: Order): Promise<unknown> {
  const { holdfast, ran, later } = await actorIn(dataDir);
  later(laterMs);
  const { approvals, runs } = holdfast.runtime;
  switch (act) {
    case 'decide':
      await approvals.decide(principal, decisions);
      return null;
    case 'stop':
      return (await runs.stop(principal, runId)).state.status;
    case 'resume':
      return (await (await runs.resume(principal, runId)).ended).state.status;
    case 'sweep':
      return (await approvals.sweep()).expired.length;
    case 'ran':
      return ran();
    case 'close':
      open.delete(dataDir);
      return holdfast.close();
  }
}

process.on('message', (order: Order) => {
  obey(order).then(
    (value) => process.send?.({ id: order.id, value: value ?? null }),
    (error: unknown) => {
      const code = error instanceof Error && 'code' in error ? error.code : String(error);
      process.send?.({ id: order.id, code });
    },
  );
});
process.on('disconnect', () => process.exit(0));
