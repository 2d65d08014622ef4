import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { LIMITS } from '../../src/core/index.ts';
import { ROUTES } from '../../src/gateway/routes/index.ts';
import { assert, check } from '../support/index.ts';
import { openWorld, type World } from './world.ts';

interface Sent {
  readonly token?: string;
  readonly key?: string | null;
  readonly body: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Refused {
  readonly code: string;
  readonly resolve: string;
  readonly details?: { readonly where?: string };
}

async function post(world: World, path: string, init: Sent) {
  const { token, key = crypto.randomUUID(), headers, body } = init;
  const response = await fetch(`${world.url}${path}`, {
    method: 'POST',
    body,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      ...(key === null ? {} : { 'idempotency-key': key }),
      ...headers,
    },
  });
  const text = await response.text();
  const { error } = JSON.parse(text) as { error?: { code: string; details?: { where?: string } } };
  return { status: response.status, code: error?.code, where: error?.details?.where, text, headers: response.headers };
}

check(
  'every answer has its request id and the headers that keep it to itself, and none opens another origin',
  async (t) => {
    const world = await openWorld(t);
    for (const path of ['/healthz', '/readyz', '/openapi.json', '/api/v1/runs', '/nowhere']) {
      const { headers, status } = await fetch(`${world.url}${path}`, { headers: { origin: 'http://evil.example' } });
      assert.match(headers.get('x-request-id') ?? '', /^[0-9a-f]{32}$/, path);
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
      assert.equal(headers.get('cache-control'), 'no-store');
      assert.match(headers.get('content-security-policy') ?? '', /^default-src 'none'/);
      assert.deepEqual(
        [...headers.keys()].filter((name) => name.startsWith('access-control')),
        [],
      );
      assert.ok(status < 500);
    }
    const preflight = await fetch(`${world.url}/api/v1/runs`, {
      method: 'OPTIONS',
      headers: { origin: 'http://evil.example', 'access-control-request-method': 'POST' },
    });
    assert.equal(preflight.status, 405);
    assert.equal(preflight.headers.get('allow'), 'GET, HEAD, POST');
  },
);

check('an unknown path and a wrong method have codes of their own', async (t) => {
  const world = await openWorld(t);
  const token = await world.token(['agent']);
  const not = await post(world, '/api/v1/nothing', { token, body: '{}' });
  assert.deepEqual([not.status, not.code], [404, 'ROUTE_NOT_FOUND']);
  const wrong = await post(world, '/api/v1/principal', { token, body: '{}' });
  assert.deepEqual([wrong.status, wrong.code], [405, 'METHOD_NOT_ALLOWED']);
  for (const path of ['/healthz', '/readyz', '/openapi.json', '/metrics']) {
    const open = await post(world, path, { token, body: '{}' });
    assert.deepEqual([open.status, open.code, open.headers.get('allow')], [405, 'METHOD_NOT_ALLOWED', 'GET, HEAD']);
  }
});

check('a body that is said to be coded is not read, whatever is in it', async (t) => {
  const world = await openWorld(t);
  const token = await world.token(['agent']);
  const body = '{"name":"n"}';
  const bodies: readonly (readonly [string, Sent['body'], number])[] = [
    ['gzip', new Uint8Array(gzipSync(body)), 415],
    ['gzip', body, 415],
    ['identity, br', body, 415],
    ['identity', body, 201],
  ];
  for (const [encoding, sent, status] of bodies) {
    const headers = { 'content-encoding': encoding };
    const said = await post(world, '/api/v1/projects', { token, body: sent, headers });
    assert.deepEqual([said.status, said.code], [status, status === 415 ? 'CONTENT_TYPE_UNSUPPORTED' : undefined]);
    const type = { ...headers, 'content-type': 'application/zip' };
    const checked = await post(world, '/api/v1/sessions/verify', { token, body: sent, headers: type });
    assert.equal(checked.status, status === 415 ? 415 : 400, encoding);
  }
});

check(
  'what a refusal says is true of who asked: no role is named that the token has, no project that nobody named',
  async (t) => {
    const world = await openWorld(t);
    const token = await world.token(['agent', 'approver', 'admin'], { tenant: 'other' });
    const headers = { authorization: `Bearer ${token}` };
    for (const path of ['/metrics', '/api/v1/operations/audit']) {
      const { error } = (await (await fetch(`${world.url}${path}`, { headers })).json()) as { error: Refused };
      assert.equal(error.code, 'ROLE_NOT_ALLOWED');
      assert.match(error.resolve, /of the tenant that runs the gateway/);
    }
    for (const [path, body] of Object.entries({ '/api/v1/runs': '{"task":"go"}', '/api/v1/sessions': '{}' })) {
      const unasked = await post(world, path, { token, body });
      assert.deepEqual([unasked.status, unasked.code, unasked.where], [400, 'REQUEST_INVALID', 'body.project_id']);
      assert.match(unasked.text, /POST \/api\/v1\/projects/);
      const named = await post(world, path, {
        token,
        body: `{"project_id":"default",${body.slice(1)}`.replace(',}', '}'),
      });
      assert.deepEqual([named.status, named.code], [404, 'PROJECT_NOT_FOUND']);
    }
  },
);

