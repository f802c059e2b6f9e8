/** The agent CLIs as a user has them: how each is started and led to a model of ours, and what its tools are called. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Call } from './mock-model.ts';
import { errandMark } from './requests.ts';

export interface Client {
  readonly name: 'claude' | 'codex' | 'gemini' | 'opencode';
  /** What `switchgear init` calls it; empty where it has no hooks. */
  readonly host: string;
  readonly package: string;
  readonly version: string;
  /** Stories that cannot be told of it here. */
  readonly without?: readonly string[];
  /** Leads it to the model: writes what it wants in its home, and gives its environment. */
  settle(home: string, url: string): Readonly<Record<string, string>>;
  /** The model that it asks for. */
  readonly model: string;
  command(prompt: string): readonly string[];
  shell(command: string): Call;
  /** Reads a file, or some lines of it. */
  read(path: string, from?: number, lines?: number): Call;
  /** Replaces whole lines of a file that was read. */
  edit(path: string, before: string, after: string): Call;
  /** Writes a whole file. */
  write(path: string, content: string): Call;
  /** Starts a program that runs on, where the shell does not let one. */
  start?(command: string): Call;
  /** Writes its list of things to do, where it has such a tool. */
  list?(items: readonly string[], done: number): Call;
  /** Eight useful calls, of which the fourth fails. */
  readonly healthy: readonly Call[];
  /** A call that takes twelve seconds. */
  readonly slow: Call;
  /** Sends a subagent out. */
  send(errand: number): Call;
  /** Waits for those that were sent and have not come back, where that takes a call; undefined where all have. */
  wait?(request: string): Call | undefined;
}

/** Stories of agents that want out; they need hooks that we install, and are told of two of the CLIs. */
const attacks = ['attacks on us', 'attacks in disguise', 'nested agent'];

/** Stories of an MCP server behind the proxy, told of those whose configuration `init --mcp` or the story can write. */
const servers = ['mcp wants out', 'mcp stopped', 'mcp healthy', 'mcp with hooks'];

const claudeShell = (command: string): Call => ({ tool: 'Bash', input: { command, description: 'Run it' } });

export const claude: Client = {
  name: 'claude',
  host: 'claude-code',
  package: '@anthropic-ai/claude-code',
  version: '2.1.325',
  model: 'claude-opus-5-5',
  settle: (_home, url) => ({
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: 'not-a-key',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  }),
  command: (prompt) => [
    'claude',
    '-p',
    prompt,
    '--model',
    'claude-opus-5-5',
    '--allowedTools',
    'Bash,Read,Edit,Write,Agent',
  ],
  shell: claudeShell,
  read: (file_path, offset, limit) => ({ tool: 'Read', input: { file_path, offset, limit } }),
  edit: (file_path, old_string, new_string) => ({ tool: 'Edit', input: { file_path, old_string, new_string } }),
  write: (file_path, content) => ({ tool: 'Write', input: { file_path, content } }),
  healthy: [
    claudeShell('ls -R .'),
    { tool: 'Read', input: { file_path: 'README.md' } },
    { tool: 'Read', input: { file_path: 'sum.mjs' } },
    claudeShell('node check.mjs'),
    { tool: 'Edit', input: { file_path: 'sum.mjs', old_string: 'total = 1', new_string: 'total = 0' } },
    claudeShell('node check.mjs --again'),
    claudeShell('grep -n total sum.mjs'),
    { tool: 'Write', input: { file_path: 'CHANGES.md', content: 'The sum starts at 0.\n' } },
  ],
  slow: claudeShell('node slow.mjs'),
  send: (errand) => ({
    tool: 'Agent',
    input: { description: `Errand ${errand}`, prompt: `${errandMark} ${errand}`, subagent_type: 'general-purpose' },
  }),
};

const codexShell = (cmd: string): Call => ({ tool: 'exec_command', input: { cmd } });

const patch = (change: string): Call => ({ tool: 'apply_patch', input: `*** Begin Patch\n${change}\n*** End Patch\n` });

/** The lines of a text, each with a mark before it. */
const marked = (mark: string, text: string) => text.replace(/\n$/, '').replaceAll(/^/gm, mark);

