import { archiveErrorCodes } from './error-codes/archive.ts';
import { appErrorCodes } from './error-codes/app.ts';
import { autonomyErrorCodes } from './error-codes/autonomy.ts';
import { callsErrorCodes } from './error-codes/calls.ts';
import { coreErrorCodes } from './error-codes/core.ts';
import { effectsErrorCodes } from './error-codes/effects.ts';
import type { ErrorCodeEntry } from './error-codes/entry.ts';
import { operationsErrorCodes } from './error-codes/operations.ts';
import { mcpErrorCodes } from './error-codes/mcp.ts';
import { modelsErrorCodes } from './error-codes/models.ts';
import { approvalsErrorCodes } from './error-codes/approvals.ts';
import { gatewayErrorCodes } from './error-codes/gateway.ts';
import { guardErrorCodes } from './error-codes/guard.ts';
import { principalsErrorCodes } from './error-codes/principals.ts';
import { packagesErrorCodes } from './error-codes/packages.ts';
import { sessionsErrorCodes } from './error-codes/sessions.ts';
import { runsErrorCodes } from './error-codes/runs.ts';
import { storeErrorCodes } from './error-codes/store.ts';
import { tracesErrorCodes } from './error-codes/traces.ts';
import { toolsErrorCodes } from './error-codes/tools.ts';

/**
 * Every code that Holdfast can answer with, on every surface. A pin test writes the table out in literals, and each
 * code has a page `docs/errors/<code>.md`. The rows live in `error-codes/`, one file a room.
 */
export const ERROR_TABLE = {
  ...appErrorCodes,
  ...autonomyErrorCodes,
  ...callsErrorCodes,
  ...coreErrorCodes,
  ...runsErrorCodes,
  ...storeErrorCodes,
  ...operationsErrorCodes,
  ...effectsErrorCodes,
  ...toolsErrorCodes,
  ...modelsErrorCodes,
  ...mcpErrorCodes,
  ...archiveErrorCodes,
  ...packagesErrorCodes,
  ...tracesErrorCodes,
  ...sessionsErrorCodes,
  ...approvalsErrorCodes,
  ...guardErrorCodes,
  ...principalsErrorCodes,
  ...gatewayErrorCodes,
} as const satisfies Record<string, ErrorCodeEntry>;

export type ErrorCode = keyof typeof ERROR_TABLE;
