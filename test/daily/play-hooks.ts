/** Plays a story to the hooks of Claude Code. Each event has a gear of its own, as each hook is a process. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Settings } from '../../src/core/settings.ts';
import { assembleSwitchgear, runtimeOf } from '../../src/guard/internal.ts';
import { handleEvent } from '../../src/hooks/handle-event.ts';
import { claudeCode } from '../../src/hooks/hosts/claude-code.ts';
import type { OwnTargets } from '../../src/platform/self-protection/own-files.ts';
import { systemClock } from '../../src/platform/system-clock.ts';
import { checkPolicy } from '../../src/policy/check/check-policy.ts';
import type { CrossProcessStore } from '../../src/ports/store.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';
import {
  driveStory,
  type PlayedAgent,
  type PlayedCall,
  type PlayedEnd,
  type PlayedTurn,
  type Surface,
} from './drive.ts';
import { toolResponse } from './hook-payloads.ts';
import { makeAgentInput } from './play-run.ts';
import { type Player, Recorder } from './played.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What Claude Code reads of the answer of a hook. */
interface HookOutput {
  readonly continue?: boolean;
  readonly stopReason?: string;
  readonly hookSpecificOutput?: {
    readonly permissionDecision?: string;
    readonly permissionDecisionReason?: string;
    readonly additionalContext?: string;
  };
}

export const playHooks: Player = async (story, options) => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-daily-'));
  const clock = simulatedClock();
  const store = sqliteStore({ path: join(folder, 'state.db'), verify: false, skipCheckpoint: true, clock });
  try {
    const record = new Recorder();
    const { settings } = checkPolicy({ preset: options.preset ?? 'coding', journal: { level: 'all' } });
    const surface = new HookEvents(record, store as CrossProcessStore, settings);
    await driveStory(story, options, { clock, record, surface });
    return record.played;
  } finally {
    store.close();
    // A worker of the store may still close its files.
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 });
  }
};

/** What a hook protects, on a machine where nothing of it exists. */
const ownTargets: OwnTargets = {
  files: ['/workspace/switchgear.toml', '/workspace/.claude/settings.json', '/workspace/home/.claude/settings.json'],
  folders: ['/workspace/home/.local/state/switchgear'],
  code: ['/usr/local/lib/node_modules/switchgear/dist'],
  programs: ['/usr/local/lib/node_modules/switchgear/bin/switchgear.cjs'],
  cwd: '/workspace',
  env: { HOME: '/workspace/home' },
  listProcesses: () => [],
};

class HookEvents implements Surface {
  readonly #record: Recorder;
  readonly #store: CrossProcessStore;
  readonly #settings: Settings;
  readonly #types = new Map<string, string>();
  #refusedBy: string | undefined;
  /** The questions that the last hook has opened. */
  #questions: readonly string[] = [];

  constructor(record: Recorder, store: CrossProcessStore, settings: Settings) {
    this.#record = record;
    this.#store = store;
    this.#settings = settings;
  }

