import { type ErrorBody, type ErrorCode, fail } from '../core/index.ts';

/** A refusal of the gateway: the error's own code, whether it may be retried, and the one step that resolves it. */
export class GatewayRefusal extends Error {
  readonly status: number;
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly resolve: string;
  readonly details: ErrorBody['details'];
  /** Names the request in the gateway's log. */
  readonly requestId: string | null;

  constructor(status: number, body: ErrorBody, requestId: string | null) {
    super(body.message);
    this.name = 'GatewayRefusal';
    this.status = status;
    this.code = body.code;
    this.retryable = body.retryable;
    this.resolve = body.resolve;
    this.details = body.details;
    this.requestId = requestId;
  }
}

export interface ClientOptions {
  /** Where the gateway is, such as `http://127.0.0.1:8787`. */
  readonly url: string;
  readonly token: string;
  readonly fetch?: typeof fetch;
}

/** What answered is not the gateway: something in between, or another server. */
export class NotTheGateway extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`The answer, with status ${status}, is not the gateway's.`);
    this.name = 'NotTheGateway';
    this.status = status;
  }
}

/** The address without a slash at its end. INVALID_VALUE for what is no address of HTTP. */
export function addressOf(url: string): string {
  if (/^https?:$/.test(URL.parse(url)?.protocol ?? '')) return url.replace(/\/+$/, '');
  throw fail('INVALID_VALUE', 'The option `url` must be an address that begins with http:// or https://.', {
    details: { option: 'url' },
  });
}

/** A package to send: bytes, or a file (`fs.openAsBlob`), which is never in memory whole. */
export type PackageBytes = Uint8Array<ArrayBuffer> | Blob;

const PACKAGE_TYPE = 'application/vnd.openai4s.session+zip';

export interface Call {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: object;
  /** Bytes as the body, as they are. */
  readonly bytes?: PackageBytes;
  /** The idempotency key of a request that creates. */
  readonly key?: string;
}

/** Sends one request and gives its document; throws GatewayRefusal for what the gateway refuses, and what fetch throws. */
export async function send<T>(options: ClientOptions, call: Call): Promise<T> {
  const response = await sendFor(options, call);
  return (await response.json()) as T;
}

/** As `send`, and gives the response itself. */
export async function sendFor(options: ClientOptions, call: Call): Promise<Response> {
  const { url, token } = options;
  const headers: Record<string, string> = { authorization: `Bearer ${token}` };
  if (call.body) headers['content-type'] = 'application/json';
  if (call.bytes) headers['content-type'] = PACKAGE_TYPE;
  if (call.key !== undefined) headers['idempotency-key'] = call.key;
  const response = await (options.fetch ?? fetch)(`${url}${call.path}${queryText(call.query)}`, {
    method: call.method,
    headers,
    ...(call.body ? { body: JSON.stringify(call.body) } : {}),
    ...(call.bytes ? { body: call.bytes } : {}),
  });
  if (!response.ok) throw await refusalOf(response);
  return response;
}

function queryText(query: Call['query'] = {}): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, String(value));
  return given.size === 0 ? '' : `?${given.toString()}`;
}

export async function refusalOf(response: Response): Promise<Error> {
  const text = await response.text();
  try {
    const { error } = JSON.parse(text) as { readonly error: ErrorBody };
    if (typeof error.code === 'string')
      return new GatewayRefusal(response.status, error, response.headers.get('x-request-id'));
  } catch {
    // It is not JSON.
  }
  return new NotTheGateway(response.status);
}
