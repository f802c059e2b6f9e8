/** Loaded before the tests of adapters: doors lead to the source, and its optional packages to those installed here. */

import '../harness/entry-point-hooks.ts';
import { registerHooks } from 'node:module';

const here = import.meta.url;
const adapters = new URL('../../src/adapters/', here).href;

registerHooks({
  resolve(specifier, context, next) {
    const isForeign = !/^(node:|[./]|file:|switchgear)/.test(specifier);
    const fromAdapter = context.parentURL?.startsWith(adapters) === true;
    return next(specifier, isForeign && fromAdapter ? { ...context, parentURL: here } : context);
  },
});
