import type { ErrorBody } from '../core/index.ts';

/** The route that does over HTTP what a command does where the data folder is. */
export const ROUTE_OF_COMMAND: Readonly<Record<string, string>> = {
  'approvals approve': 'POST /api/v1/approvals/{request_id}/decision',
  'approvals list': 'GET /api/v1/approvals',
  'approvals reject': 'POST /api/v1/approvals/{request_id}/decision',
  'approvals show': 'GET /api/v1/approvals/{request_id}',
  'effects list': 'GET /api/v1/effects',
  'operations audit': 'GET /api/v1/operations/audit',
  'operations list': 'GET /api/v1/operations',
  'operations list --open': 'GET /api/v1/operations?open=true',
  'operations settle': 'POST /api/v1/operations/{status_ref}/verdict',
  'operations show': 'GET /api/v1/operations/{status_ref}',
  'operations status': 'POST /api/v1/operations/{status_ref}/status',
  'rules drop': 'DELETE /api/v1/rules/{rule_id}',
  'rules list': 'GET /api/v1/rules',
  'runs list': 'GET /api/v1/runs',
  'runs resume': 'POST /api/v1/runs/{run_id}/resume',
  'runs show': 'GET /api/v1/runs/{run_id}',
  'runs stop': 'POST /api/v1/runs/{run_id}/stop',
  'sessions delete': 'DELETE /api/v1/frames/{root_frame_id}',
  'sessions list': 'GET /api/v1/sessions',
  'sessions show': 'GET /api/v1/sessions/{session_id}',
  'sessions trust': 'POST /api/v1/frames/{root_frame_id}/recovery',
  'tokens list': 'GET /api/v1/tokens',
  'tokens new': 'POST /api/v1/tokens',
};

// To adopt another configuration is for whoever has it.
const COMMAND = /holdfast ([a-z]+ [a-z]+(?: --open)?)(?: ([0-9a-f]{32}|status_\w+)\b)?(?! \S+ --adopt| --adopt)/g;

/** A refusal as a caller from elsewhere can act on it: beside each command that it names, the route. */
export function withRoutes(body: ErrorBody): ErrorBody {
  const routes = [...body.resolve.matchAll(COMMAND)].flatMap(([, command = '', id]) => {
    const route = ROUTE_OF_COMMAND[command];
    return route === undefined ? [] : [id === undefined ? route : route.replace(/\{\w+\}/, id)];
  });
  if (routes.length === 0) return body;
  const over = [...new Set(routes)].join(', ');
  return { ...body, resolve: `${body.resolve.replace(/\.$/, '')}. Over HTTP: ${over}` };
}
