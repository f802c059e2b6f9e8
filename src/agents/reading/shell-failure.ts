/**
 * Whether the output of a command reads like a failure, for programs that hide its exit code. Only what shells and
 * interpreters say of themselves counts, in a short output: it is used to tell a loop of failures, and nothing else.
 */

const lengthMax = 2_000;

/** What ends a line, and what begins one. */
const lineEnd = ': (No such file or directory|command not found|Permission denied|not found|Is a directory)\\s*$';
const lineStart =
  '^((fatal|error|Blocked): |npm ERR! |FAIL(ED)?[: ]|Traceback \\(most recent call last\\)|\\w*(Error|Exception): )';
const failurePattern = new RegExp(`${lineEnd}|${lineStart}`, 'm');

export function looksLikeFailure(output: unknown): boolean {
  return typeof output === 'string' && output.length <= lengthMax && failurePattern.test(output);
}
