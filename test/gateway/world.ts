import { join } from 'node:path';
import { HoldfastClient } from '../../src/client/index.ts';
import { type GatewayOptions, openGateway } from '../../src/gateway/index.ts';
import { ROUTES } from '../../src/gateway/routes/index.ts';
import { Holdfast, type HoldfastOptions, type ModelFunction, type Tool } from '../../src/index.ts';
import { createToken, type Role } from '../../src/principals/index.ts';
import { ensureTenant } from '../../src/store/index.ts';
import { callsThenDone, noteTool } from '../calls/desk.ts';
import { assert, type Ending, movedClock, temporaryFolder } from '../support/index.ts';
import { newDataFolder } from '../support/new-database.ts';

export const PEOPLE = { roles: ['approver'], subjects: [], requesterMayDecide: false };

export interface World {
  readonly holdfast: Holdfast;
  readonly url: string;
  readonly dataDir: string;
  /** A fresh token's text. */
  readonly token: (roles: readonly Role[], more?: { tenant?: string; subject?: string }) => Promise<string>;
  readonly client: (roles: readonly Role[], more?: { tenant?: string; subject?: string }) => Promise<HoldfastClient>;
  readonly close: () => Promise<void>;
}

export interface WorldOptions extends Omit<GatewayOptions, 'holdfast'> {
  readonly model?: ModelFunction;
  readonly tools?: readonly Tool[];
  readonly holdfast?: HoldfastOptions;
}

/** A runtime with one agent, and its gateway on a port of its own; every JSON reply is held against its schema. */
export async function openWorld(t: Ending, options: WorldOptions = {}): Promise<World> {
  const dataDir = await newDataFolder(options.holdfast?.dataDir ?? join(await temporaryFolder(t), 'data'));
  const holdfast = await Holdfast.open({ approver: PEOPLE, ...options.holdfast, dataDir });
  const { model = callsThenDone([{ note: 'milk' }]), tools = [noteTool({ needsApproval: true, editable: ['note'] })] } =
    options;
  holdfast.agent({ model, tools });
  const { runtime } = holdfast;
  const gateway = await openGateway({ rate: { perSecond: 10_000, burst: 10_000 }, ...options, holdfast });
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closed ??= gateway.close(2000).then(() => holdfast.close());
    return closed;
  };
  t.after(close);
  const token: World['token'] = async (roles, { tenant = 'local', subject = roles.join('-') } = {}) => {
    const { clock, sessions } = runtime.calls;
    const issued = await runtime.store.write('test.token', async (tx) => {
      await ensureTenant(tx, clock, { tenantId: tenant, name: tenant });
      return createToken(tx, { clock, ids: sessions.ids }, { tenantId: tenant, subjectId: subject, roles });
    });
    return issued.text;
  };
  const client: World['client'] = async (roles, more) =>
    new HoldfastClient({ url: gateway.url, token: await token(roles, more), fetch: checkedFetch });
  return { holdfast, url: gateway.url, dataDir, token, client, close };
}

const PATTERNS = ROUTES.map((route) => ({
  route,
  pattern: new RegExp(`^${route.path.replace(/\{\w+\}/g, '[^/]+')}$`),
}));

/** The route that takes a request, or undefined. */
export function routeOf(method: string, path: string) {
  return PATTERNS.find(({ route, pattern }) => route.method === method && pattern.test(path))?.route;
}

/** As `fetch`, but a reply of a known route that is not what its schema says fails the test. */
export const checkedFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  const asked = new Request(input, { method: init?.method ?? 'GET' });
  const route = routeOf(asked.method, new URL(asked.url).pathname);
  if (route && response.ok && !route.media) {
    assert.equal(response.status, route.status, route.id);
    const read = route.reply.safeParse(await response.clone().json());
    assert.deepEqual(read.error?.issues ?? [], [], route.id);
  }
  return response;
};

/**
 * A clock for a world in which the lease of a call, 30 seconds, is over when the test says so. The process counts as
 * living meanwhile. It is moved when no run goes on: a run in the midst of a turn would lose its pen.
 */
export function leapingClock() {
  const clock = movedClock();
  return { options: { clock, instanceLeaseMs: 600_000 }, pastTheLease: () => clock.advance(31_000) };
}

/** Looks until a run stands like this; a test's own time-out ends what never does. */
export async function untilRun(client: HoldfastClient, runId: string, status: string) {
  for (;;) {
    const run = await client.showRun(runId);
    if (run.status === status) return run;
    assert.notEqual(run.status, 'failed', run.reason);
    await new Promise((settle) => setTimeout(settle, 10));
  }
}
