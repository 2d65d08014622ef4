import fc from 'fast-check';
import { tool, urlAllowed } from '../../src/tools/index.ts';
import { assert, check, judged } from '../support/index.ts';

check('scheme, host, port and path are exact; one star stands in one segment; two stars for what lies below', () => {
  const fits: [string, string][] = [
    ['https://a.example/**', 'https://a.example/'],
    ['https://a.example/**', 'https://A.EXAMPLE/x/y?q=1#f'],
    ['https://a.example/x/**', 'https://a.example/x/'],
    ['https://a.example/orders/*', 'https://a.example/orders/7'],
    ['https://a.example/o-*.html', 'https://a.example/o-7.html'],
    ['https://a.example:8443/x', 'https://a.example:8443/x'],
    ['https://a.example:443/x', 'https://a.example/x'],
  ];
  for (const [pattern, page] of fits) assert.ok(urlAllowed([pattern], page), `${pattern} ${page}`);
  const never: [string, string][] = [
    ['https://a.example/**', 'http://a.example/'],
    ['https://a.example/**', 'https://a.example.evil.example/'],
    ['https://a.example/**', 'https://a.example:444/'],
    ['https://a.example/**', 'https://a.example@evil.example/'],
    ['https://a.example/**', 'https://user@a.example/'],
    ['https://a.example/**', 'https://:pw@a.example/'],
    ['https://a.example/**', 'https://a.example./'],
    ['https://a.example/**', 'javascript:alert(1)'],
    ['https://a.example/**', 'a.example/'],
    ['https://a.example/**', ''],
    ['https://a.example/x/**', 'https://a.example/x'],
    ['https://a.example/x/**', 'https://a.example/x/../y'],
    ['https://a.example/x/**', 'https://a.example/x/%2e%2e/y'],
    ['https://a.example/x/**', 'https://a.example/x/..%2fy'],
    ['https://a.example/x/**', 'https://a.example/x\\..\\y'],
    ['https://a.example/orders/*', 'https://a.example/orders/7/edit'],
    ['https://a.example/orders/*', 'https://a.example/orders/7%2Fedit'],
    ['https://a.example/o-*-o', 'https://a.example/o-o'],
    ['https://a.example/x', 'https://a.example/X'],
  ];
  for (const [pattern, page] of never) assert.ok(!urlAllowed([pattern], page), `${pattern} ${page}`);
  assert.ok(!urlAllowed(['https://a.example/**'], undefined));
  assert.ok(!urlAllowed(['https://a.example/**'], `https://a.example/${'x'.repeat(8_192)}`));
});

check('patterns that are not exact are refused when they are declared', () => {
  const bad = [
    '*',
    'https://**',
    'https://*.example/**',
    'https://a.example',
    'ftp://a.example/**',
    'https://a.example/**/x',
    'https://a.example/x**',
    'https://a.example/a*b*c',
    'https://a.example/x?y=1',
    'https://a.example/#x',
    'https://u@a.example/',
    'https://a b.example/',
    'https://a.example/../x',
    'https://[::1/x',
    `https://a.example/${'x'.repeat(2_048)}`,
  ];
  for (const pattern of bad) {
    const define = (): unknown =>
      tool({
        name: 'open',
        description: '',
        inputSchema: { type: 'object' },
        effect: 'read',
        urlPatterns: [pattern],
        execute: () => 1,
      });
    assert.throws(define, { code: 'TOOL_INVALID' }, pattern);
  }
});

check('no page of another host is ever allowed', () => {
  fc.assert(
    fc.property(fc.webUrl(), (page) => !urlAllowed(['https://only.invalid-host.example/**'], page)),
    { numRuns: 300 },
  );
  judged();
});
