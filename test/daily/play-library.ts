/** Plays a story to the library: each tool a guarded function, each subagent a worker as adapters send it. */

import { type OpenWorker, openWorker } from '../../src/adapters/host/open-worker.ts';
import { isRefused, type Refusal, refusalOf } from '../../src/core/refusal.ts';
import type { Switchgear, Task } from '../../src/guard/api.ts';
import { createSwitchgear } from '../../src/guard/create-switchgear.ts';
import { makeWorkerName } from '../../src/guard/entries/delegate.ts';
import { type SimulatedClock, simulatedClock } from '../../src/testing/index.ts';
import { promisesSettled } from '../../src/testing/simulated-clock.ts';
import {
  driveStory,
  type PlayedAgent,
  type PlayedCall,
  type PlayedEnd,
  type PlayedTurn,
  type Surface,
} from './drive.ts';
import { decliningApprover, type Player, Recorder } from './played.ts';

export const playLibrary: Player = async (story, options) => {
  const clock = simulatedClock();
  const record = new Recorder();
  const place = { agent: 'agent', session: 'daily', project: 'daily', env: {}, log: 'silent' } as const;
  const policy = { preset: options.preset ?? 'coding' };
  const gear = createSwitchgear({ ...place, clock, policy, approver: decliningApprover });
  record.watchCards(gear);
  await gear.task(async (task) => {
    await driveStory(story, options, { clock, record, surface: new GuardedTools(record, gear, clock, task) });
  });
  gear.dispose();
  return record.played;
};

class GuardedTools implements Surface {
  readonly #record: Recorder;
  readonly #gear: Switchgear;
  readonly #clock: SimulatedClock;
  readonly #task: Task;
  readonly #tools = new Map<string, (input: unknown) => Promise<unknown>>();
  readonly #workers = new Map<string, OpenWorker>();
  /** The calls that a tool runs now, by their inputs. */
  readonly #scripts = new Map<unknown, PlayedCall>();
  readonly #running = new Set<PlayedCall>();

  constructor(record: Recorder, gear: Switchgear, clock: SimulatedClock, task: Task) {
    this.#record = record;
    this.#gear = gear;
    this.#clock = clock;
    this.#task = task;
  }

  #taskOf(agent: string | undefined): Task {
    return (agent === undefined ? undefined : this.#workers.get(agent)?.task) ?? this.#task;
  }

  #toolOf(name: string): (input: unknown) => Promise<unknown> {
    const known = this.#tools.get(name);
    if (known !== undefined) return known;
    const run = async (input: unknown): Promise<unknown> => {
      const { output, ok, secs } = this.#scripts.get(input)!;
      await new Promise<void>((resolve) => void this.#clock.after(Math.round(secs * 1000), resolve));
      if (ok) return output;
      throw new Error(output);
    };
    const tool = this.#gear.guard(name, run);
    this.#tools.set(name, tool);
    return tool;
  }

  prompt(text: string): void {
    this.#task.observe({ type: 'user', text });
  }

  async answer({ agent, say = '', calls }: PlayedTurn): Promise<readonly PlayedCall[]> {
    const task = this.#taskOf(agent);
    task.observe({ type: 'assistant', text: say, toolUse: calls.length > 0 });
    this.#readHint(task);
    for (const call of calls) this.#begin(call, task);
    await promisesSettled();
    return calls.filter((call) => this.#running.has(call));
  }

  #begin(call: PlayedCall, task: Task): void {
    const input = structuredClone(call.input);
    this.#scripts.set(input, call);
    this.#running.add(call);
    const ended = () => {
      this.#scripts.delete(input);
      this.#running.delete(call);
    };
    void task
      .run(() => this.#toolOf(call.tool)(input))
      .then(
        (value) => this.#readResult(value),
        (error: unknown) => this.#readError(error, call),
      )
      .finally(ended);
  }

  #readResult(value: unknown): void {
    if (isRefused(value)) this.#refuse(refusalOf(value)!);
    else if (typeof value === 'string') {
      const hint = /\n\n\[switchgear\] .*$/s.exec(value);
      if (hint !== null) this.#record.hint(hint[0].trim());
    }
  }

  /** A call that Switchgear itself cuts is refused after its begin. */
  #readError(error: unknown, { output }: PlayedCall): void {
    const refusal = refusalOf(error);
    const { name, message } = error as Error;
    if (refusal !== undefined) this.#refuse(refusal);
    else if (message !== output) this.#record.refuse(message, name);
  }

  #refuse({ kind, message, code }: Refusal): void {
    if (kind === 'halt') this.#record.halt(message, code);
    else this.#record.refuse(message, code);
  }

  #readHint(task: Task): void {
    const hint = task.hint();
    if (hint !== undefined) this.#record.hint(hint);
  }

  async pass(ms: number): Promise<void> {
    this.#clock.advance(ms);
    await promisesSettled();
  }

  async callEnded({ agent }: PlayedCall): Promise<void> {
    await promisesSettled();
    this.#readHint(this.#taskOf(agent));
  }

  isBusy(): boolean {
    return this.#running.size > 0;
  }

  async start(agents: readonly PlayedAgent[]): Promise<readonly PlayedAgent[]> {
    const started: PlayedAgent[] = [];
    for (const each of agents) {
      const answer = await openWorker(this.#gear, this.#task, makeWorkerName(each.type, each.task), each.task);
      if (answer.refusal !== undefined) {
        this.#refuse(answer.refusal);
        continue;
      }
      this.#workers.set(each.agent, answer);
      started.push(each);
    }
    return started;
  }

  async end({ agent, output, ok }: PlayedEnd): Promise<void> {
    this.#workers.get(agent)?.settle(ok ? { value: output } : { error: new Error(output) });
    this.#workers.delete(agent);
    await promisesSettled();
  }

  check(): void {
    for (const { halt } of [this.#task, ...[...this.#workers.values()].map(({ task }) => task)])
      if (halt !== undefined) this.#record.halt(halt.message, halt.code);
  }
}
