/** A process by its command line. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CommandKind, recognizeCommand } from '../../src/supervisor/recognize-command.ts';

const cases: readonly (readonly [kind: CommandKind, words: readonly string[]])[] = [
  ['interactive shell', ['-zsh']],
  ['interactive shell', ['bash', '-il']],
  // Terminals of editors give a shell a file to begin with.
  ['interactive shell', ['/bin/bash', '--init-file', '/usr/share/code/shellIntegration-bash.sh']],
  ['interactive shell', ['bash', '--rcfile', '/opt/idea/jediterm-bash.in', '-i']],
  ['interactive shell', ['fish', '--init-command', '. integration.fish']],
  ['interactive shell', ['bash', '-o', 'vi']],
  ['interactive shell', ['nu']],
  ['interactive shell', ['/usr/bin/pwsh', '-NoLogo']],
  ['shell command', ['nu', '-c', 'switchgear mcp']],
  ['program', ['bash', '/home/ann/start.sh', '-c', 'x']],
  ['program', ['bash', '--rcfile', 'rc', 'start.sh']],
  ['program', ['sh', '-eo', 'pipefail', 'start.sh']],
  ['shell command', ['bash', '-lc', 'switchgear mcp']],
  ['shell command', ['bash', '-eo', 'pipefail', '-c', 'switchgear mcp']],
  ['launcher', ['npx', 'switchgear', 'mcp']],
  ['launcher', ['node', '/usr/lib/node_modules/npm/bin/npx-cli.js', 'switchgear']],
  // npm writes its arguments into the name of its process.
  ['launcher', ['npm exec switchgear mcp -- server']],
  ['agent', ['node', '/usr/bin/claude', '-p', 'x']],
  ['program', ['/opt/npm tools/agent']],
];

for (const [kind, words] of cases)
  test(`"${words.join(' ')}" is recognized: ${kind}`, () => assert.equal(recognizeCommand(words), kind));
