/** The hooks of each host, the location of its settings, and how hooks are added to and removed from them. */

import { join } from 'node:path';
import { SwitchgearError } from '../../core/error.ts';
import type { HostName } from '../hosts/hook-event.ts';
import type { SettingsFolders } from '../hosts/settings-paths.ts';
import { insertPart, type JsonNode, parseJsonTree, removePart } from './json-edit.ts';

export interface HandlerOptions {
  /** The command line up to `hook` and what comes after it, or the address of a server. */
  readonly run: { readonly command: string; readonly more: string } | { readonly url: string };
  readonly timeoutSecs: number;
}

const events: Readonly<Record<HostName, readonly string[]>> = {
  'claude-code': [
    ...['UserPromptSubmit', 'PreToolUse', 'PostToolUse', 'PostToolUseFailure', 'PostToolBatch'],
    ...['SubagentStart', 'SubagentStop', 'Stop', 'SessionEnd'],
  ],
  codex: ['UserPromptSubmit', 'PreToolUse', 'PostToolUse', 'SubagentStart', 'SubagentStop', 'Stop', 'SessionEnd'],
  gemini: ['BeforeAgent', 'BeforeTool', 'AfterTool', 'AfterAgent', 'SessionEnd'],
};

/** The event in which a call can be refused. */
export const guardEvent: Readonly<Record<HostName, string>> = {
  'claude-code': 'PreToolUse',
  codex: 'PreToolUse',
  gemini: 'BeforeTool',
};

/** The longest time that Codex allows at the end of a session. */
const codexEndSecs = 3;

export function settingsPath(host: HostName, isProject: boolean, { home, project, env }: SettingsFolders): string {
  switch (host) {
    case 'claude-code':
      return isProject
        ? join(project, '.claude', 'settings.json')
        : join(env.CLAUDE_CONFIG_DIR || join(home, '.claude'), 'settings.json');
    case 'codex':
      return isProject
        ? join(project, '.codex', 'hooks.json')
        : join(env.CODEX_HOME || join(home, '.codex'), 'hooks.json');
    case 'gemini':
      return join(isProject ? project : env.GEMINI_CLI_HOME || home, '.gemini', 'settings.json');
  }
}

/** One handler, which fails closed if the host supports it. */
function makeHandler(host: HostName, event: string, { run, timeoutSecs }: HandlerOptions): object {
  const action =
    'url' in run
      ? { type: 'http', url: run.url }
      : { type: 'command', command: `${run.command} hook ${host}${run.more}` };
  switch (host) {
    case 'claude-code':
      return { ...action, timeout: timeoutSecs, ...(event === guardEvent[host] && { onFailure: 'block' }) };
    case 'codex':
      return { ...action, timeout: event === 'SessionEnd' ? codexEndSecs : timeoutSecs };
    case 'gemini':
      return { name: 'switchgear', ...action, timeout: timeoutSecs * 1000 };
  }
}

/** Returns the settings with the hooks of Switchgear added and everything else unchanged. */
export function insertHookHandlers(text: string, host: HostName, plan: HandlerOptions): string {
  let next = removeHookHandlers(text, host);
  for (const event of events[host]) {
    const group = { hooks: [makeHandler(host, event, plan)] };
    const root = parseJsonTree(next);
    const hooks = findPart(root, 'hooks');
    const list = hooks && findPart(hooks, event);
    if (hooks === undefined) next = insertPart(next, root, 'hooks', { [event]: [group] });
    else if (list === undefined) next = insertPart(next, hooks, event, [group]);
    else next = insertPart(next, list, undefined, group);
  }
  return next;
}

/** Returns the settings without the hooks of Switchgear, and without lists that become empty. */
export function removeHookHandlers(text: string, host: HostName): string {
  let next = text.trim() === '' ? '{}\n' : text;
  for (;;) {
    const root = parseJsonTree(next);
    if (typeof root.value !== 'object' || root.value === null || Array.isArray(root.value)) {
      throw new SwitchgearError('invalid_json', 'the file must contain one JSON object');
    }
    const hooks = root.parts.find(({ key }) => key === 'hooks');
    const shorter = hooks && removeFirstHook(next, root, hooks, host);
    if (shorter === undefined) return next;
    next = shorter;
  }
}

function removeFirstHook(
  text: string,
  root: JsonNode,
  hooks: JsonNode['parts'][number],
  host: HostName,
): string | undefined {
  for (const list of hooks.parts) {
    const group = list.parts.find(({ value }) => isSwitchgearGroup(value, host));
    if (group === undefined) continue;
    if (list.parts.length > 1) return removePart(text, list, group);
    return hooks.parts.length > 1 ? removePart(text, hooks, list) : removePart(text, root, hooks);
  }
  return undefined;
}

function findPart({ parts }: JsonNode, name: string): JsonNode | undefined {
  return parts.find(({ key }) => key === name);
}

/** Whether a group contains only handlers of Switchgear. */
function isSwitchgearGroup(group: unknown, host: HostName): boolean {
  const { hooks } = (group ?? {}) as { readonly hooks?: unknown };
  return Array.isArray(hooks) && hooks.length > 0 && hooks.every((each) => isSwitchgearHandler(each, host));
}

function isSwitchgearHandler(each: unknown, host: HostName): boolean {
  const { command, url } = (each ?? {}) as { readonly command?: unknown; readonly url?: unknown };
  if (typeof url === 'string') return url.endsWith(`/hooks/${host}`);
  return typeof command === 'string' && /switchgear/.test(command) && new RegExp(` hook ${host}\\b`).test(command);
}

/** The command lines of Switchgear's hooks in the settings, by event. */
export function findHooks(
  text: string,
  host: HostName,
): ReadonlyMap<string, { readonly command?: string; readonly onFailure?: string }> {
  const { hooks = {} } = parseJsonTree(text).value as { readonly hooks?: Readonly<Record<string, unknown>> };
  const handlerByEvent = new Map<string, object>();
  for (const [event, groups] of Object.entries(hooks)) {
    const handlers = (Array.isArray(groups) ? groups : []).flatMap(({ hooks: each }) =>
      Array.isArray(each) ? each : [],
    );
    const ours = handlers.find((each) => isSwitchgearHandler(each, host));
    if (ours !== undefined) handlerByEvent.set(event, ours as object);
  }
  return handlerByEvent;
}

export function requiredEvents(host: HostName): readonly string[] {
  return events[host];
}