/** Where Codex has its tools for subagents. */
const namespace = 'multi_agent_v1';

export const codex: Client = {
  name: 'codex',
  host: 'codex',
  package: '@openai/codex',
  version: '0.166.0',
  model: 'gpt-5.5',
  settle(home, url) {
    const folder = join(home, '.codex');
    mkdirSync(folder, { recursive: true });
    const provider = `[model_providers.mock]\nname = "mock"\nbase_url = "${url}/v1"\nwire_api = "responses"\n`;
    const config = `model = "gpt-5.5"\nmodel_provider = "mock"\n${provider}env_key = "MOCK_KEY"\n`;
    writeFileSync(join(folder, 'config.toml'), config);
    return { MOCK_KEY: 'not-a-key' };
  },
  command: (prompt) => [
    'codex',
    'exec',
    '--skip-git-repo-check',
    '--dangerously-bypass-approvals-and-sandbox',
    '--dangerously-bypass-hook-trust',
    prompt,
  ],
  shell: codexShell,
  read: (path, from, lines) =>
    codexShell(from === undefined ? `cat ${path}` : `sed -n '${from},${from + lines! - 1}p' ${path}`),
  edit: (path, before, after) =>
    patch(`*** Update File: ${path}\n@@\n${marked('-', before)}${after === '' ? '' : `\n${marked('+', after)}`}`),
  start: (cmd) => ({ tool: 'exec_command', input: { cmd, yield_time_ms: 250 } }),
  write: (path, content) => patch(`*** Add File: ${path}\n${marked('+', content)}`),
  healthy: [
    codexShell('ls -R .'),
    codexShell('cat README.md'),
    codexShell('cat sum.mjs'),
    codexShell('node check.mjs'),
    {
      tool: 'apply_patch',
      input: '*** Begin Patch\n*** Update File: sum.mjs\n@@\n-  let total = 1;\n+  let total = 0;\n*** End Patch\n',
    },
    codexShell('node check.mjs --again'),
    codexShell('grep -n total sum.mjs'),
    { tool: 'apply_patch', input: '*** Begin Patch\n*** Add File: CHANGES.md\n+The sum starts at 0.\n*** End Patch\n' },
  ],
  slow: { tool: 'exec_command', input: { cmd: 'node slow.mjs', yield_time_ms: 20_000 } },
  send: (errand) => ({ tool: 'spawn_agent', namespace, input: { message: `${errandMark} ${errand}` } }),
  wait(request) {
    const idsAfter = (pattern: RegExp) => new Set([...request.matchAll(pattern)].map((found) => found[1]!));
    const back = idsAfter(/([0-9a-f-]{36})\\*":\s*\{\\*"completed/g);
    const targets = [...idsAfter(/agent_id\\*":\s*\\*"([0-9a-f-]{36})/g)].filter((id) => !back.has(id));
    return targets.length === 0 ? undefined : { tool: 'wait_agent', namespace, input: { targets, timeout_ms: 30_000 } };
  },
};

const geminiShell = (command: string): Call => ({
  tool: 'run_shell_command',
  input: { command, description: 'Run it' },
});

