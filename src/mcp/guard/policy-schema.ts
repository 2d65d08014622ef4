import { z } from 'zod';
import { LIMITS } from '../../core/index.ts';
import { isPointer } from './json-pointer.ts';
import { POLICY_DECISIONS, POLICY_EFFECTS } from './policy-model.ts';

const text = (most: number = LIMITS.policyTextCodePoints) => z.string().min(1).max(most);
const name = text(LIMITS.identifierCodePoints).regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 'letters, digits, . _ and - only');
const pointer = text().refine(isPointer, 'a JSON pointer such as /path');
const list = <T extends z.ZodType>(item: T) => z.array(item).max(LIMITS.policyListItems);
const toolName = text(LIMITS.policyToolNameCodePoints);
const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);

const approvers = z
  .strictObject({ roles: list(text()).default([]), subjects: list(text()).default([]) })
  .refine((who) => who.roles.length + who.subjects.length > 0, 'somebody must be able to decide');

/** Exactly one test beside `at`; the bounds of a range count as one. */
const condition = z
  .strictObject({
    at: pointer,
    equals: scalar.optional(),
    one_of: list(scalar).min(1).optional(),
    within: name.optional(),
    at_least: z.number().optional(),
    at_most: z.number().optional(),
    present: z.boolean().optional(),
  })
  .refine((one) => testsOf(one) === 1, 'exactly one of equals, one_of, within, at_least and at_most, present')
  .refine((one) => (one.at_least ?? -Infinity) <= (one.at_most ?? Infinity), 'at_least is above at_most');

function testsOf(one: Readonly<Record<string, unknown>>): number {
  const range = one['at_least'] !== undefined || one['at_most'] !== undefined;
  const others = ['equals', 'one_of', 'within', 'present'].filter((key) => one[key] !== undefined);
  return others.length + (range ? 1 : 0);
}

const target = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('filesystem'),
    role: name,
    root: name,
    path: pointer,
    may_be_missing: z.boolean().default(false),
  }),
  z.strictObject({
    kind: z.literal('owned'),
    role: name,
    namespace: name,
    collection: name,
    record: pointer.optional(),
  }),
]);

const postcondition = z
  .strictObject({
    role: name,
    predicate: z.enum(['exists', 'absent', 'content_sha256']),
    content: pointer.optional(),
  })
  .refine(
    (one) => (one.predicate === 'content_sha256') === (one.content !== undefined),
    'content goes with content_sha256, and only with it',
  );

/** What is looked at is the server's answer, in which no path has a root. */
const answerCondition = condition
  .refine((one) => one.within === undefined, 'an answer is in no root')
  .refine((one) => one.present !== false || one.at.lastIndexOf('/') > 0, 'what is absent is absent from something');

const status = z.strictObject({
  tool: toolName,
  arguments: z
    .record(text(), pointer)
    .refine((all) => Object.keys(all).length <= LIMITS.policyListItems, 'too many arguments')
    .default({}),
  happened: list(answerCondition).min(1),
  not_happened: list(answerCondition).min(1).optional(),
  settles_within_seconds: z.int().min(0).max(LIMITS.policyTimeoutSeconds).default(60),
});

const tool = z.strictObject({
  effect: z.enum(POLICY_EFFECTS),
  on_error: z.enum(['unknown', 'not_done']).optional(),
  editable: list(
    text().refine((one) => !one.startsWith('/'), 'the name of a top-level argument, not a pointer'),
  ).default([]),
  secret_fields: list(text()).default([]),
  timeout_seconds: z.int().min(1).max(LIMITS.policyTimeoutSeconds).optional(),
  resources: z.union([z.literal('anything'), list(target).min(1)]).optional(),
  postconditions: list(postcondition).default([]),
  status: status.optional(),
});

const rule = z.strictObject({
  id: name,
  tools: list(toolName).min(1),
  when: list(condition).default([]),
  decision: z.enum(POLICY_DECISIONS),
  approvers: approvers.optional(),
  reason: z.string().max(LIMITS.policyTextCodePoints).default(''),
});

/** The shape of a policy file; what the shape cannot say is checked after it. */
export const policySchema = z.strictObject({
  version: z.literal(1),
  name,
  revision: name,
  mode: z.enum(['enforce', 'shadow']).default('enforce'),
  server: z.string().regex(/^[A-Za-z][A-Za-z0-9_-]{0,31}$/, '1 to 32 letters, digits, _ or -, a letter first'),
  hold_seconds: z.int().min(1).max(LIMITS.policyHoldSeconds).default(900),
  settle_tool: z.boolean().default(false),
  approvers: approvers.optional(),
  roots: z
    .record(
      name,
      z.strictObject({
        path: text().startsWith('/', 'an absolute path'),
        scope: z.enum(['workspace', 'scratch', 'external']).default('workspace'),
      }),
    )
    .default({}),
  tools: z
    .record(toolName, tool)
    .refine((tools) => Object.keys(tools).length <= LIMITS.policyTools, 'too many tools')
    .default({}),
  rules: z.array(rule).max(LIMITS.policyRules).default([]),
});

export type PolicyFile = z.infer<typeof policySchema>;
