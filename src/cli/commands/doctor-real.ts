/** Tests the hooks of a real agent with a scripted model: the first call must run, the second must not. */

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hookTimeoutMs } from '../../core/limits.ts';
import type { HostName } from '../../hooks/hosts/hook-event.ts';
import { startScriptedModel } from '../../hooks/install/scripted-model.ts';
import type { Terminal } from '../command.ts';

export async function testRealAgent(
  host: HostName,
  terminal: Terminal,
): Promise<{ readonly ok: boolean; readonly message: string }> {
  if (host === 'gemini')
    return { ok: true, message: 'gemini: not tested with the real program, which cannot use another model server' };
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-doctor-'));
  const model = await startScriptedModel(['echo one > one', 'echo two > two']);
  try {
    const [program, args, env] = makeAgentCommand(host, model.url);
    const own = { SWITCHGEAR_STORE: `sqlite:${join(folder, 'state.db')}`, SWITCHGEAR_TASK: '', SWITCHGEAR_SESSION: '' };
    const limit = { SWITCHGEAR_TASK_MAX_TOOL_CALLS: '1', SWITCHGEAR_MODE: 'enforce' };
    const output = await runProgram(program, args, folder, { ...terminal.env, ...own, ...limit, ...env });
    const [one, two] = ['one', 'two'].map((name) => existsSync(join(folder, name)));
    if (one && !two)
      return { ok: true, message: `${host}: the real program ran the first call and did not run the second` };
    if (two) return { ok: false, message: `${host}: the real program ran a refused call: it does not run its hooks` };
    const why = output.trim().split('\n').at(-1)?.slice(0, 300) ?? '';
    return { ok: false, message: `${host}: the real program ran no call: ${why}` };
  } finally {
    model.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function makeAgentCommand(host: 'claude-code' | 'codex', url: string): [string, readonly string[], Terminal['env']] {
  if (host === 'claude-code') {
    const quiet = { DISABLE_TELEMETRY: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' };
    const env = { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'doctor', ...quiet };
    return ['claude', ['-p', 'switchgear doctor', '--allowedTools', 'Bash'], env];
  }
  const provider = `{name="doctor",base_url="${url}/v1",wire_api="responses",env_key="SWITCHGEAR_DOCTOR_KEY"}`;
  const config = ['-c', 'model_provider="doctor"', '-c', `model_providers.doctor=${provider}`, '-c', 'model="probe"'];
  const free = ['--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'];
  return ['codex', ['exec', ...config, ...free, 'switchgear doctor'], { SWITCHGEAR_DOCTOR_KEY: 'doctor' }];
}

/** Returns the output of a program, or the error of starting it. */
function runProgram(program: string, args: readonly string[], cwd: string, env: Terminal['env']): Promise<string> {
  return new Promise((resolve) => {
    const child = spawn(program, [...args], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: hookTimeoutMs });
    let text = '';
    const collectOutput = (data: Buffer) => {
      text = (text + data.toString('utf8')).slice(-4_096);
    };
    child.stdout.on('data', collectOutput);
    child.stderr.on('data', collectOutput);
    child.on('error', (error) => resolve(error.message));
    child.on('close', () => resolve(text));
  });
}
