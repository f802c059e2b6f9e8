/** What watching costs: events in a second on a file, and the time of one event at the end of ever longer runs. */

import { createSwitchgear } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';
import { createPolicyDetector, makeObservation } from './policy-detector.ts';
import type { Run, RunEvent } from './runs.ts';

const rounds = 7;

/** The whole product with all its controls, marking and comparing included, on one core. */
export async function measureCost(runs: readonly Run[]): Promise<string> {
  const rates: number[] = [];
  for (let round = 0; round < rounds; round++) rates.push(await measureRate(runs));
  rates.sort((a, b) => a - b);
  const rate = rates[rounds >> 1]!;
  const lengths = [100, 1_000, 10_000, 100_000, 1_000_000];
  const flat = lengths.map((length) => `${length} events: ${nanosAtEnd(length)} ns`);
  return [
    `${Math.round(rate).toLocaleString('en')} events in a second of one core (middle of ${rounds})`,
    `one event at the end of a run of ${flat.join(', ')}`,
  ].join('\n');
}

/** Time of the processor, not of the wall: others may use the machine. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

async function measureRate(runs: readonly Run[]): Promise<number> {
  const gear = createSwitchgear({ clock: simulatedClock(), log: 'silent', env: {} });
  let events = 0;
  const startedAt = cpuMs();
  for (const run of runs) {
    await gear.task({}, (task) => {
      const at = run.events.findIndex((event, index) => task.observe(makeObservation(run, event, index)));
      events += at < 0 ? run.events.length : at + 1;
    });
  }
  return (1000 * events) / (cpuMs() - startedAt);
}

/** Turns that each bring something new, so that nothing ends the run. */
function turn(index: number): readonly RunEvent[] {
  const word = index.toString(26).replaceAll(/\d/g, (digit) => 'qrstuvwxyz'[Number(digit)]!);
  return [
    { type: 'assistant', text: `I will look at ${word} now and see what ${word} says` },
    { type: 'tool_call', id: `c${index}`, name: 'read', args: `{"path":"${word}"}` },
    {
      type: 'tool_result',
      id: `c${index}`,
      ok: true,
      text: `the page about ${word} says much about ${word} and others`,
    },
  ];
}

function nanosAtEnd(length: number): number {
  const detector = createPolicyDetector('long', { task: { max_tool_calls: 1_000_000 } });
  const events = Array.from({ length: Math.ceil(length / 3) }, (_, index) => turn(index)).flat();
  const watch = detector.watch({ source: '', run_id: '', model: '', kind: '', outcome: 'unknown', events });
  const last = Math.min(events.length, 3_000);
  let startedAt = 0;
  for (const [index, event] of events.entries()) {
    if (index === events.length - last) startedAt = cpuMs();
    if (watch.see(event, index)) throw new Error(`a run that only brings news was ended at event ${index}`);
  }
  return Math.round((1e6 * (cpuMs() - startedAt)) / last);
}
