/** The terminal as it was before an agent had it to itself: one that is killed cannot put it back. */

import { spawnSync } from 'node:child_process';

/** Leaves the other screen, shows the cursor, and pastes plainly again. */
const resetSequence = '\u001b[?1049l\u001b[?25h\u001b[?2004l\u001b[0m';

/** Remembers how the terminal is set; the result sets it so again. */
export function saveTerminalState(): () => void {
  const { stdin, stderr } = process;
  const stdio = ['inherit', 'pipe', 'ignore'] as const;
  const saved = stdin.isTTY === true ? spawnSync('stty', ['-g'], { stdio: [...stdio], encoding: 'utf8' }).stdout : '';
  return () => {
    if (!saved) return; // There is no terminal, or nobody to ask how it is set.
    if (stderr.isTTY === true) stderr.write(resetSequence);
    spawnSync('stty', [saved.trim()], { stdio: [...stdio] });
  };
}
