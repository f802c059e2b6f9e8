/** Saves and restores the terminal settings around an interactive agent, because a killed agent cannot restore them. */

import { spawnSync } from 'node:child_process';

/** Leaves the alternate screen, shows the cursor, and ends bracketed paste. */
const resetSequence = '\u001b[?1049l\u001b[?25h\u001b[?2004l\u001b[0m';

/** Saves the terminal settings; returns a function that restores them. */
export function saveTerminalState(): () => void {
  const { stdin, stderr } = process;
  const stdio = ['inherit', 'pipe', 'ignore'] as const;
  const saved = stdin.isTTY === true ? spawnSync('stty', ['-g'], { stdio: [...stdio], encoding: 'utf8' }).stdout : '';
  return () => {
    if (!saved) return; // There is no terminal, or `stty` is not available.
    if (stderr.isTTY === true) stderr.write(resetSequence);
    spawnSync('stty', [saved.trim()], { stdio: [...stdio] });
  };
}
