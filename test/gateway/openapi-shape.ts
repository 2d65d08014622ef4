import { z } from 'zod';

// The objects of OpenAPI 3.1 as its specification has them, closed: what is not named there must begin with `x-`.

/** An object with exactly these fields and extensions. */
function closed<S extends z.ZodRawShape>(shape: S) {
  return z.looseObject(shape).superRefine((value, context) => {
    for (const name of Object.keys(value))
      if (!(name in shape) && !name.startsWith('x-'))
        context.addIssue({ code: 'custom', message: `${name} is not of OpenAPI`, path: [name] });
  });
}

/** Keywords of JSON Schema 2020-12 that we use, with the shape of each. */
const schema: z.ZodType = z.lazy(() => z.union([z.boolean(), schemaObject]));
const count = z.int().min(0);
const schemaObject = closed({
  $ref: z.string().optional(),
  $defs: z.record(z.string(), schema).optional(),
  type: z
    .union([
      z.enum(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']),
      z.array(z.enum(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'])).min(1),
    ])
    .optional(),
  const: z.unknown().optional(),
  enum: z.array(z.unknown()).min(1).optional(),
  anyOf: z.array(schema).min(1).optional(),
  oneOf: z.array(schema).min(1).optional(),
  allOf: z.array(schema).min(1).optional(),
  properties: z.record(z.string(), schema).optional(),
  required: z.array(z.string()).optional(),
  additionalProperties: schema.optional(),
  propertyNames: schema.optional(),
  items: schema.optional(),
  pattern: z
    .string()
    .refine((text) => new RegExp(text, 'u'))
    .optional(),
  format: z.string().optional(),
  minLength: count.optional(),
  maxLength: count.optional(),
  minItems: count.optional(),
  maxItems: count.optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  exclusiveMinimum: z.number().optional(),
  exclusiveMaximum: z.number().optional(),
  description: z.string().optional(),
  contentEncoding: z.string().optional(),
  contentMediaType: z.string().optional(),
});

const media = closed({ schema: schema.optional() });
const content = z.record(z.string().regex(/^[\w.+*-]+\/[\w.+*-]+$/), media);
const header = closed({ description: z.string().optional(), required: z.boolean().optional(), schema });

const parameter = z.union([
  closed({
    name: z.string().min(1),
    in: z.literal('path'),
    required: z.literal(true),
    description: z.string().optional(),
    schema,
  }),
  closed({
    name: z.string().min(1),
    in: z.enum(['query', 'header', 'cookie']),
    required: z.boolean().optional(),
    description: z.string().optional(),
    schema,
  }),
]);

const response = closed({
  description: z.string(),
  headers: z.record(z.string(), header).optional(),
  content: content.optional(),
});

const operation = closed({
  operationId: z.string().regex(/^[a-z][A-Za-z]*$/),
  summary: z.string().min(1).optional(),
  description: z.string().optional(),
  tags: z.array(z.string()).optional(),
  parameters: z.array(parameter).optional(),
  requestBody: closed({ description: z.string().optional(), required: z.boolean().optional(), content }).optional(),
  responses: z.record(z.string().regex(/^(?:default|[1-5](?:\d\d|XX))$/), response),
  security: z.array(z.record(z.string(), z.array(z.string()))).optional(),
});

/** A whole document. */
export const openApiShape = closed({
  openapi: z.string().regex(/^3\.1\.\d+$/),
  info: closed({
    title: z.string().min(1),
    version: z.string().min(1),
    description: z.string().optional(),
    license: closed({ name: z.string(), identifier: z.string().optional() }).optional(),
  }),
  servers: z.array(closed({ url: z.string() })).optional(),
  security: z.array(z.record(z.string(), z.array(z.string()))).optional(),
  paths: z.record(
    z.string().regex(/^\//),
    closed({
      get: operation.optional(),
      put: operation.optional(),
      post: operation.optional(),
      delete: operation.optional(),
      patch: operation.optional(),
    }),
  ),
  components: closed({
    schemas: z.record(z.string(), schema).optional(),
    securitySchemes: z
      .record(z.string(), closed({ type: z.enum(['http', 'apiKey']), scheme: z.string().optional() }))
      .optional(),
  }).optional(),
});
