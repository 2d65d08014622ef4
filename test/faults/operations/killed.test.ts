import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { FaultPoint } from '../../../src/core/index.ts';
import { requestDigest, statusQueryCall } from '../../../src/operations/index.ts';
import { refundCall, T0, USER } from '../../fixtures/refund-desk/calls.ts';
import { openDesk, type RefundDesk } from '../../fixtures/refund-desk/desk.ts';
import { REFUND_SPEC } from '../../fixtures/refund-desk/refund-tool.ts';
import { RefundService, serviceDownstream } from '../../fixtures/refund-desk/service/service.ts';
import { assert, check, temporaryFolder } from '../../support/index.ts';
import { codeOf, statusRefIn } from '../../contracts/operations/desk.ts';
import { DeskChild } from './children.ts';

interface Place {
  readonly file: string;
  readonly service: RefundService | null;
  open(): Promise<RefundDesk>;
  effects(desk: RefundDesk): Promise<number>;
}

async function placeOf(t: TestContext, home: 'table' | 'http'): Promise<Place> {
  const folder = await temporaryFolder(t);
  const file = join(folder, 'runtime.db');
  const books = join(folder, 'service');
  await mkdir(books);
  const service = home === 'http' ? new RefundService(books) : null;
  await service?.start();
  t.after(() => service?.stop());
  const downstream = service ? { downstream: serviceDownstream(service) } : {};
  return {
    file,
    service,
    open: async () => {
      const desk = await openDesk(file, { ...downstream, verdicts: true });
      t.after(() => desk.close());
      return desk;
    },
    effects: async (desk) => (service ? service.effects() : (await desk.operations.counts()).downstream_receipts),
  };
}

/** What is there after a kill at a point, before anybody does anything about it. */
interface Expected {
  readonly point: FaultPoint;
  readonly effects: 0 | 1;
  readonly finished: boolean;
  readonly attempts: number;
}

const POINTS: readonly Expected[] = [
  { point: 'intent-committed', effects: 0, finished: false, attempts: 0 },
  { point: 'outbox-claimed', effects: 0, finished: false, attempts: 1 },
  { point: 'effect-about-to-send', effects: 0, finished: false, attempts: 1 },
  { point: 'effect-sent', effects: 1, finished: false, attempts: 1 },
  { point: 'receipt-about-to-commit', effects: 1, finished: false, attempts: 1 },
  { point: 'receipt-committed', effects: 1, finished: true, attempts: 1 },
  { point: 'ack-about-to-send', effects: 1, finished: true, attempts: 1 },
];

async function afterKill(t: TestContext, place: Place, expected: Expected) {
  const service = place.service ? { service: place.service.url('') } : {};
  const child = new DeskChild({ file: place.file, killAt: expected.point, ...service });
  t.after(() => child.kill());
  assert.deepEqual(await child.end(), { signal: 'SIGKILL', answer: '' });
  const desk = await place.open();
  assert.equal(await place.effects(desk), expected.effects);
  assert.equal((await desk.operations.audit()).passed, true);
  const repeated = await desk.operations.dispatch(USER, refundCall(), { approvals: [], now: T0 + 1 });
  assert.equal(codeOf(repeated), expected.finished ? 'OK' : 'OUTCOME_UNKNOWN');
  assert.equal(await place.effects(desk), expected.effects);
  const view = await desk.operations.show(USER, statusRefIn(repeated), T0 + 1);
  assert.equal(view.attempts, expected.attempts);
  return { desk, statusRef: statusRefIn(repeated) };
}

function ask(desk: RefundDesk, statusRef: string, now: number) {
  const call = refundCall();
  return desk.operations.queryStatus(USER, statusQueryCall(call, statusRef), {
    statusRef,
    expectedRequestSha256: requestDigest(USER, REFUND_SPEC.contract, call.arguments),
    now,
  });
}

for (const home of ['table', 'http'] as const)
  for (const expected of POINTS)
    check(
      `${home}: a process killed at ${expected.point} leaves exactly that, and one effect in the end`,
      async (t) => {
        const place = await placeOf(t, home);
        const { desk, statusRef } = await afterKill(t, place, expected);
        const code = codeOf(await ask(desk, statusRef, T0 + 2));
        assert.equal(code, expected.effects === 1 ? 'OK' : 'OUTCOME_UNKNOWN');
        if (code !== 'OK') {
          const leased = expected.attempts > 0;
          const early = await desk.operations.process(statusRef, { workerId: 'worker', now: T0 + 29 });
          assert.equal(early, leased ? 'not_claimed' : 'succeeded');
          const late = await desk.operations.process(statusRef, { workerId: 'worker', now: T0 + 30 });
          assert.equal(late, 'succeeded');
        }
        assert.equal(await place.effects(desk), 1);
        const replayed = await desk.operations.dispatch(USER, refundCall(), { approvals: [], now: T0 + 60 });
        assert.equal(codeOf(replayed), 'OK');
        assert.equal((await desk.operations.audit()).passed, true);
      },
    );

for (const home of ['table', 'http'] as const)
  check(`${home}: eight processes at once on one intent make one effect`, async (t) => {
    const place = await placeOf(t, home);
    await (await place.open()).close();
    const service = place.service ? { service: place.service.url('') } : {};
    const children = Array.from(
      { length: 8 },
      (_, i) => new DeskChild({ file: place.file, ready: true, now: T0 + i, ...service }),
    );
    t.after(() => children.forEach((child) => child.kill()));
    await Promise.all(children.map((child) => child.ready()));
    for (const child of children) child.go();
    const answers = (await Promise.all(children.map((child) => child.end()))).map(({ answer }) => answer);
    assert.equal(answers.filter((answer) => answer === 'OK fresh').length, 1);
    assert.ok(
      answers.every((answer) => ['OK fresh', 'OK local_replay', 'OUTCOME_UNKNOWN fresh'].includes(answer)),
      answers.join('; '),
    );
    const desk = await place.open();
    assert.equal(await place.effects(desk), 1);
    if (place.service) assert.equal(place.service.deliveries(), 1);
    assert.equal((await desk.operations.audit()).passed, true);
  });
