/** The public surface as text: every name of every door. `npm run api` writes it to api.txt. */

import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type EntryPoint, listEntryPoints, listExports, readText, root } from './harness/source.ts';

/** The surface as it is now. Values are asked of the loaded door, types are read off its text. */
export async function describeSurface(): Promise<string> {
  const parts: string[] = [];
  for (const door of listEntryPoints()) {
    const names = [
      ...(await listValues(door)),
      ...listExports(readText(door.path)).types.map((name) => `type ${name}`),
    ];
    parts.push([door.name, ...names.map((name) => `  ${name}`)].join('\n'));
  }
  return `${parts.join('\n\n')}\n`;
}

/** The names that a door really has at run time. */
export async function listValues(door: EntryPoint): Promise<string[]> {
  const path = join(root, door.path);
  if (!existsSync(path)) throw new Error(`${door.name} has no ${door.path}: write it, or take it out of package.json`);
  return Object.keys((await import(pathToFileURL(path).href)) as object).sort();
}

if (process.argv.includes('--write')) writeFileSync(join(root, 'api.txt'), await describeSurface());
