import { fail } from './errors.ts';
import { archiveLimits } from './limit-tables/archive.ts';
import { approvalsLimits } from './limit-tables/approvals.ts';
import { autonomyLimits } from './limit-tables/autonomy.ts';
import { callsLimits } from './limit-tables/calls.ts';
import { coreLimits } from './limit-tables/core.ts';
import { effectsLimits } from './limit-tables/effects.ts';
import { gatewayLimits } from './limit-tables/gateway.ts';
import { guardLimits } from './limit-tables/guard.ts';
import type { Limit } from './limit-tables/limit.ts';
import { principalsLimits } from './limit-tables/principals.ts';
import { sessionLimits } from './limit-tables/sessions.ts';
import { storeLimits } from './limit-tables/store.ts';
import { mcpLimits } from './limit-tables/mcp.ts';
import { modelsLimits } from './limit-tables/models.ts';
import { tracesLimits } from './limit-tables/traces.ts';
import { toolsLimits } from './limit-tables/tools.ts';

/** Every bound of Holdfast with its unit and its reason. The rows live in `limit-tables/`, one file a room. */
export const LIMIT_TABLE = {
  // One room a line.
  ...coreLimits,
  ...archiveLimits,
  ...effectsLimits,
  ...guardLimits,
  ...sessionLimits,
  ...approvalsLimits,
  ...storeLimits,
  ...toolsLimits,
  ...modelsLimits,
  ...tracesLimits,
  ...mcpLimits,
  ...callsLimits,
  ...principalsLimits,
  ...gatewayLimits,
  ...autonomyLimits,
} as const satisfies Record<string, Limit>;

export type LimitName = keyof typeof LIMIT_TABLE;

/** The bounds as plain numbers: the largest value that is still accepted. */
export const LIMITS: Readonly<Record<LimitName, number>> = Object.freeze(
  Object.fromEntries(Object.entries(LIMIT_TABLE).map(([name, limit]) => [name, limit.max])) as Record<
    LimitName,
    number
  >,
);

/** Passes when `actual` is within the bound; else throws `LIMIT_REACHED` naming the bound. Call it before spending memory. */
export function requireWithin(name: LimitName, actual: number, resolve?: string): void {
  const { max, unit } = LIMIT_TABLE[name];
  if (actual <= max) return;
  throw fail('LIMIT_REACHED', `The limit ${name} is ${max} ${unit}.`, {
    details: { limit: name, max, actual },
    ...(resolve === undefined ? {} : { resolve }),
  });
}
