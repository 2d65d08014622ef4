import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import type { TestContext } from 'node:test';
import { type GuardSettings, Holdfast, runGuard } from '../../src/app/index.ts';
import type { Clock, FaultPoints } from '../../src/core/index.ts';
import type { StoreObserver } from '../../src/store/index.ts';
import { temporaryFolder } from '../support/index.ts';

const SERVER = join(import.meta.dirname, '..', 'fixtures', 'mcp', 'guarded-server.ts');

export type Message = { readonly id?: unknown; readonly [key: string]: unknown };

export const writes = { effect: 'once' };
/** A policy in which reads and writes pass at once, `ask_*` waits, and everything else is held. */
export const OPEN_POLICY = {
  version: 1,
  name: 'test',
  revision: '1',
  server: 'world',
  tools: {
    read: { effect: 'read' },
    read_fails: { effect: 'read' },
    refuses: writes,
    write_fails: { effect: 'once', on_error: 'not_done' },
    hangs: { effect: 'once', timeout_seconds: 1 },
  },
  rules: [
    { id: 'reads', tools: ['read*'], decision: 'allow' },
    {
      id: 'writes',
      tools: [
        'write',
        'write_fails',
        'refuses',
        'dies',
        'hangs',
        'doubled',
        'large',
        'asks',
        'works_on',
        'floods',
        'gathers',
        'deep',
      ],
      decision: 'allow',
    },
    { id: 'never', tools: ['forbidden'], decision: 'deny', reason: 'nobody may' },
  ],
};

/** What the guard says in a result of its own. */
export interface ToldResult {
  readonly isError?: boolean;
  readonly content: readonly { readonly text: string }[];
  readonly _meta?: {
    readonly 'holdfast/outcome': { readonly outcome: string; readonly code: string; readonly status_ref: string };
  };
}

export const resultOf = (message: Message): ToldResult => message['result'] as ToldResult;
export const textOf = (message: Message): string =>
  resultOf(message)
    .content.map((one) => one.text)
    .join('\n');
export const outcomeOf = (message: Message) => resultOf(message)._meta?.['holdfast/outcome'];

export interface GuardWorld {
  readonly folder: string;
  readonly dataDir: string;
  /** Sends a message; answers nothing. */
  send(message: Message | string): void;
  /** The next line that the host gets, as bytes. */
  line(): Promise<string>;
  next(): Promise<Message>;
  /** Calls a tool and gives the next message. */
  call(name: string, args?: object, id?: unknown, more?: object): Promise<Message>;
  /** What really happened, in order. */
  effects(): unknown[];
  errors(): string;
  /** Ends the host and gives the server's exit code. */
  end(): Promise<number | null>;
  readonly ended: Promise<number | null>;
}

export interface WorldOptions {
  readonly policy?: object;
  readonly waitMs?: number;
  readonly observer?: StoreObserver;
  readonly faults?: FaultPoints;
  /** The folder of an earlier world, to go on in. */
  readonly dataDir?: string;
  readonly clock?: Clock;
}

export async function guardWorld(t: TestContext, options: WorldOptions = {}): Promise<GuardWorld> {
  const folder = options.dataDir ?? (await temporaryFolder(t));
  const dataDir = join(folder, 'data');
  const world = join(folder, 'world.jsonl');
  const [input, output, errors] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const said: Buffer[] = [];
  errors.on('data', (chunk: Buffer) => said.push(chunk));
  const settings: GuardSettings = {
    dataDir,
    policy: JSON.stringify(options.policy ?? OPEN_POLICY),
    server: { command: process.execPath, args: [SERVER, world] },
    host: { input, output, errors },
    waitMs: options.waitMs ?? 100,
    ...(options.observer ? { observer: options.observer } : {}),
    ...(options.clock ? { clock: options.clock } : {}),
    ...(options.faults ? { faults: options.faults } : {}),
  };
  const ended = runGuard(settings);
  ended.catch(() => undefined);
  t.after(async () => {
    input.end();
    await ended.catch(() => undefined);
  });
  const lines = linesOf(output);
  const send = (message: Message | string): void =>
    void input.write(typeof message === 'string' ? message : `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const line = async (): Promise<string> => {
    const { value, done } = await lines.next();
    if (done) throw new Error(`the guard has gone: ${Buffer.concat(said).toString()}`);
    return value;
  };
  const next = async (): Promise<Message> => JSON.parse(await line()) as Message;
  return {
    folder,
    dataDir,
    send,
    line,
    next,
    call: (name, args = {}, id = 1, more = {}) => {
      send({ id, method: 'tools/call', params: { name, arguments: args, ...more } });
      return next();
    },
    effects: () =>
      existsSync(world)
        ? readFileSync(world, 'utf8')
            .split('\n')
            .filter(Boolean)
            .map((one) => JSON.parse(one) as unknown)
        : [],
    errors: () => Buffer.concat(said).toString(),
    end: () => {
      input.end();
      return ended;
    },
    ended,
  };
}

async function* linesOf(stream: PassThrough): AsyncGenerator<string, void> {
  let held = '';
  for await (const chunk of stream) {
    held += String(chunk);
    for (let at = held.indexOf('\n'); at >= 0; at = held.indexOf('\n')) {
      yield held.slice(0, at + 1);
      held = held.slice(at + 1);
    }
  }
}

/** Opens the same data folder as another process would, and looks or decides. */
export async function elsewhere<T>(dataDir: string, work: (holdfast: Holdfast) => Promise<T>, laterMs = 0): Promise<T> {
  const holdfast = await Holdfast.open({ dataDir, clock: { nowMs: () => Date.now() + laterMs } });
  try {
    return await work(holdfast);
  } finally {
    await holdfast.close();
  }
}
