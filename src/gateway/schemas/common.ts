import { z } from 'zod';
import { LIMITS } from '../../core/index.ts';

/** An identifier in a path or a body: no control characters, at most as long as sessions allow. */
export const id = z
  .string()
  .regex(/^[^\p{Cc}]+$/u)
  .max(LIMITS.httpIdUnits);
/** Epoch milliseconds. */
export const time = z.int().min(0);
export const text = z.string();
/** Any JSON value. */
export const json = z.unknown();

export const none = z.strictObject({});

/** A page of a list: `after` is the `next` of the page before. */
export const page = z.strictObject({
  after: id.optional(),
  limit: z.int().min(1).max(LIMITS.httpPageEntries).optional(),
});
export const next = z.string().nullable();

export const errorEnvelope = z.strictObject({
  error: z.strictObject({
    code: z.string(),
    message: z.string(),
    retryable: z.boolean(),
    resolve: z.string(),
    details: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])).optional(),
  }),
});
