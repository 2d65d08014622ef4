import { z } from 'zod';
import { isJsonObject, type JsonObject, type JsonValue } from '../core/index.ts';
import type { Route } from './route.ts';
import { errorEnvelope } from './schemas/common.ts';

/** A schema of ours as JSON Schema 2020-12, the dialect of OpenAPI 3.1. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonObject {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return JSON.parse(JSON.stringify(rest)) as JsonObject;
}

/** The description of the gateway: OpenAPI 3.1, made of the very schemas that validate. */
export function openApiDocument(routes: readonly Route[], version: string): JsonObject {
  const paths: Record<string, JsonObject> = {};
  for (const route of routes) {
    const methods = (paths[route.path] ??= {});
    methods[route.method.toLowerCase()] = operationOf(route);
  }
  for (const open of OPEN) paths[open.path] = { get: openOperation(open) };
  return {
    openapi: '3.1.1',
    info: { title: 'Holdfast gateway', version, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    servers: [{ url: '/' }],
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      schemas: { Error: schemaOf(errorEnvelope, 'output') },
    },
  };
}

interface OpenRoute {
  readonly id: string;
  readonly path: string;
  readonly summary: string;
  readonly media: string;
  readonly schema: JsonObject;
  /** Whether it needs a token all the same. */
  readonly token: boolean;
}

const JSON_MEDIA = 'application/json';
const state = (word: string): JsonObject => ({
  type: 'object',
  properties: { status: { type: 'string', const: word } },
  required: ['status'],
  additionalProperties: false,
});

/** What is asked by those who look after the process. */
const OPEN: readonly OpenRoute[] = [
  {
    id: 'showHealth',
    path: '/healthz',
    summary: 'Whether the process lives',
    media: JSON_MEDIA,
    schema: state('alive'),
    token: false,
  },
  {
    id: 'showReadiness',
    path: '/readyz',
    summary: 'Whether it takes requests and its store answers',
    media: JSON_MEDIA,
    schema: state('ready'),
    token: false,
  },
  {
    id: 'showMetrics',
    path: '/metrics',
    summary: 'What it counts, as Prometheus reads it; for an admin of the tenant that runs the gateway',
    media: 'text/plain',
    schema: { type: 'string' },
    token: true,
  },
  {
    id: 'showDescription',
    path: '/openapi.json',
    summary: 'This description',
    media: JSON_MEDIA,
    schema: { type: 'object' },
    token: false,
  },
];

function openOperation({ id, summary, media, schema, token }: OpenRoute): JsonObject {
  return {
    operationId: id,
    summary,
    ...(token ? { 'x-roles': ['admin'] } : { security: [] }),
    responses: { 200: { description: 'Done.', content: { [media]: { schema } } }, default: REFUSED },
  };
}

const REFUSED: JsonObject = {
  description: 'Refused: see the code.',
  content: { [JSON_MEDIA]: { schema: { $ref: '#/components/schemas/Error' } } },
};

function operationOf(route: Route): JsonObject {
  const media = route.media ?? 'application/json';
  return {
    operationId: route.id,
    summary: route.summary,
    'x-roles': [...route.roles],
    parameters: parametersOf(route),
    ...requestBodyOf(route),
    responses: {
      [String(route.status)]: {
        description: 'Done, or begun.',
        content: { [media]: { schema: schemaOf(route.reply, 'output') } },
      },
      default: REFUSED,
    },
  };
}

/** A body of bytes has no schema. */
function requestBodyOf({ body, takes }: Route): JsonObject {
  if (takes !== undefined) return { requestBody: { required: true, content: { [takes]: {} } } };
  if (body === null) return {};
  return { requestBody: { required: true, content: { 'application/json': { schema: schemaOf(body, 'input') } } } };
}

function parametersOf(route: Route): JsonValue[] {
  const key = {
    name: 'Idempotency-Key',
    in: 'header',
    required: route.takes === undefined,
    schema: { type: 'string', pattern: '^[!-~]{1,200}$' },
  };
  const last = { name: 'Last-Event-ID', in: 'header', required: false, schema: { type: 'string' } };
  return [
    ...fieldsOf(route.params, 'path'),
    ...fieldsOf(route.query, 'query'),
    ...(route.creates ? [key] : []),
    ...(route.media === 'text/event-stream' ? [last] : []),
  ];
}

function fieldsOf(schema: z.ZodType, where: 'path' | 'query'): JsonValue[] {
  const { properties = {}, required = [] } = schemaOf(schema, 'input');
  if (!isJsonObject(properties) || !Array.isArray(required)) return [];
  return Object.entries(properties).map(([name, one]) => ({
    name,
    in: where,
    required: required.includes(name),
    schema: one,
  }));
}
