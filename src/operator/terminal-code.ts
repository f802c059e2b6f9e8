/** Asks a person at the controlling terminal to type a code, which a program without that terminal cannot read. */

import { openSync, writeSync } from 'node:fs';
import type { Clock } from '../ports/clock.ts';

/** The time to type the code. */
const codeTimeoutMs = 120_000;

/** Returns whether the code was typed; undefined if the process has no controlling terminal. */
export async function askForTerminalCode(reason: string, clock: Clock): Promise<boolean | undefined> {
  const file = openTerminal();
  if (file === undefined) return undefined;
  const code = String(process.getBuiltinModule('node:crypto').randomInt(1_000, 10_000));
  writeSync(file, `Is a person at this terminal? An agent runs, and ${reason}.\nType ${code} and press Enter: `);
  return (await readLine(file, clock)) === code;
}

function openTerminal(): number | undefined {
  try {
    return openSync('/dev/tty', 'r+');
  } catch {
    return undefined;
  }
}

function readLine(file: number, clock: Clock): Promise<string> {
  const { ReadStream } = process.getBuiltinModule('node:tty');
  const input = new ReadStream(file);
  return new Promise((resolve) => {
    let text = '';
    const finish = () => {
      cancelTimeout();
      input.destroy();
      resolve(text.split('\n')[0]!.trim());
    };
    const cancelTimeout = clock.after(codeTimeoutMs, finish, true);
    input.on('data', (part) => {
      text = (text + part.toString('utf8')).slice(0, 100);
      if (/[\r\n]/.test(text) || text.length >= 100) finish();
    });
    input.on('end', finish);
    input.on('error', finish);
  });
}
