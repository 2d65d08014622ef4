import { GatewayRefusal } from '../../src/client/index.ts';
import { fail } from '../../src/core/index.ts';
import { ROUTE_OF_COMMAND, withRoutes } from '../../src/gateway/over-http.ts';
import { ROUTES } from '../../src/gateway/routes/index.ts';
import { assert, check } from '../support/index.ts';
import { openWorld } from './world.ts';

const ID = '01a22fb8cd68765a8245aa847f095140';

const resolves: readonly (readonly [resolve: string, over: string])[] = [
  ['List the runs that there are: holdfast runs list', 'GET /api/v1/runs'],
  [`See it: holdfast runs show ${ID}. Free space.`, `GET /api/v1/runs/${ID}`],
  [`Reject it: holdfast approvals reject ${ID}`, `POST /api/v1/approvals/${ID}/decision`],
  ['Show it with `holdfast sessions show` and use one of its branches.', 'GET /api/v1/sessions/{session_id}'],
  ['Trust it: holdfast sessions trust SESSION --yes', 'POST /api/v1/frames/{root_frame_id}/recovery'],
  ['Ask: holdfast operations status status_ab12', 'POST /api/v1/operations/status_ab12/status'],
  ['See `holdfast operations list --open`, and settle it.', 'GET /api/v1/operations?open=true'],
  [
    '`holdfast operations status REF`, or `holdfast operations settle REF`.',
    'POST /api/v1/operations/{status_ref}/status, POST /api/v1/operations/{status_ref}/verdict',
  ],
];

check('a refusal over HTTP names the route beside each command that it names', () => {
  for (const [resolve, over] of resolves) {
    const told = withRoutes(fail('RUN_BUSY', 'It is busy.', { resolve, details: { run_id: ID } }).toJSON());
    assert.equal(told.resolve, `${resolve.replace(/\.$/, '')}. Over HTTP: ${over}`);
    assert.deepEqual(told.details, { run_id: ID });
  }
  for (const resolve of [
    'Mend it: holdfast doctor',
    'Adopt it: holdfast runs resume RUN --adopt',
    `holdfast runs resume ${ID} --adopt`,
    'Wait.',
  ])
    assert.equal(withRoutes(fail('RUN_BUSY', 'It is busy.', { resolve }).toJSON()).resolve, resolve);
});

check('each of these routes is there', () => {
  const known = ROUTES.map(({ method, path }) => `${method} ${path}`);
  for (const route of Object.values(ROUTE_OF_COMMAND)) assert.ok(known.includes(route.split('?')[0] ?? ''), route);
});

check('who asks the gateway for a run that there is not is told where the runs are listed', async (t) => {
  const { client } = await openWorld(t);
  const agent = await client(['agent']);
  await assert.rejects(agent.showRun(ID), (error: unknown) => {
    assert.ok(error instanceof GatewayRefusal);
    assert.equal(error.resolve, 'List the runs that there are: holdfast runs list. Over HTTP: GET /api/v1/runs');
    return true;
  });
});
