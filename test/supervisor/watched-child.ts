/** A supervisor that only starts its watchdog and an agent: `node watched-child.ts MARK SCRIPT`. */

import { spawn } from 'node:child_process';
import { findProcess } from '../../src/supervisor/process-table.ts';
import { startWatchdog } from '../../src/supervisor/watchdog.ts';

const [mark = '', script = ''] = process.argv.slice(2);
const watchdog = startWatchdog({ mark, ownsSession: true, signal: 'SIGTERM' });
const env = { ...process.env, [mark]: '1' };
const child = spawn('sh', ['-c', script], { detached: true, env, stdio: ['ignore', 'inherit', 'ignore'] });
watchdog.setRoot([child.pid!, findProcess(child.pid!)?.began ?? '']);
process.stdin.on('data', () => {
  watchdog.dismiss();
  process.exit();
});
