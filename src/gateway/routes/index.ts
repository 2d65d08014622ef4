import type { Route } from '../route.ts';
import { approvalRoutes } from './approvals.ts';
import { artifactRoutes } from './artifacts.ts';
import { auditRoutes } from './audits.ts';
import { batchRoutes } from './batches.ts';
import { effectRoutes } from './effects.ts';
import { eventRoutes } from './events.ts';
import { frameRoutes } from './frames.ts';
import { historyRoutes } from './history.ts';
import { operationRoutes } from './operations.ts';
import { packageRoutes } from './packages.ts';
import { projectAndSessionRoutes } from './projects-and-sessions.ts';
import { ruleRoutes } from './rules.ts';
import { runRoutes } from './runs.ts';
import { sideBranchRoutes } from './side-branches.ts';
import { tokenRoutes } from './tokens.ts';

/** Every route that needs a token, in the order in which they are tried. */
export const ROUTES: readonly Route[] = [
  ...projectAndSessionRoutes,
  ...runRoutes,
  ...sideBranchRoutes,
  ...approvalRoutes,
  ...batchRoutes,
  ...ruleRoutes,
  ...operationRoutes,
  ...packageRoutes,
  ...frameRoutes,
  ...historyRoutes,
  ...artifactRoutes,
  ...effectRoutes,
  ...auditRoutes,
  ...eventRoutes,
  ...tokenRoutes,
];
