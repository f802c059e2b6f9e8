/** The hosts that have hooks, by name. */

import { claudeCode } from './claude-code.ts';
import { codex } from './codex.ts';
import { gemini } from './gemini.ts';
import type { HookHost, HostName } from './hook-event.ts';

export const hosts: Readonly<Record<HostName, HookHost>> = { 'claude-code': claudeCode, codex, gemini };

export function findHost(name: string | undefined): HookHost | undefined {
  return name !== undefined && Object.hasOwn(hosts, name) ? hosts[name as HostName] : undefined;
}
