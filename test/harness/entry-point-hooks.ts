/** Loaded before examples and pages of the docs: what they import from the package comes from its source, unbuilt. */

import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { listEntryPoints, root } from './source.ts';

const sources = new Map(listEntryPoints().map(({ name, path }) => [name, pathToFileURL(join(root, path)).href]));

registerHooks({
  resolve(specifier, context, next) {
    const url = sources.get(specifier);
    return url === undefined ? next(specifier, context) : { url, shortCircuit: true };
  },
});
