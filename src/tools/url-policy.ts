import { fail, LIMITS } from '../core/index.ts';

interface UrlPattern {
  readonly protocol: string;
  readonly host: string;
  readonly segments: readonly string[];
  /** True when the pattern ends in `/**`: whatever lies below. */
  readonly below: boolean;
}

function refused(pattern: string, reason: string): Error {
  const shown = pattern.slice(0, 100);
  return fail('TOOL_INVALID', `URL pattern '${shown}' ${reason}.`, { details: { field: 'urlPatterns' } });
}

/**
 * Reads a pattern such as `https://shop.example.com/orders/*` or `https://shop.example.com/**`. Scheme, host and port
 * are exact; `*` stands inside one path segment, once; `**` only as the last segment. Throws `TOOL_INVALID`.
 */
function readPattern(pattern: string): UrlPattern {
  if (pattern.length > LIMITS.toolUrlPatternCodePoints) throw refused(pattern, 'is too long');
  const parts = /^(https?):\/\/([^/?#*@\\\s]+)(\/[^?#\\\s]*)$/.exec(pattern);
  if (!parts) throw refused(pattern, 'must be an http or https address with a path, without blanks, `?` or `#`');
  const [, scheme, host, path] = parts as unknown as [string, string, string, string];
  const origin = URL.canParse(`${scheme}://${host}/`) ? new URL(`${scheme}://${host}/`) : null;
  if (origin === null) throw refused(pattern, 'has no valid host');
  const segments = path.slice(1).split('/');
  const below = segments.at(-1) === '**';
  if (below) segments.pop();
  if (segments.some((s) => s.includes('**') || s.split('*').length > 2))
    throw refused(pattern, 'may have `**` only as its last segment and one `*` in a segment');
  if (segments.some((s) => s === '.' || s === '..')) throw refused(pattern, 'must not climb');
  return { protocol: origin.protocol, host: origin.host, segments, below };
}

/** Checks patterns as they are declared. Throws `TOOL_INVALID` at the first that is not exact. */
export function checkUrlPatterns(patterns: readonly string[]): void {
  if (patterns.length > LIMITS.toolUrlPatterns)
    throw fail('TOOL_INVALID', `A tool has at most ${LIMITS.toolUrlPatterns} URL patterns.`);
  patterns.forEach(readPattern);
}

/**
 * Whether a page address fits one of the patterns. No address, one that does not parse, one with a user name or
 * password, and one with encoded slashes in its path never fit. Query and fragment do not count.
 */
export function urlAllowed(patterns: readonly string[], pageUrl: string | undefined): boolean {
  if (pageUrl === undefined || pageUrl.length > LIMITS.pageUrlCodePoints || !URL.canParse(pageUrl)) return false;
  const page = new URL(pageUrl);
  if (page.username !== '' || page.password !== '' || /%2f|%5c/i.test(page.pathname)) return false;
  const segments = page.pathname.slice(1).split('/');
  return patterns.map(readPattern).some((pattern) => fits(pattern, page, segments));
}

function fits(pattern: UrlPattern, page: URL, segments: readonly string[]): boolean {
  if (page.protocol !== pattern.protocol || page.host !== pattern.host) return false;
  if (pattern.below ? segments.length <= pattern.segments.length : segments.length !== pattern.segments.length)
    return false;
  return pattern.segments.every((wanted, i) => segmentFits(wanted, segments[i] ?? ''));
}

function segmentFits(wanted: string, segment: string): boolean {
  const star = wanted.indexOf('*');
  if (star < 0) return wanted === segment;
  const before = wanted.slice(0, star);
  const after = wanted.slice(star + 1);
  return segment.length >= before.length + after.length && segment.startsWith(before) && segment.endsWith(after);
}
