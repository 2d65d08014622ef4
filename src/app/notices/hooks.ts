import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { canonicalJson, type Clock, fail, type JsonObject, unixSeconds } from '../../core/index.ts';

/** Tells somebody that an approval waits; false where it could not be told, and is to be told again. */
export type Hook = (notice: JsonObject) => Promise<boolean>;

export interface WebhookOptions {
  /** Where the notice is posted, `https:` or `http:`. */
  readonly url: string;
  /** At least 16 characters; the receiver checks the signature with it. */
  readonly secret: string;
}

const ANSWER_MS = 10_000;
const LEAST_SECRET = 16;
const COMMAND_MS = 30_000;

/**
 * Posts a notice as JSON. `holdfast-signature` is `t=<seconds>,v1=<hex>`: HMAC-SHA-256 with the secret over the seconds,
 * a dot and the body. Told is what answers 2xx within 10 seconds; a redirect is not followed. Throws INVALID_VALUE.
 */
export function webhook({ url, secret }: WebhookOptions, clock: Clock): Hook {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw fail('INVALID_VALUE', 'notices.webhook.url must be an address of http or https.');
  if (secret.length < LEAST_SECRET)
    throw fail('INVALID_VALUE', `notices.webhook.secret must have at least ${LEAST_SECRET} characters.`);
  return async (notice) => {
    const body = canonicalJson(notice);
    const seconds = unixSeconds(clock);
    const signature = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex');
    const headers = { 'content-type': 'application/json', 'holdfast-signature': `t=${seconds},v1=${signature}` };
    try {
      const signal = AbortSignal.timeout(ANSWER_MS);
      const response = await fetch(url, { method: 'POST', body, headers, signal, redirect: 'manual' });
      await response.body?.cancel();
      return response.ok;
    } catch {
      return false;
    }
  };
}

/**
 * Runs a program with the notice on its standard input, without a shell. Told is what ends with 0 within 30 seconds.
 * Throws INVALID_VALUE for an empty command.
 */
export function commandHook(command: readonly string[]): Hook {
  const [program, ...args] = command;
  if (program === undefined || program === '') throw fail('INVALID_VALUE', 'notices.command must name a program.');
  return (notice) =>
    new Promise((tell) => {
      const child = spawn(program, args, { stdio: ['pipe', 'ignore', 'ignore'], timeout: COMMAND_MS });
      child.once('error', () => tell(false));
      child.once('close', (code) => tell(code === 0));
      // A program that does not read its input is not a failure of ours.
      child.stdin.on('error', () => undefined);
      child.stdin.end(`${canonicalJson(notice)}\n`);
    });
}