  /** Runs one hook, as `runHook` does, and reads its answer as Claude Code does. */
  async #send(hook_event_name: string, agent: string | undefined, fields: Fields = {}): Promise<HookOutput> {
    const store = this.#store;
    const from = agent === undefined ? {} : { agent_id: agent, agent_type: this.#types.get(agent) };
    const permission_mode = 'bypassPermissions';
    const payload = { session_id: 'daily', cwd: '/workspace', permission_mode, ...from, hook_event_name, ...fields };
    // Without rules, the settings are all of a policy; to check a policy again for each event takes long.
    const gear = assembleSwitchgear(
      { agent: claudeCode.name, session: 'daily', store, env: {}, project: 'daily', log: 'silent' },
      {
        ...{ settings: () => this.#settings, layer: 'hook', publishTasks: false },
        ...{ haltActions: ['replan', 'dismiss'], limitQuestions: 'at calls' },
      },
    );
    const questions: string[] = [];
    this.#questions = questions;
    this.#record.watchCards(gear, (id) => questions.push(id));
    gear.on('action-refused', ({ decision: { verdict } }) => {
      if ('code' in verdict) this.#refusedBy = verdict.code;
    });
    const event = claudeCode.read(payload);
    const { name, reportsTurns, inputEdits } = claudeCode;
    const isAttended = claudeCode.isAttended(payload, {});
    const session = { conversationKey: 'daily', session: 'daily', agent: name, isReportedByRun: false };
    const host = { reportsTurns, isAttended, ownTargets, ...(inputEdits && { inputEdits }) };
    // Nobody answers while the hook waits; a file that is busy for a moment is tried again.
    const untilMs = systemClock.nowMs() + 200;
    const decision = await handleEvent({ runtime: runtimeOf(gear), store, untilMs, ...session, ...host }, event);
    const output = (claudeCode.answer(event, decision).stdout ?? {}) as HookOutput;
    // Claude Code does not read this field after a failed call.
    if (output.continue === false && hook_event_name !== 'PostToolUseFailure') {
      const code = 'halt' in decision ? decision.halt?.stop.code : undefined;
      this.#record.halt(output.stopReason ?? '', code);
    }
    const hint = output.hookSpecificOutput?.additionalContext;
    if (hint !== undefined) this.#record.hint(hint);
    for (const id of questions) gear.cards.answer(id, 'decline', 'daily');
    return output;
  }

  /** Proposes a call; returns whether it may run. */
  async #propose(agent: string | undefined, fields: Fields): Promise<boolean> {
    const { continue: goesOn, hookSpecificOutput = {} } = await this.#send('PreToolUse', agent, fields);
    const { permissionDecision: answer, permissionDecisionReason: reason = '' } = hookSpecificOutput;
    if (answer === 'ask') this.#record.ask(reason);
    const isAsked = this.#questions.length > 0;
    if (answer === 'deny' && goesOn !== false && !isAsked) this.#record.refuse(reason, this.#refusedBy);
    return answer !== 'ask' && answer !== 'deny';
  }

  async prompt(prompt: string): Promise<void> {
    await this.#send('UserPromptSubmit', undefined, { prompt });
  }

  async answer({ agent, calls }: PlayedTurn): Promise<readonly PlayedCall[]> {
    const running: PlayedCall[] = [];
    for (const call of calls) {
      if (this.#record.isHalted) break;
      if (await this.#propose(agent, nameCall(call))) running.push(call);
    }
    return running;
  }

  async callEnded(call: PlayedCall): Promise<void> {
    const duration_ms = Math.round(call.secs * 1000);
    if (call.ok) {
      await this.#send('PostToolUse', call.agent, {
        ...{ ...nameCall(call), tool_response: toolResponse(call), duration_ms },
      });
    } else {
      const failure = { error: call.output, is_interrupt: false, duration_ms };
      await this.#send('PostToolUseFailure', call.agent, { ...nameCall(call), ...failure });
    }
  }

  async turnEnded({ agent, calls }: PlayedTurn): Promise<void> {
    const tool_calls = calls.map((call) => ({ ...nameCall(call), tool_response: call.output }));
    await this.#send('PostToolBatch', agent, { tool_calls });
  }

  async start(agents: readonly PlayedAgent[]): Promise<readonly PlayedAgent[]> {
    const started: PlayedAgent[] = [];
    for (const each of agents) if (await this.#propose(undefined, nameAgent(each))) started.push(each);
    for (const { agent, type } of started) {
      this.#types.set(agent, type);
      if (!this.#record.isHalted) await this.#send('SubagentStart', agent);
    }
    return started;
  }

  async end(end: PlayedEnd): Promise<void> {
    const { agent, type: agentType, task: prompt, output, ok } = end;
    await this.#send('SubagentStop', agent, { stop_hook_active: false, last_assistant_message: output });
    const content = [{ type: 'text', text: output }];
    const response = { status: 'completed', prompt, agentId: agent, agentType, content };
    if (ok) await this.#send('PostToolUse', undefined, { ...nameAgent(end), tool_response: response });
    else await this.#send('PostToolUseFailure', undefined, { ...nameAgent(end), error: output, is_interrupt: false });
    if (!this.#record.isHalted) await this.#send('PostToolBatch', undefined, { tool_calls: [] });
  }

  async rest(): Promise<void> {
    await this.#send('Stop', undefined, { stop_hook_active: false, background_tasks: [] });
  }
}

function nameCall({ id, tool, input }: PlayedCall): Fields {
  return { tool_name: tool, tool_input: input, tool_use_id: id };
}

function nameAgent({ id, task, type }: PlayedAgent): Fields {
  return { tool_name: 'Agent', tool_input: makeAgentInput(task, type), tool_use_id: id };
}
