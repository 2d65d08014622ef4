import type { Access } from './access.ts';
import { approvalsAccess } from './approvals.ts';
import { auditsAccess } from './audits.ts';
import { batchesAccess } from './batches.ts';
import { effectsAccess } from './effects.ts';
import { eventsAccess } from './events.ts';
import { framesAccess } from './frames.ts';
import { historyAccess } from './history.ts';
import { operationsAccess } from './operations.ts';
import { packagesAccess } from './packages.ts';
import { projectsAndSessionsAccess } from './projects-and-sessions.ts';
import { rulesAccess } from './rules.ts';
import { runsAccess } from './runs.ts';
import { sideBranchesAccess } from './side-branches.ts';
import { tokensAccess } from './tokens.ts';

/** A new route has to be put into one of these: a file of rows for each file of routes. */
export const ACCESS: Access = {
  ...projectsAndSessionsAccess,
  ...runsAccess,
  ...sideBranchesAccess,
  ...approvalsAccess,
  ...rulesAccess,
  ...operationsAccess,
  ...packagesAccess,
  ...framesAccess,
  ...historyAccess,
  ...effectsAccess,
  ...batchesAccess,
  ...auditsAccess,
  ...eventsAccess,
  ...tokensAccess,
};
