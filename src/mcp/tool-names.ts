import { LIMITS, sha256Hex } from '../core/index.ts';

/**
 * The name under which a server's tool is offered: `<server>__<tool>`. Names that model providers would refuse, or that
 * are too long, keep what fits and end in eight digits of their digest, so that two never become one.
 */
export function localToolName(server: string, tool: string): string {
  const plain = `${server}__${tool}`;
  if (/^[A-Za-z0-9_-]+$/.test(tool) && plain.length <= LIMITS.toolNameCodePoints) return plain;
  const suffix = `_${sha256Hex(tool).slice(0, 8)}`;
  const kept = plain.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, LIMITS.toolNameCodePoints - suffix.length);
  return `${kept}${suffix}`;
}
