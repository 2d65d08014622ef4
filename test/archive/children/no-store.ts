// Preloaded into a child: whoever loads a database or the store ends the child.
import { registerHooks } from 'node:module';

registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    if (/sqlite/.test(found.url) || /\/(?:src|dist)\/store\//.test(found.url)) {
      process.stderr.write(`loaded ${found.url}\n`);
      process.exit(77);
    }
    return found;
  },
});
