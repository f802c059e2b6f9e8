/** Runs experiments by name, in their long form: `npm run experiment probes`. Prints verdicts, exits 1 on a fault. */

import { requireService } from '../services.ts';
import { experiments, experimentsOnRedis } from './experiments.ts';

const names = process.argv.slice(2).filter((each) => !each.startsWith('--'));
const short = process.argv.includes('--short');
const seed = Number(process.argv.find((each) => each.startsWith('--seed='))?.slice(7) ?? 1);
const unknown = names.filter((name) => !(name in experiments));
if (names.length === 0 || unknown.length > 0) {
  const wrong = unknown.length > 0 ? `no experiment ${unknown.join(', ')}; ` : '';
  console.error(`${wrong}there are: ${Object.keys(experiments).join(', ')}`);
  process.exit(2);
}
if (names.some((name) => experimentsOnRedis.has(name))) requireService('redis');
for (const name of names) {
  const began = performance.now();
  const verdict = await experiments[name]!({ short, seed });
  console.log(
    JSON.stringify({ ...verdict, seconds: Math.round((performance.now() - began) / 100) / 10 }, undefined, 2),
  );
  if (!verdict.passed) process.exitCode = 1;
}
process.exit();
