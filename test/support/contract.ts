import { AsyncLocalStorage } from 'node:async_hooks';
import strict from 'node:assert/strict';
import { type TestContext, test } from 'node:test';

interface Counter {
  assertions: number;
}

const running = new AsyncLocalStorage<Counter>();

function counted<F extends object>(target: F): F {
  return new Proxy(target, {
    apply(fn, self, args) {
      count();
      return Reflect.apply(fn as unknown as (...a: unknown[]) => unknown, self, args);
    },
    get(object, key, receiver) {
      const value: unknown = Reflect.get(object, key, receiver);
      if (typeof value !== 'function' || key === 'AssertionError') return value;
      return (...args: unknown[]) => {
        count();
        return Reflect.apply(value, object, args) as unknown;
      };
    },
  });
}

function count(): void {
  const counter = running.getStore();
  if (counter) counter.assertions += 1;
}

/** `node:assert/strict`, counted: a `contract` or `check` whose body asserts nothing is red. */
export const assert: typeof strict = counted(strict);

/** Lets a test's own judge (a property run, a child process's verdict) count as an assertion. */
export function judged(): void {
  count();
}

type Body = (t: TestContext) => void | Promise<void>;

async function runCounted(t: TestContext, body: Body): Promise<void> {
  const counter: Counter = { assertions: 0 };
  await running.run(counter, async () => body(t));
  if (counter.assertions === 0) throw new Error('this test made no assertion');
}

const ID = /^(RUN|AUT|EFF|OPS|PKG)-\d{2,3}$/;

/**
 * A leaf test that proves contracts. `ids` is one to four IDs separated by blanks (`'OPS-17 OPS-18'`); they begin the
 * test's name, which the coverage tool reads. Red when the body asserts nothing through `assert` of this module.
 */
export function contract(ids: string, text: string, body: Body): void {
  const list = ids.split(' ');
  if (list.length < 1 || list.length > 4 || !list.every((id) => ID.test(id)))
    throw new Error(`contract() takes one to four contract IDs, not '${ids}'`);
  void test(`${ids} ${text}`, (t) => runCounted(t, body));
}

/** A leaf test of ours that no contract names; red when its body asserts nothing. */
export function check(text: string, body: Body): void {
  void test(text, (t) => runCounted(t, body));
}
