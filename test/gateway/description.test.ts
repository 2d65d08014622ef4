import { ROUTES } from '../../src/gateway/routes/index.ts';
import { assert, check } from '../support/index.ts';
import { openApiShape } from './openapi-shape.ts';
import { openWorld } from './world.ts';

interface Described {
  readonly openapi: string;
  readonly paths: Record<string, Record<string, { operationId: string; parameters?: { name: string; in: string }[] }>>;
}

check('the description is OpenAPI 3.1, names every route once, and what it refers to is there', async (t) => {
  const { url } = await openWorld(t);
  const response = await fetch(`${url}/openapi.json`);
  const text = await response.text();
  const document = JSON.parse(text) as Described;
  assert.match(document.openapi, /^3\.1\./);
  const described = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]) => `${method.toUpperCase()} ${path} ${one.operationId}`),
  );
  const routes = ROUTES.map(({ method, path, id }) => `${method} ${path} ${id}`);
  routes.push('GET /healthz showHealth', 'GET /readyz showReadiness', 'GET /metrics showMetrics');
  routes.push('GET /openapi.json showDescription');
  assert.deepEqual(described.toSorted(), routes.toSorted());
  assert.deepEqual(openApiShape.safeParse(JSON.parse(text)).error?.issues ?? [], []);
  for (const [path, methods] of Object.entries(document.paths))
    for (const { parameters = [] } of Object.values(methods)) {
      const inPath = parameters.filter((one) => one.in === 'path').map(({ name }) => `{${name}}`);
      assert.deepEqual(path.match(/\{\w+\}/g) ?? [], inPath, path);
    }
  for (const [, reference = ''] of text.matchAll(/"\$ref":"([^"]+)"/g))
    assert.equal(reference, '#/components/schemas/Error');
});

check('it shows the very schemas that validate: what they refuse, and that they are closed', async (t) => {
  const { url } = await openWorld(t);
  const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { requestBody?: { content: Record<string, { schema: unknown }> } }>>;
  };
  const body = paths['/api/v1/approvals/{request_id}/decision']?.['post']?.requestBody?.content['application/json'];
  assert.deepEqual(body?.schema, {
    type: 'object',
    properties: {
      decision: { type: 'string', enum: ['approve', 'reject'] },
      digest: { type: 'string', pattern: '^[0-9a-f]{64}$' },
      edited_arguments: { type: 'object' },
      message: { type: 'string', minLength: 1, maxLength: 8192 },
    },
    required: ['decision', 'digest'],
    additionalProperties: false,
  });
});

check('the shape that it is held against refuses what is not of OpenAPI', async (t) => {
  const { url } = await openWorld(t);
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: Record<string, object> };
  const [path = ''] = Object.keys(document.paths);
  const broken: readonly object[] = [
    { ...document, openapi: '3.0.0' },
    { ...document, nonsense: 1 },
    { ...document, paths: { nothing: {} } },
    { ...document, paths: { [path]: { get: { operationId: 'x' } } } },
    { ...document, paths: { [path]: { get: { operationId: 'x', responses: { 200: {} } } } } },
    { ...document, components: { schemas: { A: { type: 'text' } } } },
    { ...document, components: { schemas: { A: { properties: { a: { $dialect: 'x' } } } } } },
  ];
  for (const one of broken) assert.equal(openApiShape.safeParse(one).success, false, JSON.stringify(one).slice(0, 80));
});
