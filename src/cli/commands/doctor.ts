/** The command `switchgear doctor`: checks that hooks, proxies and gateways are installed, decide, and block a call. */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { SwitchgearError } from '../../core/error.ts';
import { hookTimeoutMs } from '../../core/limits.ts';
import type { Settings } from '../../core/settings.ts';
import type { HostName } from '../../hooks/hosts/hook-event.ts';
import { hosts } from '../../hooks/hosts/index.ts';
import { findHooks, guardEvent, requiredEvents } from '../../hooks/install/settings-files.ts';
import { readWrittenPolicy } from '../../policy/file/written-policy.ts';
import { type Command, exitCodes, type ParsedArgs, readArgs, type Terminal, verbError } from '../command.ts';
import { gatewayClients } from '../gateway/clients/gateway-clients.ts';
import { clientNames as mcpClientNames } from '../mcp/clients/client-files.ts';
import { describePolicy } from '../policy/describe-policy.ts';
import { placeOfCommand } from '../policy/load-policy.ts';
import { loadPolicyInForce, type PolicyInForce } from '../policy/policy-in-force.ts';
import { findStoreAddress, withStore } from '../store-option.ts';
import { findHookSwitches, type HostSettingsFile, listSettingsFiles } from './doctor-settings.ts';
import { codexHaltNote, findHomes } from './init.ts';

/** Everything that can be checked: hosts of hooks, and MCP clients. */
const clientNames: readonly string[] = [...new Set([...Object.keys(hosts), ...mcpClientNames, ...gatewayClients])];

export const command: Command = {
  usage: [
    'doctor [CLIENT] [--mcp|--gateway] check that hooks, proxies and gateways are installed, decide, and block a call',
  ],
  details: [
    '',
    'Reads every settings file of the agent, and the policy in force here. Runs the installed hook command with one',
    'call more than a limit allows, with that policy and in a temporary store. --real also starts the agent itself',
    '(Claude Code and Codex) with a scripted model on this machine, and checks that a refused call does not run. A',
    'policy that refuses nothing is a problem, unless you gave it by --policy or trust it.',
    '',
    'Starts every proxy in the configuration of an MCP client, in a temporary store and before a server of its own,',
    'and checks that a failing tool is not reached a sixth time. --mcp checks the proxies alone, and also that of this',
    `installation if no client uses one. CLIENT is one of ${clientNames.join(', ')}.`,
    '',
    'For a client that is led to a gateway on this machine, asks whether the gateway answers, and sends two real calls',
    'through a gateway with the policy in force, in a temporary store: the second one is beyond a limit and must be',
    'refused as the client understands it. --gateway checks this alone, for all clients if none is led to a gateway.',
    'Exit codes: 0 no problem found, 1 a problem found.',
  ],
  async run(args, terminal) {
    const parsedArgs = readArgs(args, ['--real', '--mcp', '--gateway'], 1, ['--store', '--policy']);
    const [name] = parsedArgs.positionals;
    if (name !== undefined && !clientNames.includes(name)) throw verbError('doctor', clientNames, name);
    const isGatewayOnly = parsedArgs.switches.has('--gateway') || name === 'opencode';
    const isProxyOnly =
      !isGatewayOnly && (parsedArgs.switches.has('--mcp') || (name !== undefined && !Object.hasOwn(hosts, name)));
    const hostArg = isProxyOnly || isGatewayOnly ? undefined : (name as HostName | undefined);
    const hostNames =
      isProxyOnly || isGatewayOnly ? [] : hostArg === undefined ? (Object.keys(hosts) as HostName[]) : [hostArg];
    const address = findStoreAddress(parsedArgs, terminal);
    const findings: Finding[] = [{ ok: true, message: `Node ${process.versions.node}` }];
    try {
      await withStore(address, async () => {});
      findings.push({ ok: true, message: `the store ${address.name} answers` });
    } catch (error) {
      if (!(error instanceof SwitchgearError)) throw error;
      findings.push({ ok: false, message: `${error.message}: every call is refused until it can be used` });
    }
    const judged = await judgePolicy(parsedArgs.values.get('--policy'), parsedArgs, terminal);
    findings.push(...judged.findings);
    for (const host of hostNames) {
      const { isInstalled, findings: hostFindings } = await checkHost(
        host,
        hostArg !== undefined,
        parsedArgs,
        terminal,
      );
      findings.push(...hostFindings);
      if (!isInstalled) continue;
      const program = findMissingProgram(host, terminal);
      const isReal = parsedArgs.switches.has('--real') && host !== 'gemini';
      if (program !== undefined)
        findings.push({
          ok: !isReal,
          isNote: !isReal,
          message: `${host}: ${program} is not on PATH${isReal ? ': the real program cannot be tested' : ''}`,
        });
      if (program !== undefined || !parsedArgs.switches.has('--real')) continue;
      const { testRealAgent } = await import('./doctor-real.ts');
      findings.push(await testRealAgent(host, terminal));
    }
    const { refuses } = judged;
    if (!isGatewayOnly) {
      const { checkProxies } = await import('./doctor-mcp.ts');
      const options = { client: name, isAsked: isProxyOnly, refuses };
      findings.push(...(await checkProxies(options, findHomes(terminal), terminal)));
    }
    if (!isProxyOnly) {
      const { checkGateway } = await import('./doctor-gateway.ts');
      const options = { client: name, isAsked: isGatewayOnly, refuses, policy: parsedArgs.values.get('--policy') };
      findings.push(...(await checkGateway(options, findHomes(terminal), terminal)));
    }
    for (const { ok, isNote, message } of findings)
      terminal.out(`${isNote ? 'note ' : ok ? 'ok   ' : 'FAIL '} ${message}`);
    return findings.every(({ ok }) => ok) ? exitCodes.ok : exitCodes.error;
  },
};