export const gemini: Client = {
  name: 'gemini',
  host: 'gemini',
  package: '@google/gemini-cli',
  version: '0.61.0',
  model: 'gemini-3.1-pro-preview',
  // It is silent for longer than idle limits of seconds while it starts, and its files tell what a call cost a call or
  // two late where the model answers at once.
  without: ['spend', 'silence', 'slow tool', 'fan-out', 'spiral below', ...attacks],
  settle(home, url) {
    const folder = join(home, '.gemini');
    mkdirSync(folder, { recursive: true });
    // Its own guard against loops would end the run before ours, as a success.
    const settings = { security: { auth: { selectedType: 'gemini-api-key' } }, model: { disableLoopDetection: true } };
    writeFileSync(join(folder, 'settings.json'), JSON.stringify(settings));
    return { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: 'not-a-key' };
  },
  command: (prompt) => [
    'gemini',
    '-p',
    prompt,
    '-m',
    'gemini-3.1-pro-preview',
    '--approval-mode',
    'yolo',
    '--skip-trust',
  ],
  shell: geminiShell,
  read: (file_path, start_line, lines) => ({
    tool: 'read_file',
    input: { file_path, start_line, end_line: start_line && start_line + lines! - 1 },
  }),
  edit: (file_path, old_string, new_string) => ({
    tool: 'replace',
    input: { file_path, instruction: 'Replace these lines', old_string, new_string },
  }),
  write: (file_path, content) => ({ tool: 'write_file', input: { file_path, content } }),
  healthy: [
    geminiShell('ls -R .'),
    { tool: 'read_file', input: { file_path: 'README.md' } },
    { tool: 'read_file', input: { file_path: 'sum.mjs' } },
    geminiShell('node check.mjs'),
    geminiShell("sed -i 's/total = 1/total = 0/' sum.mjs"),
    geminiShell('node check.mjs --again'),
    geminiShell('grep -n total sum.mjs'),
    { tool: 'write_file', input: { file_path: 'CHANGES.md', content: 'The sum starts at 0.\n' } },
  ],
  slow: geminiShell('node slow.mjs'),
  send: (errand) => ({ tool: 'invoke_agent', input: { agent_name: 'generalist', prompt: `${errandMark} ${errand}` } }),
};

const opencodeShell = (command: string): Call => ({ tool: 'bash', input: { command, description: 'Run it' } });

export const opencode: Client = {
  name: 'opencode',
  host: '',
  package: 'opencode-ai',
  version: '1.18.33',
  model: 'claude-opus-5-5',
  // It has no hooks of ours, and is silent for longer than idle limits of seconds while it starts.
  without: ['hooks', 'hooks refuse', 'hooks alone', 'silence', 'slow tool', ...attacks, ...servers],
  settle(home, url) {
    const folder = join(home, '.config', 'opencode');
    mkdirSync(folder, { recursive: true });
    const model = { name: 'mock', limit: { context: 400_000, output: 32_000 }, tool_call: true };
    const provider = {
      npm: '@ai-sdk/openai-compatible',
      name: 'mock',
      options: { baseURL: `${url}/v1`, apiKey: 'not-a-key' },
      models: { 'claude-opus-5-5': model },
    };
    const settings = { provider: { mock: provider }, model: 'mock/claude-opus-5-5', permission: 'allow' };
    writeFileSync(join(folder, 'opencode.json'), JSON.stringify(settings));
    return { OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_LSP_DOWNLOAD: '1' };
  },
  command: (prompt) => ['opencode', 'run', prompt],
  shell: opencodeShell,
  read: (filePath, offset, limit) => ({ tool: 'read', input: { filePath, offset, limit } }),
  edit: (filePath, oldString, newString) => ({ tool: 'edit', input: { filePath, oldString, newString } }),
  write: (filePath, content) => ({ tool: 'write', input: { filePath, content } }),
  list(items, done) {
    const status = (at: number) => (at < done ? 'completed' : at === done ? 'in_progress' : 'pending');
    const todos = items.map((content, at) => ({ content, status: status(at), priority: 'medium' }));
    return { tool: 'todowrite', input: { todos } };
  },
  healthy: [
    opencodeShell('ls -R .'),
    { tool: 'read', input: { filePath: 'README.md' } },
    { tool: 'read', input: { filePath: 'sum.mjs' } },
    opencodeShell('node check.mjs'),
    { tool: 'edit', input: { filePath: 'sum.mjs', oldString: 'total = 1', newString: 'total = 0' } },
    opencodeShell('node check.mjs --again'),
    opencodeShell('grep -n total sum.mjs'),
    { tool: 'write', input: { filePath: 'CHANGES.md', content: 'The sum starts at 0.\n' } },
  ],
  slow: opencodeShell('node slow.mjs'),
  send: (errand) => ({
    tool: 'task',
    input: { description: `Errand ${errand}`, prompt: `${errandMark} ${errand}`, subagent_type: 'general' },
  }),
};

export const clients: readonly Client[] = [claude, codex, gemini, opencode];
