import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { canonicalJson, type Clock, fail, type JsonObject, unixSeconds } from '../../core/index.ts';

/**
 * Tells somebody that an approval waits; false where it could not be told, and is to be told again. An aborted signal
 * ends it at once, as a failure.
 */
export type Hook = (notice: JsonObject, signal: AbortSignal) => Promise<boolean>;

export interface WebhookOptions {
  /** Where the notice is posted, `https:` or `http:`. */
  readonly url: string;
  /** At least 16 characters; the receiver checks the signature with it. */
  readonly secret: string;
}

const LEAST_SECRET = 16;

/**
 * Posts a notice as JSON. `holdfast-signature` is `t=<seconds>,v1=<hex>`: HMAC-SHA-256 with the secret over the seconds,
 * a dot and the body. Told is what answers 2xx in time; a redirect is not followed, and no more of the answer is read than
 * its head. Throws INVALID_VALUE.
 */
export function webhook({ url, secret }: WebhookOptions, clock: Clock): Hook {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw fail('INVALID_VALUE', 'notices.webhook.url must be an address of http or https.');
  if (secret.length < LEAST_SECRET)
    throw fail('INVALID_VALUE', `notices.webhook.secret must have at least ${LEAST_SECRET} characters.`);
  return async (notice, signal) => {
    const body = canonicalJson(notice);
    const seconds = unixSeconds(clock);
    const signature = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex');
    const headers = { 'content-type': 'application/json', 'holdfast-signature': `t=${seconds},v1=${signature}` };
    try {
      const response = await fetch(url, { method: 'POST', body, headers, signal, redirect: 'manual' });
      await response.body?.cancel();
      return response.ok;
    } catch {
      return false;
    }
  };
}

/**
 * Runs a program with the notice on its standard input, without a shell. Told is what ends with 0 in time; one that does
 * not is killed, whatever it makes of softer signals.
 * Throws INVALID_VALUE for an empty command.
 */
export function commandHook(command: readonly string[]): Hook {
  const [program, ...args] = command;
  if (program === undefined || program === '') throw fail('INVALID_VALUE', 'notices.command must name a program.');
  return (notice, signal) =>
    new Promise((tell) => {
      const stdio = ['pipe', 'ignore', 'ignore'] as const;
      const child = spawn(program, args, { stdio: [...stdio], signal, killSignal: 'SIGKILL' });
      child.once('error', () => tell(false));
      // Not `close`: what the program leaves running behind it may keep its input open.
      child.once('exit', (code) => tell(code === 0));
      // A program that does not read its input is not a failure of ours.
      child.stdin.on('error', () => undefined);
      child.stdin.end(`${canonicalJson(notice)}\n`);
    });
}
