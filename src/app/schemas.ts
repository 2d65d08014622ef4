import { effectsSchema } from '../effects/index.ts';
import { type ContextSchema, STORE_SCHEMAS } from '../store/index.ts';

/** The tables of every context of the composed system, in the order in which they depend on each other. */
export const HOLDFAST_SCHEMAS: readonly ContextSchema[] = [...STORE_SCHEMAS, effectsSchema];