/** A line of the report. */
export interface Finding {
  readonly ok: boolean;
  /** Whether the message is worth knowing, and neither a check nor a problem. */
  readonly isNote?: boolean;
  readonly message: string;
}

const programs: Readonly<Record<HostName, string>> = { 'claude-code': 'claude', codex: 'codex', gemini: 'gemini' };

/** The program of a host, if it is not on the PATH. */
function findMissingProgram(host: HostName, { env }: Terminal): string | undefined {
  const program = programs[host];
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.some((folder) => existsSync(join(folder, program))) ? undefined : program;
}

interface HostCheck {
  readonly isInstalled: boolean;
  readonly findings: readonly Finding[];
}

/** Judges a policy as a hook in this folder takes it: is it valid, where does it come from, does it refuse anything? */
async function judgePolicy(
  policyOption: string | undefined,
  parsedArgs: ParsedArgs,
  terminal: Terminal,
): Promise<{ readonly findings: readonly Finding[]; readonly refuses: boolean }> {
  let inForce: PolicyInForce;
  try {
    inForce = await loadPolicyInForce(policyOption, terminal, placeOfCommand(terminal, parsedArgs));
  } catch (error) {
    if (!(error instanceof SwitchgearError)) throw error;
    const message = `${error.message}: every call is refused until it can be read`;
    return { findings: [{ ok: false, message }], refuses: true };
  }
  const findings: Finding[] = [{ ok: true, message: describePolicy(inForce) }];
  for (const { message } of inForce.loosened) findings.push({ ok: true, message });
  const off = findDisarmed(inForce.policy.settings);
  const isGiven = inForce.origin === 'option' || inForce.origin === 'variable' || inForce.trust !== undefined;
  const isByVariable = inForce.loosened.some(({ path }) => path === 'mode');
  if (off !== undefined && isGiven && !isByVariable)
    findings.push({ ok: true, message: `${off}, as you said: ${inForce.file}` });
  else if (off !== undefined) findings.push({ ok: false, message: off });
  else if (inForce.waiting.length > 0) {
    const { policy: written } = readWrittenPolicy(policyOption, terminal);
    const wish = findDisarmed(written.settings);
    if (wish !== undefined)
      findings.push({
        ok: false,
        message: `${inForce.file} would switch protection off, and waits for trust: ${wish}`,
      });
  }
  return { findings, refuses: off === undefined };
}

/** Why a policy refuses next to nothing. */
function findDisarmed({ mode, circuitBreaker, loop }: Settings): string | undefined {
  if (mode === 'observe') return 'mode is "observe": nothing is refused';
  if (circuitBreaker.mode !== 'enforce' && !loop.enabled)
    return `circuit_breaker.mode is "${circuitBreaker.mode}" and loop.enabled is false: only budgets are left`;
  return undefined;
}

async function checkHost(
  host: HostName,
  isNamed: boolean,
  parsedArgs: ParsedArgs,
  terminal: Terminal,
): Promise<HostCheck> {
  const files = listSettingsFiles(host, findHomes(terminal));
  const read = files.map((file) => ({ file, ...readHooks(file.path, host), ...readSwitches(host, file) }));
  const hooked = read.filter(({ hooks }) => hooks !== undefined);
  const unreadable = read.flatMap(({ file, problem }) =>
    problem === undefined ? [] : [{ ok: false, message: `${host}: ${file.path}: ${problem}` }],
  );
  if (hooked.length === 0 && unreadable.length === 0) {
    const message = `${host}: no Switchgear hooks; switchgear init ${host} installs them`;
    return { isInstalled: false, findings: [{ ok: !isNamed, isNote: !isNamed, message }] };
  }
  const findings: Finding[] = [...unreadable];
  for (const { file, hooks } of hooked)
    findings.push(...(await checkInstalledHooks(host, file.path, hooks!, parsedArgs, terminal)));
  for (const { file, switches } of read) {
    if (switches.length === 0) continue;
    const message = `${host}: ${file.path} sets ${switches.join(', ')}: the host runs no hooks, so nothing is checked`;
    findings.push({ ok: false, message });
  }
  return { isInstalled: hooked.length > 0, findings };
}

