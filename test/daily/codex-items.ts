/** The calls of a story as items of `codex exec --json`. Codex has a shell where Claude Code has tools for files. */

import type { PlayedCall } from './drive.ts';

/** The item of a call, as it starts or as it has ended. */
export function codexItem(call: PlayedCall, isOver: boolean): object {
  const { tool, input, output, ok } = call;
  const end = isOver && { status: ok ? 'completed' : 'failed' };
  const [, server, name] = /^mcp__(.+?)__(.+)$/.exec(tool) ?? [];
  if (tool === 'TodoWrite') return { type: 'todo_list', items: listTodos(input.todos), ...end };
  if (tool === 'WebSearch') return { type: 'web_search', query: input.query, ...end };
  if (changingTools.has(tool)) {
    const kind = tool === 'Write' ? 'add' : 'update';
    return { type: 'file_change', changes: [{ path: input.file_path ?? input.notebook_path, kind }], ...end };
  }
  const command = shellCommand(call);
  if (command === undefined) {
    const answer = ok ? { result: { content: [{ type: 'text', text: output }] } } : { error: { message: output } };
    const of = { server: server ?? 'tools', tool: name ?? tool, arguments: input };
    return { type: 'mcp_tool_call', ...of, result: null, error: null, ...(isOver && answer), ...end };
  }
  const shown = tool === 'Read' ? withoutLineNumbers(output) : output;
  const ended = isOver ? { aggregated_output: shown, exit_code: ok ? 0 : readExitCode(output) } : notEnded;
  return { type: 'command_execution', command: `/bin/bash -lc ${quoteWord(command)}`, ...ended, ...end };
}

const changingTools = new Set(['Edit', 'MultiEdit', 'Write', 'NotebookEdit']);
const notEnded = { aggregated_output: '', exit_code: null };

/** The command by which Codex does what a call of Claude Code does; undefined if it has no such command. */
function shellCommand({ tool, input }: PlayedCall): string | undefined {
  const text = (name: string) => String(input[name] ?? '');
  switch (tool) {
    case 'Bash':
      return text('command');
    case 'Read': {
      const from = Number(input.offset ?? 1);
      const isPart = input.offset !== undefined || input.limit !== undefined;
      const part = `sed -n '${from},${from + Number(input.limit ?? 2_000) - 1}p'`;
      return `${isPart ? part : 'cat'} ${text('file_path')}`;
    }
    case 'Grep':
      return `rg -n ${quoteWord(text('pattern'))} ${text('path') || '.'}`;
    case 'Glob':
      return `rg --files -g ${quoteWord(text('pattern'))} ${text('path') || '.'}`;
    case 'WebFetch':
      return `curl -sL ${text('url')}`;
    case 'BashOutput':
      return `cat /tmp/${text('bash_id')}.log`;
    default:
      return undefined;
  }
}

function listTodos(todos: unknown): readonly object[] {
  const list = Array.isArray(todos) ? (todos as readonly Record<string, unknown>[]) : [];
  return list.map(({ content, status }) => ({ text: content, completed: status === 'completed' }));
}

function readExitCode(output: string): number {
  return Number(/\bexit (?:code|status) (\d+)/i.exec(output)?.[1] ?? 1);
}

function quoteWord(word: string): string {
  return `'${word.replaceAll("'", `'"'"'`)}'`;
}

/** The text of a file from lines with numbers. */
export function withoutLineNumbers(output: string): string {
  return output.replace(/^ *\d+\t/gm, '');
}
