/** The results of calls in the form in which Claude Code gives them to hooks. */

import { withoutLineNumbers } from './codex-items.ts';
import type { PlayedCall } from './drive.ts';

/** The field `tool_response` of a call that succeeded. */
export function toolResponse({ tool, input, output, secs }: PlayedCall): unknown {
  const durationMs = Math.round(secs * 1000);
  const lines = output === '' ? [] : output.split('\n');
  switch (tool) {
    case 'Bash':
      return { stdout: output, stderr: '', interrupted: false, isImage: false, noOutputExpected: output === '' };
    case 'Read': {
      const content = withoutLineNumbers(output);
      const startLine = Number(input.offset ?? 1);
      const count = { numLines: lines.length, startLine, totalLines: startLine + lines.length - 1 };
      return { type: 'text', file: { filePath: input.file_path, content, ...count } };
    }
    case 'Edit': {
      const { file_path: filePath, old_string: oldString, new_string: newString } = input;
      const minus = String(oldString).split('\n');
      const plus = String(newString).split('\n');
      const hunk = [...minus.map((line) => `-${line}`), ...plus.map((line) => `+${line}`)];
      const sizes = { oldStart: 1, oldLines: minus.length, newStart: 1, newLines: plus.length };
      const patch = { structuredPatch: [{ ...sizes, lines: hunk }], userModified: false, replaceAll: false };
      return { filePath, oldString, newString, originalFile: oldString, ...patch };
    }
    case 'Write': {
      const { file_path: filePath, content } = input;
      return { type: 'create', filePath, content, structuredPatch: [], originalFile: null, userModified: false };
    }
    case 'Grep':
      return { mode: 'content', numFiles: 0, filenames: [], content: output, numLines: lines.length };
    case 'Glob':
      return { filenames: lines, durationMs, numFiles: lines.length, truncated: false };
    case 'TodoWrite':
      return { oldTodos: [], newTodos: input.todos };
    case 'WebFetch':
      return { bytes: output.length, code: 200, codeText: 'OK', result: output, durationMs, url: input.url };
    case 'WebSearch':
      return { query: input.query, results: [output], durationSeconds: secs };
    default:
      return tool.startsWith('mcp__') ? [{ type: 'text', text: output }] : output;
  }
}
