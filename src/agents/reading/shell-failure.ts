/**
 * Whether the output of a command reads like a failure, for programs that hide its exit code. Only typical messages
 * of shells and interpreters in a short output count. The result is used only to detect loops of failures.
 */

const lengthMax = 2_000;

/** Patterns at the end and at the beginning of a line. */
const lineEnd = ': (No such file or directory|command not found|Permission denied|not found|Is a directory)\\s*$';
const lineStart =
  '^((fatal|error|Blocked): |npm ERR! |FAIL(ED)?[: ]|Traceback \\(most recent call last\\)|\\w*(Error|Exception): )';
const failurePattern = new RegExp(`${lineEnd}|${lineStart}`, 'm');

export function looksLikeFailure(output: unknown): boolean {
  return typeof output === 'string' && output.length <= lengthMax && failurePattern.test(output);
}
