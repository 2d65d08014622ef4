import {
  fail,
  JSON_PROFILES,
  type JsonProfile,
  type JsonValue,
  LIMITS,
  readStrictJson,
  requireWithin,
} from '../core/index.ts';

const PROFILE: JsonProfile = { ...JSON_PROFILES.wire, name: 'http body', bytes: LIMITS.httpBodyBytes, depth: 64 };
const JSON_TYPE = /^application\/json(?:\s*;\s*charset=utf-8)?$/i;

/**
 * Reads the JSON body of a request, strictly and within `httpBodyBytes`: the bound is held against the announced length
 * and against every chunk, before anything is parsed. CONTENT_TYPE_UNSUPPORTED, LIMIT_REACHED, REQUEST_CUT, or the codes
 * of the strict reader.
 */
export async function readJsonBody(request: Request): Promise<JsonValue> {
  if (!JSON_TYPE.test(request.headers.get('content-type') ?? ''))
    throw fail('CONTENT_TYPE_UNSUPPORTED', 'This route takes a JSON body.');
  requirePlain(request);
  requireWithin('httpBodyBytes', Number(request.headers.get('content-length') ?? 0));
  return readStrictJson(await wholeBody(request), PROFILE);
}

/** CONTENT_TYPE_UNSUPPORTED for a body that is said to be coded, whatever is in it: two readers could see two bodies. */
export function requirePlain({ headers }: Request): void {
  const coding = headers.get('content-encoding');
  if (coding === null || coding.trim().toLowerCase() === 'identity') return;
  throw fail('CONTENT_TYPE_UNSUPPORTED', 'A body is taken as it is, and this one is said to be coded.', {
    resolve: 'Send the body uncompressed, without Content-Encoding.',
  });
}

async function wholeBody(request: Request): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request.body ?? []) {
      bytes += chunk.byteLength;
      if (bytes > LIMITS.httpBodyBytes) break;
      chunks.push(chunk);
    }
  } catch (cause) {
    throw fail('REQUEST_CUT', 'The body ended before all of it was there.', { cause });
  }
  requireWithin('httpBodyBytes', bytes);
  return Buffer.concat(chunks);
}

/** Parameters whose text is a whole number. */
const NUMBERS: ReadonlySet<string> = new Set(['limit']);
const WHOLE = /^(?:0|[1-9][0-9]{0,8})$/;

/** The query as an object of texts; REQUEST_INVALID for one that is given twice. */
export function readQuery(url: URL): Record<string, string | number> {
  const query: Record<string, string | number> = Object.create(null) as Record<string, string | number>;
  for (const [name, value] of url.searchParams) {
    if (name in query)
      throw fail('REQUEST_INVALID', 'A parameter of the query is given twice.', { details: { where: 'query' } });
    query[name] = NUMBERS.has(name) && WHOLE.test(value) ? Number(value) : value;
  }
  return { ...query };
}
