import { approvalsSchema } from '../approvals/index.ts';
import { autonomySchema } from '../autonomy/index.ts';
import { effectsSchema } from '../effects/index.ts';
import { operationsSchema, operationVerdictsSchema } from '../operations/index.ts';
import { repliesSchema, tokensSchema } from '../principals/index.ts';
import { packagesSchema } from '../packages/index.ts';
import { runsSchema } from '../runs/index.ts';
import { sessionsSchema } from '../sessions/index.ts';
import { type ContextSchema, STORE_SCHEMAS } from '../store/index.ts';
import { noticesSchema } from './notices/tables.ts';
import { controlsSchema } from './pause.ts';

/** The tables of every context of the composed system. What one needs of another stands in its migrations. */
export const HOLDFAST_SCHEMAS: readonly ContextSchema[] = [
  ...STORE_SCHEMAS,
  tokensSchema,
  repliesSchema,
  sessionsSchema,
  effectsSchema,
  approvalsSchema,
  operationsSchema,
  operationVerdictsSchema,
  runsSchema,
  autonomySchema,
  packagesSchema,
  controlsSchema,
  noticesSchema,
];
