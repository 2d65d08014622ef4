import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type DeskOptions, openDesk, type RefundDesk } from '../../fixtures/refund-desk/desk.ts';
import { RefundService, serviceDownstream } from '../../fixtures/refund-desk/service/service.ts';
import { temporaryFolder } from '../../support/index.ts';

/** A desk and its other side, wherever that is. */
export interface Home {
  readonly desk: RefundDesk;
  readonly service: RefundService | null;
  /** Effects that the other side has made, by its own books. */
  readonly effects: () => Promise<number>;
  /** Another desk on the same file and the same other side. */
  readonly another: (options?: DeskOptions) => Promise<RefundDesk>;
}

/** The two homes of the other side: the contracts' table, and a process behind HTTP with its own database. */
export const HOMES = ['table', 'http'] as const;
export type HomeKind = (typeof HOMES)[number];

async function startService(t: TestContext, folder: string): Promise<RefundService> {
  const place = join(folder, 'service');
  await mkdir(place);
  const service = new RefundService(place);
  await service.start();
  t.after(() => service.stop());
  return service;
}

/** Opens a desk whose other side lives in the given home; all of it ends with the test. */
export async function openHome(t: TestContext, kind: HomeKind, options: DeskOptions = {}): Promise<Home> {
  const folder = await temporaryFolder(t);
  const file = join(folder, 'runtime.db');
  const service = kind === 'http' ? await startService(t, folder) : null;
  const another = async (more: DeskOptions = {}) => {
    const downstream = service ? { downstream: serviceDownstream(service) } : {};
    const desk = await openDesk(file, { ...downstream, ...options, ...more });
    t.after(() => desk.close());
    return desk;
  };
  const desk = await another();
  const effects = async () => (service ? service.effects() : (await desk.operations.counts()).downstream_receipts);
  return { desk, service, effects, another };
}
