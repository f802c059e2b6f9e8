/** Says once per process that a policy file is there, where a gear of the library was given no policy. */

import { cleanLine } from '../../core/foreign-text.ts';
import { findPolicyFiles } from '../../platform/policy-files.ts';
import { warning } from '../journal/log.ts';
import type { Runtime } from '../runtime/runtime.ts';

let isChecked = false;

/** Looks for a policy file by its name alone, and prints the line that would take it; `create` makes the gear. */
export function reportUnusedPolicy({ logLevel, print, env }: Runtime, create: string): void {
  // A bundled program in a browser has no files.
  if (isChecked || logLevel === 'silent' || typeof process.getBuiltinModule !== 'function') return;
  isChecked = true;
  try {
    const file = env.SWITCHGEAR_POLICY ? 'SWITCHGEAR_POLICY' : findFileName(env);
    if (file === undefined) return;
    const how = file === 'SWITCHGEAR_POLICY' ? 'is set' : 'is here';
    const line = `import { loadPolicy } from 'switchgear/policy'; ${create}({ policy: loadPolicy() })`;
    print(`${warning}${cleanLine(file)} ${how} and not used. To use it: ${line}; to go without it: policy: {}`);
  } catch {
    // A working folder that is gone has no policy.
  }
}

function findFileName(env: Runtime['env']): string | undefined {
  const [path] = findPolicyFiles(process.cwd(), { env });
  return path && process.getBuiltinModule('node:path').relative(process.cwd(), path);
}
