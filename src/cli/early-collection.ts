import { setFlagsFromString } from 'node:v8';

/** The young generation stays as small as it begins, and the old one is collected when it has grown by 40 in 100. */
const FLAGS = ['--semi-space-growth-factor=1', '--heap-growing-percent=40'];
/** The newest Node.js whose V8 is known to know them; one that does not would say so on standard error. */
const NEWEST_MAJOR = 26;

/**
 * For a process that ends with its command: what an export or import leaves behind is collected while it is little.
 * Where a machine has much memory, V8 would let several times of what is needed lie about. Both flags are heuristics of
 * when V8 collects; neither bounds what may be held.
 */
export function collectEarly(nodeVersion: string = process.versions.node): readonly string[] {
  if (Number.parseInt(nodeVersion, 10) > NEWEST_MAJOR) return [];
  for (const flag of FLAGS) setFlagsFromString(flag);
  return FLAGS;
}
