/**
 * Starts a small process that outlives the supervisor and reads from a pipe. If the pipe closes without a message,
 * the supervisor was killed, and the watchdog ends the agent. Both sides beat every second: the watchdog continues a
 * suspended supervisor, and the supervisor replaces a watchdog that was killed or stays silent.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { watchdogAnswerMs, watchdogBeatMs, watchdogHungMs, watchdogSilenceMs } from '../core/limits.ts';
import { startInterval } from '../platform/machine-clock.ts';
import { systemClock } from '../platform/system-clock.ts';
import type { TreeMember } from './process-tree.ts';
import {
  runWatchdog,
  type SupervisorLine,
  type WatchdogLine,
  type WatchdogOptions,
  watchdogFile,
} from './watchdog-process.ts';

/** What happened between supervisor and watchdog. */
export type WatchdogNews = 'missing' | 'replaced' | Exclude<WatchdogLine, 'beat'>;

export interface Watchdog {
  /** Sets the process of the command. */
  setRoot(root: TreeMember): void;
  /** Adds processes of the tree that the watchdog cannot find by itself. */
  addMembers(members: readonly TreeMember[]): void;
  /** Sets the listener for news; it also gets the news so far. */
  listen(listener: (news: WatchdogNews) => void): void;
  /** Tells the watchdog to exit after a normal end. */
  dismiss(): void;
}

/** Starts the watchdog, before the command starts. */
export function startWatchdog(options: WatchdogOptions): Watchdog {
  return new ReplacedWatchdog(options);
}

class ReplacedWatchdog implements Watchdog {
  readonly #options: WatchdogOptions;
  readonly #cancelBeat: () => void;
  #child: ChildProcess;
  #root: TreeMember | undefined;
  #members: readonly TreeMember[] = [];
  #news: WatchdogNews[] = [];
  #listener: ((news: WatchdogNews) => void) | undefined;
  #isDismissed = false;
  /** When the watchdog was heard last; a new one has more time for its first beat. */
  #heardMs = Number.POSITIVE_INFINITY;
  #startedMs = 0;
  /** Attempts in a row in which the system could not start a watchdog. */
  #failures = 0;
  #checkedMs = systemClock.nowMs();

  constructor(options: WatchdogOptions) {
    this.#options = options;
    this.#child = this.#start();
    this.#cancelBeat = startInterval(watchdogBeatMs, () => this.#beat());
  }

  setRoot(root: TreeMember): void {
    this.#root = root;
    this.#send({ root });
  }

  addMembers(members: readonly TreeMember[]): void {
    this.#members = members;
    this.#send({ members });
  }

  listen(listener: (news: WatchdogNews) => void): void {
    this.#listener = listener;
    for (const news of this.#news.splice(0)) listener(news);
  }

  dismiss(): void {
    this.#isDismissed = true;
    this.#cancelBeat();
    this.#child.stdin?.end(`${JSON.stringify({ done: true } satisfies SupervisorLine)}\n`);
    this.#child.kill('SIGCONT'); // A suspended watchdog would stay for ever.
  }

  #start(): ChildProcess {
    const call = `file.${runWatchdog.name}(...process.argv.slice(1))`;
    const script = `import(${JSON.stringify(watchdogFile)}).then((file) => ${call})`;
    const args = ['--input-type=module', '-e', script, JSON.stringify(this.#options), String(process.pid)];
    const child = spawn(process.execPath, args, {
      // In its own session, so that the end of the terminal does not end it; without the mark, so that it does not end
      // itself.
      detached: true,
      stdio: ['pipe', 'pipe', 'ignore'],
      env: { PATH: process.env.PATH },
    });
    this.#startedMs = systemClock.nowMs();
    this.#heardMs = Number.POSITIVE_INFINITY;
    // A system without free processes or descriptors starts none; then there are no pipes either, and no exit.
    child.on('error', () => {
      if (child.pid === undefined) this.#retry(child);
    });
    child.once('exit', () => this.#replace(child));
    child.stdin?.on('error', () => undefined);
    child.stdout?.on('error', () => undefined);
    child.stdout?.setEncoding('utf8').on('data', (text: string) => this.#hear(text));
    child.unref();
    for (const pipe of [child.stdin, child.stdout]) unrefPipe(pipe);
    return child;
  }

  #send(line: SupervisorLine): void {
    if (!this.#isDismissed) this.#child.stdin?.write(`${JSON.stringify(line)}\n`);
  }

  #hear(text: string): void {
    this.#heardMs = systemClock.nowMs();
    for (const line of text.split('\n')) if (line === 'continued' || line === 'ended') this.#report(line);
  }

  #report(news: WatchdogNews): void {
    if (this.#listener !== undefined) this.#listener(news);
    else this.#news.push(news);
  }

  #beat(): void {
    this.#send({});
    const atMs = systemClock.nowMs();
    // This process itself was suspended or starved: what the watchdog sent meanwhile is not read yet.
    const wasAway = atMs - this.#checkedMs > 3 * watchdogBeatMs;
    this.#checkedMs = atMs;
    if (wasAway && this.#heardMs < atMs) this.#heardMs = atMs;
    const hasBeaten = this.#heardMs !== Number.POSITIVE_INFINITY;
    const silentMs = atMs - (hasBeaten ? this.#heardMs : this.#startedMs);
    const allowedMs = hasBeaten ? watchdogSilenceMs : watchdogHungMs;
    if (silentMs > allowedMs + watchdogAnswerMs) this.#child.kill('SIGKILL');
    else if (silentMs > allowedMs) this.#child.kill('SIGCONT');
  }

  /** Starts another watchdog in place of one that has ended, at most one per beat. */
  #replace(child: ChildProcess): void {
    if (this.#isDismissed || child !== this.#child) return;
    const delayMs = this.#startedMs + watchdogBeatMs - systemClock.nowMs();
    if (delayMs <= 0) this.#startNext();
    else systemClock.after(delayMs, () => this.#startNext());
  }

  /** Tries to start a watchdog again after the system could not start it, less often each time. */
  #retry(child: ChildProcess): void {
    if (this.#isDismissed || child !== this.#child) return;
    this.#startLater();
  }

  #startLater(): void {
    if (this.#failures === 0) this.#report('missing');
    const delayMs = Math.min(watchdogBeatMs * 2 ** this.#failures++, watchdogHungMs);
    systemClock.after(delayMs, () => this.#startNext());
  }

  #startNext(): void {
    if (this.#isDismissed) return;
    let next: ChildProcess;
    try {
      next = this.#start();
    } catch {
      this.#startLater(); // Such as a system without memory.
      return;
    }
    this.#child = next;
    if (this.#root !== undefined) this.#send({ root: this.#root, members: this.#members });
    if (next.pid === undefined) return; // It could not be started, which its error reports.
    this.#failures = 0;
    this.#report('replaced');
  }
}

/** Keeps a pipe to the watchdog from keeping the supervisor alive. */
function unrefPipe(pipe: ChildProcess['stdin'] | ChildProcess['stdout']): void {
  (pipe as { unref?: () => void } | null)?.unref?.();
}
