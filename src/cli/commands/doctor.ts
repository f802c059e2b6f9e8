/** The command `switchgear doctor`: checks that the hooks of an agent CLI are installed, decide, and block a call. */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SwitchgearError } from '../../core/error.ts';
import { webhookTimeoutMs } from '../../core/limits.ts';
import type { HostName } from '../../hooks/hosts/hook-event.ts';
import { hosts } from '../../hooks/hosts/index.ts';
import { findHooks, guardEvent, requiredEvents, settingsPath } from '../../hooks/install/settings-files.ts';
import { type Command, exitCodes, readArgs, type Terminal, verbError } from '../command.ts';
import { findStoreAddress, withStore } from '../store-option.ts';
import { codexHaltNote, findHomes } from './init.ts';

export const command: Command = {
  usage: ['doctor [claude-code|codex|gemini]  check that hooks are installed, decide, and block a call'],
  details: [
    '',
    'Runs the installed hook command with one call more than a limit allows, in a temporary store. --real also starts',
    'the agent itself (Claude Code and Codex) with a scripted model on this machine, and checks that a refused call',
    'does not run. Exit codes: 0 no problem found, 1 a problem found.',
  ],
  async run(args, terminal) {
    const parsedArgs = readArgs(args, ['--real'], 1, ['--store']);
    const [hostArg] = parsedArgs.positionals;
    if (hostArg !== undefined && !Object.hasOwn(hosts, hostArg)) {
      throw verbError('doctor', Object.keys(hosts), hostArg);
    }
    const hostNames = hostArg === undefined ? (Object.keys(hosts) as HostName[]) : [hostArg as HostName];
    const address = findStoreAddress(parsedArgs, terminal);
    const findings: Finding[] = [{ ok: true, message: `Node ${process.versions.node}` }];
    try {
      await withStore(address, async () => {});
      findings.push({ ok: true, message: `the store ${address.name} answers` });
    } catch (error) {
      if (!(error instanceof SwitchgearError)) throw error;
      findings.push({ ok: false, message: `${error.message}: every call is refused until it can be used` });
    }
    for (const host of hostNames) {
      const { isInstalled, findings: hostFindings } = checkHost(host, hostArg !== undefined, terminal);
      findings.push(...hostFindings);
      if (!isInstalled || !parsedArgs.switches.has('--real')) continue;
      const { testRealAgent } = await import('./doctor-real.ts');
      findings.push(await testRealAgent(host, terminal));
    }
    for (const { ok, message } of findings) terminal.out(`${ok ? 'ok   ' : 'FAIL '} ${message}`);
    return findings.every(({ ok }) => ok) ? exitCodes.ok : exitCodes.error;
  },
};

interface Finding {
  readonly ok: boolean;
  readonly message: string;
}

interface HostCheck {
  readonly isInstalled: boolean;
  readonly findings: readonly Finding[];
}

function checkHost(host: HostName, isNamed: boolean, terminal: Terminal): HostCheck {
  const homes = findHomes(terminal);
  const both = [settingsPath(host, false, homes), settingsPath(host, true, homes)];
  const paths = [...new Set(both)].filter((path) => existsSync(path));
  const settingsFiles = paths
    .map((path) => ({ path, ...readHooks(path, host) }))
    .filter(({ problem, hooks }) => problem || hooks);
  if (settingsFiles.length === 0) {
    const message = `${host}: no Switchgear hooks; switchgear init ${host} installs them`;
    return { isInstalled: false, findings: [{ ok: !isNamed, message }] };
  }
  const hookFindings = settingsFiles.flatMap(({ path, problem, hooks }) =>
    hooks === undefined
      ? [{ ok: false, message: `${host}: ${path}: ${problem}` }]
      : checkInstalledHooks(host, path, hooks, terminal),
  );
  return { isInstalled: settingsFiles.some(({ hooks }) => hooks !== undefined), findings: hookFindings };
}

type Hooks = ReturnType<typeof findHooks>;

function readHooks(path: string, host: HostName): { readonly hooks?: Hooks; readonly problem?: string } {
  try {
    const hooks = findHooks(readFileSync(path, 'utf8'), host);
    return hooks.size === 0 ? {} : { hooks };
  } catch (error) {
    return { problem: `cannot read the file: ${(error as Error).message}` };
  }
}

function checkInstalledHooks(host: HostName, path: string, hooks: Hooks, terminal: Terminal): readonly Finding[] {
  const missing = requiredEvents(host).filter((event) => !hooks.has(event));
  const guard = hooks.get(guardEvent[host]);
  const findings: Finding[] = [
    missing.length === 0
      ? { ok: true, message: `${host}: ${path} has hooks for all ${hooks.size} events` }
      : {
          ok: false,
          message: `${host}: ${path} lacks hooks for ${missing.join(', ')}; switchgear init ${host} repairs it`,
        },
  ];
  if (host === 'claude-code' && guard !== undefined && guard.onFailure !== 'block') {
    findings.push({
      ok: false,
      message: `${host}: a failing hook lets the call run; switchgear init ${host} repairs it`,
    });
  }
  if (guard?.command !== undefined) findings.push(testHookCommand(host, guard.command, terminal));
  if (host === 'codex') {
    const message = 'codex: runs trusted hooks only; enter /hooks in codex to check that these are trusted';
    findings.push({ ok: true, message }, { ok: true, message: `codex: ${codexHaltNote}` });
  }
  return findings;
}

/** Runs the installed command as the host does, on a call that must be refused and on one that must not. */
function testHookCommand(host: HostName, line: string, terminal: Terminal): Finding {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-doctor-'));
  try {
    const commandLine = line.replace(/ --(store|policy) ('[^']*'|\S+)/g, '');
    const event = { session_id: 'doctor', cwd: folder, hook_event_name: guardEvent[host], permission_mode: 'default' };
    const call = { ...event, tool_name: 'doctor_probe', tool_input: {} };
    const env = { ...terminal.env, SWITCHGEAR_STORE: `sqlite:${join(folder, 'state.db')}`, SWITCHGEAR_TASK: '' };
    const limit = { SWITCHGEAR_TASK_MAX_TOOL_CALLS: '1', SWITCHGEAR_SESSION: '', SWITCHGEAR_MODE: 'enforce' };
    const project = { CLAUDE_PROJECT_DIR: folder, GEMINI_PROJECT_DIR: folder };
    const send = (id: string) =>
      spawnSync('/bin/sh', ['-c', commandLine], {
        cwd: folder,
        env: { ...env, ...limit, ...project },
        input: JSON.stringify({ ...call, tool_use_id: id }),
        encoding: 'utf8',
        timeout: webhookTimeoutMs,
      });
    const first = send('one');
    if (first.status !== 0 || first.stdout !== '') {
      const why = first.stderr.trim() || first.stdout.trim() || `exit code ${first.status}`;
      return { ok: false, message: `${host}: an allowed call did not pass: ${why.slice(0, 300)}` };
    }
    const second = send('two');
    return isDenied(host, second.stdout)
      ? { ok: true, message: `${host}: the installed hook allows a first call and refuses one beyond the limit` }
      : { ok: false, message: `${host}: a call beyond the limit was not refused: ${second.stdout.slice(0, 300)}` };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function isDenied(host: HostName, stdout: string): boolean {
  try {
    const answer = JSON.parse(stdout) as {
      readonly decision?: string;
      readonly hookSpecificOutput?: { readonly permissionDecision?: string };
    };
    return (host === 'gemini' ? answer.decision : answer.hookSpecificOutput?.permissionDecision) === 'deny';
  } catch {
    return false;
  }
}
