/** A process that prints how it was launched, in place of a hook. */

import { readHookOrigin } from '../../src/hooks/hook-origin.ts';

const { host, launch, innerLaunch, ancestors } = readHookOrigin();
console.log(JSON.stringify({ host: host?.pid, launch, innerLaunch, ancestors: ancestors.map(({ pid }) => pid) }));
