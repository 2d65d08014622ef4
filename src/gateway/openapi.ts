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
      default: {
        description: 'Refused: see the code.',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
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
