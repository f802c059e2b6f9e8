/** Throws `node_too_old` on Node before 22.18, before any other module is loaded. */

import { SwitchgearError } from '../core/error.ts';

const needed = [22, 18] as const;

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major < needed[0] || (major === needed[0] && minor < needed[1])) {
  throw new SwitchgearError(
    'node_too_old',
    `Switchgear needs Node ${needed.join('.')} or newer; this is Node ${process.versions.node}.`,
  );
}