check('a page mark with a control character is refused by its place in every list', async (t) => {
  const world = await openWorld(t);
  const agent = await world.client(['agent', 'approver', 'admin']);
  const { session_id: session, run_id: run } = await agent.startRun({ task: 'go' });
  const token = await world.token(['agent', 'approver', 'admin']);
  const lists = ROUTES.filter(({ query }) => query.safeParse({ limit: 1 }).success);
  assert.ok(lists.length > 10);
  for (const { path, id } of lists) {
    const at = path
      .replace('{session_id}', session)
      .replace('{run_id}', run)
      .replace(/\{\w+\}/g, 'x');
    const response = await fetch(`${world.url}${at}?after=%00`, { headers: { authorization: `Bearer ${token}` } });
    const { error } = (await response.json()) as { error: Refused };
    assert.deepEqual([response.status, error.code, error.details?.where], [400, 'REQUEST_INVALID', 'query.after'], id);
  }
});

check('a body is JSON by name and by nature, and within its bound; what is wrong with it is named', async (t) => {
  const world = await openWorld(t);
  const token = await world.token(['agent']);
  const says = async (init: Sent) => {
    const { status, code, where } = await post(world, '/api/v1/sessions', { token, ...init });
    return [status, code, where];
  };
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  assert.deepEqual(await says({ body: '{}', headers: form }), [415, 'CONTENT_TYPE_UNSUPPORTED', undefined]);
  assert.deepEqual(await says({ body: '{' }), [400, 'JSON_SYNTAX', undefined]);
  assert.deepEqual(await says({ body: '{"name":"a","name":"b"}' }), [400, 'JSON_DUPLICATE_KEY', undefined]);
  assert.deepEqual(await says({ body: new Uint8Array([0x22, 0xff, 0x22]) }), [400, 'JSON_ENCODING', undefined]);
  assert.deepEqual(await says({ body: '['.repeat(70) + ']'.repeat(70) }), [413, 'JSON_TOO_DEEP', undefined]);
  assert.deepEqual(await says({ body: '{"nme":"x"}' }), [400, 'REQUEST_INVALID', 'body']);
  assert.deepEqual(await says({ body: '{"name":7}' }), [400, 'REQUEST_INVALID', 'body.name']);
  assert.deepEqual(await says({ body: '[]' }), [400, 'REQUEST_INVALID', 'body']);
  const room = LIMITS.httpBodyBytes - '{"task_summary":""}'.length;
  const atBound = `{"task_summary":"${'x'.repeat(room)}"}`;
  assert.deepEqual(await says({ body: `${atBound} ` }), [413, 'LIMIT_REACHED', undefined]);
  assert.equal((await post(world, '/api/v1/sessions', { token, body: atBound })).status, 201);
});