function readSwitches(host: HostName, file: HostSettingsFile): { readonly switches: readonly string[] } {
  try {
    return { switches: findHookSwitches(host, file) };
  } catch {
    return { switches: [] }; // `readHooks` reports the file, if it holds hooks.
  }
}

type Hooks = ReturnType<typeof findHooks>;

function readHooks(path: string, host: HostName): { readonly hooks?: Hooks; readonly problem?: string } {
  if (path.endsWith('.toml')) return {};
  try {
    const hooks = findHooks(readFileSync(path, 'utf8'), host);
    return hooks.size === 0 ? {} : { hooks };
  } catch (error) {
    return { problem: `cannot read the file: ${(error as Error).message}` };
  }
}

async function checkInstalledHooks(
  host: HostName,
  path: string,
  hooks: Hooks,
  parsedArgs: ParsedArgs,
  terminal: Terminal,
): Promise<readonly Finding[]> {
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
  if (guard?.command !== undefined) {
    const policyOption = readPolicyOption(guard.command);
    const judged = await judgePolicy(policyOption, parsedArgs, terminal);
    if (policyOption !== undefined) findings.push(...judged.findings);
    findings.push(testHookCommand(host, guard.command, judged.refuses, terminal));
  }
  if (host === 'codex') {
    const message = 'codex: runs trusted hooks only; enter /hooks in codex to check that these are trusted';
    findings.push({ ok: true, message }, { ok: true, message: `codex: ${codexHaltNote}` });
  }
  return findings;
}

/** Reads `--policy` of an installed command line, which `init` quotes for the shell. */
function readPolicyOption(line: string): string | undefined {
  const [, quoted, plain] = / --policy (?:'((?:[^']|'\\'')*)'|(\S+))/.exec(line) ?? [];
  return quoted?.replaceAll(`'\\''`, "'") ?? plain;
}

/**
 * Runs the installed command as the host does in this folder, with the policy in force, on a call that must be refused
 * and on one that must not.
 */
function testHookCommand(host: HostName, line: string, refuses: boolean, terminal: Terminal): Finding {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-doctor-'));
  try {
    const commandLine = line.replace(/ --store ('(?:[^']|'\\'')*'|\S+)/g, '');
    const { cwd } = terminal;
    const event = { session_id: 'doctor', cwd, hook_event_name: guardEvent[host], permission_mode: 'default' };
    const call = { ...event, tool_name: 'doctor_probe', tool_input: {} };
    const own = { SWITCHGEAR_STORE: `sqlite:${join(folder, 'state.db')}`, SWITCHGEAR_TASK: '', SWITCHGEAR_SESSION: '' };
    const project = { CLAUDE_PROJECT_DIR: cwd, GEMINI_PROJECT_DIR: cwd, SWITCHGEAR_TASK_MAX_TOOL_CALLS: '1' };
    const send = (id: string) =>
      spawnSync('/bin/sh', ['-c', commandLine], {
        cwd,
        env: { ...terminal.env, ...own, ...project },
        input: JSON.stringify({ ...call, tool_use_id: id }),
        encoding: 'utf8',
        timeout: hookTimeoutMs,
      });
    const first = send('one');
    // A rule of the policy may refuse every call, or ask.
    const isRefused = isDenied(host, first.stdout) && !/could not decide/.test(first.stdout);
    if (isRefused) return { ok: true, message: `${host}: the installed hook refuses a call by a rule of the policy` };
    if (first.status !== 0 || first.stdout !== '') {
      const exit = first.status === null ? `no answer within ${hookTimeoutMs / 1000} s` : `exit code ${first.status}`;
      const why = first.stderr.trim() || readSystemMessage(first.stdout) || first.stdout.trim() || exit;
      return { ok: false, message: `${host}: an allowed call did not pass: ${why.slice(0, 300)}` };
    }
    const second = send('two');
    if (isDenied(host, second.stdout))
      return { ok: true, message: `${host}: the installed hook allows a first call and refuses one beyond the limit` };
    if (!refuses && second.stdout === '')
      return { ok: true, message: `${host}: the installed hook answers, and refuses nothing, as the policy says` };
    return { ok: false, message: `${host}: a call beyond the limit was not refused: ${second.stdout.slice(0, 300)}` };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The sentence of a hook whose installation is gone. */
function readSystemMessage(stdout: string): string | undefined {
  try {
    const { systemMessage } = JSON.parse(stdout) as { readonly systemMessage?: unknown };
    return typeof systemMessage === 'string' ? systemMessage : undefined;
  } catch {
    return undefined; // The output of another program.
  }
}

function isDenied(host: HostName, stdout: string): boolean {
  try {
    const answer = JSON.parse(stdout) as {
      readonly decision?: string;
      readonly hookSpecificOutput?: { readonly permissionDecision?: string };
    };
    const decision = host === 'gemini' ? answer.decision : answer.hookSpecificOutput?.permissionDecision;
    return decision === 'deny' || decision === 'ask';
  } catch {
    return false;
  }
}
