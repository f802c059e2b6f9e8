/**
 * Whether the output of a command reads like a failure, for programs that hide its exit code. Only typical messages
 * of shells and interpreters in a short output count. The result is used only to detect loops of failures.
 */

import { readEffect } from '../../core/controls/loop/effect.ts';

const lengthMax = 2_000;

/** Patterns at the end and at the beginning of a line. */
const lineEnd = ': (No such file or directory|command not found|Permission denied|not found|Is a directory)\\s*$';
const lineStart =
  '^((fatal|error|Blocked): |curl: \\(\\d+\\) |npm ERR! |FAIL(ED)?[: ]|Traceback \\(most recent call last\\)|' +
  '\\w*(Error|Exception): )';
const failurePattern = new RegExp(`${lineEnd}|${lineStart}`, 'm');

/** How programs write an exit code or the end of a call into its output: in its first or its last lines. */
const codePattern = new RegExp(
  [
    '^(?:exit (?:code|status)|process exited with code|command failed with exit code):? (?!0\\b)\\d+\\b',
    '^\\s*(?:\\{.*)?"success": ?false\\b',
  ].join('|'),
  'im',
);
const edgeLength = 300;

/** @param tool The tool: a file that is read may contain an exit code. */
export function looksLikeFailure(output: unknown, tool: string): boolean {
  if (typeof output !== 'string') return false;
  if (output.length <= lengthMax && failurePattern.test(output)) return true;
  if (readEffect(tool, undefined).effect === 'read') return false;
  const edges =
    output.length <= 2 * edgeLength ? output : `${output.slice(0, edgeLength)}\n${output.slice(-edgeLength)}`;
  return codePattern.test(edges);
}