check('a request that creates needs a key; with the same key it creates once and answers the same', async (t) => {
  const world = await openWorld(t);
  const token = await world.token(['agent', 'admin']);
  const client = await world.client(['agent']);
  const creating = {
    '/api/v1/projects': { name: 'p' },
    '/api/v1/sessions': { name: 's' },
    '/api/v1/runs': { task: 'go' },
    '/api/v1/tokens': { subject: 'x', roles: ['agent'] },
  };
  for (const [path, body] of Object.entries(creating)) {
    const none = await post(world, path, { token, key: null, body: JSON.stringify(body) });
    assert.deepEqual([none.status, none.code], [400, 'IDEMPOTENCY_KEY_REQUIRED'], path);
    const key = `key-${path}`;
    const send = () => post(world, path, { token, key, body: JSON.stringify(body) });
    const answers = [...(await Promise.all([send(), send(), send()])), await send()];
    // The text of a token is given once; what is repeated is the rest.
    const texts = new Set(answers.map(({ text }) => text.replace(/"token":(?:null|"hf_[^"]+")/, '')));
    assert.equal(texts.size, 1, path);
    assert.equal(answers.filter(({ headers }) => headers.get('idempotency-replayed') === 'false').length, 1);
    const other = await post(world, path, { token, key, body: JSON.stringify({ ...body, name: 'y', task: 'y' }) });
    assert.ok(['REQUEST_INVALID', 'IDEMPOTENCY_CONFLICT'].includes(other.code ?? ''), path);
  }
  assert.equal((await client.listRuns()).runs.length, 1);
  assert.equal((await client.listSessions()).sessions.length, 2);
  const key = 'key-/api/v1/projects';
  const changed = await post(world, '/api/v1/projects', { token, key, body: '{"name":"q"}' });
  assert.deepEqual([changed.status, changed.code], [409, 'IDEMPOTENCY_CONFLICT']);
  const blank = await post(world, '/api/v1/projects', { token, key: 'a b', body: '{"name":"q"}' });
  assert.deepEqual([blank.status, blank.where], [400, 'header idempotency-key']);
});

check('lists come in pages without a gap or a repeat', async (t) => {
  const { client } = await openWorld(t);
  const agent = await client(['agent']);
  for (let i = 0; i < 5; i += 1) {
    await agent.createProject(`p${i}`);
    await agent.createSession({ name: `s${i}` });
  }
  const all = async (page: (after?: string) => Promise<{ ids: string[]; next: string | null }>) => {
    const ids: string[] = [];
    let after: string | undefined;
    do {
      const one = await page(after);
      assert.ok(one.ids.length <= 2);
      ids.push(...one.ids);
      after = one.next ?? undefined;
    } while (after !== undefined);
    return ids;
  };
  const asked = (after?: string) => ({ limit: 2, ...(after === undefined ? {} : { after }) });
  const sessions = await all(async (after) => {
    const page = await agent.listSessions(asked(after));
    return { ids: page.sessions.map((one) => one.session_id), next: page.next };
  });
  const projects = await all(async (after) => {
    const page = await agent.listProjects(asked(after));
    return { ids: page.projects.map((one) => one.project_id), next: page.next };
  });
  assert.deepEqual([sessions.length, new Set(sessions).size], [5, 5]);
  assert.deepEqual([projects.length, new Set(projects).size], [6, 6]);
  await assert.rejects(agent.listRuns({ limit: LIMITS.httpPageEntries + 1 }), { code: 'REQUEST_INVALID' });
  assert.equal((await agent.listRuns({ limit: LIMITS.httpPageEntries })).next, null);
});

/** What a server answers to these very bytes. */
function raw(world: World, bytes: string, end = false): Promise<string> {
  return new Promise((settle) => {
    const socket = connect(Number(new URL(world.url).port), '127.0.0.1', () => {
      socket.write(bytes);
      if (end) socket.end();
    });
    let text = '';
    socket.setEncoding('latin1').on('data', (part: string) => {
      text += part;
    });
    socket.on('error', () => settle(text)).on('close', () => settle(text));
  });
}

check(
  'repeated headers, two lengths, smuggled chunks and a cut body are refused, and the gateway goes on',
  async (t) => {
    const world = await openWorld(t);
    const token = await world.token(['agent']);
    const head = `POST /api/v1/projects HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n`;
    const json = 'Content-Type: application/json\r\nIdempotency-Key: raw-1\r\n';
    const body = '{"name":"p"}';
    const good = `${head}${json}Content-Length: ${body.length}\r\n\r\n${body}`;
    assert.match(await raw(world, good.replace('raw-1', 'raw-0')), /^HTTP\/1.1 201 /);
    const twice = good.replace('Idempotency-Key: raw-1', 'Idempotency-Key: raw-1\r\nIdempotency-Key: raw-2');
    assert.match(await raw(world, twice), /^HTTP\/1.1 400 [\s\S]*header idempotency-key/);
    const tokens = good.replace('Host: x', `Host: x\r\nAuthorization: Bearer ${token}`);
    assert.match(await raw(world, tokens), /^HTTP\/1.1 400 [\s\S]*header authorization/);
    assert.match(await raw(world, good.replace('\r\n\r\n', '\r\nContent-Length: 3\r\n\r\n')), /^HTTP\/1.1 400 /);
    assert.match(
      await raw(world, good.replace('\r\n\r\n', '\r\nTransfer-Encoding: chunked\r\n\r\n')),
      /^HTTP\/1.1 400 /,
    );
    await raw(world, good.slice(0, -3), true);
    const { projects } = await (await world.client(['agent'])).listProjects();
    assert.equal(projects.length, 2);
  },
);

check('a stopping gateway takes nothing new, and its event streams end', async (t) => {
  const world = await openWorld(t);
  const token = await world.token(['agent']);
  const stream = await fetch(`${world.url}/api/v1/events`, { headers: { authorization: `Bearer ${token}` } });
  const read = stream.text();
  await world.close();
  assert.match(await read, /^id: \d+\nretry: /);
  await assert.rejects(fetch(`${world.url}/healthz`));
});
