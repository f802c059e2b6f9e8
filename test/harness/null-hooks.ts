/** Loaded before the clause tests of the second run: what they import from a door comes from the stand-in instead. */

import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { listEntryPoints, listExports, readText, root, toRepositoryPath } from './source.ts';

const clauses = pathToFileURL(join(root, 'test/clauses/')).href;
const standIn = pathToFileURL(join(root, 'test/harness/null-gear.ts')).href;
/** Where tests find the command, and what they find instead. */
const command = 'test/harness/switchgear-bin.ts';
const nullCommand = join(root, 'test/harness/null-switchgear.ts');
// The testing kit stays itself: it is what the stories are told with, not what they are about.
const subjects = new Set(
  listEntryPoints().flatMap((door) => (door.path.startsWith('src/testing/') ? [] : [door.path])),
);

registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    if (!context.parentURL?.startsWith(clauses) || !found.url.startsWith('file:')) return found;
    const path = toRepositoryPath(fileURLToPath(found.url));
    if (path === command) return { url: 'null-command:', format: 'module', shortCircuit: true };
    if (subjects.has(path)) return { url: `null-door:${path}`, format: 'module', shortCircuit: true };
    return found;
  },
  load(url, context, next) {
    if (url === 'null-command:') {
      const source = `export const bin = ${JSON.stringify(nullCommand)};`;
      return { format: 'module', source, shortCircuit: true };
    }
    if (!url.startsWith('null-door:')) return next(url, context);
    return { format: 'module', source: entryPointSource(url.slice('null-door:'.length)), shortCircuit: true };
  },
});

/** The door's names, each from the stand-in; a name that it lacks links all the same and explains itself when used. */
function entryPointSource(path: string): string {
  const names = listExports(readText(path)).values.map(
    (name) => `export const ${name} = pick(${JSON.stringify(name)});`,
  );
  return `import * as gear from ${JSON.stringify(standIn)};
function pick(name) {
  if (name in gear) return gear[name];
  const tell = () => {
    throw new Error(\`test/harness/null-gear.ts has no '\${name}' for ${path}; export it there, passing through or 0\`);
  };
  return new Proxy(function missing() {}, { get: tell, apply: tell, construct: tell });
}
${names.join('\n')}
`;
}
