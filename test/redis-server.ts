/** A real redis-server for tests, on a free port of this machine, with nothing kept on disk; ended by its pid. */

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isCi, missingService, testWith } from './services.ts';

export interface RedisServer {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Sends the process a signal: SIGSTOP, SIGCONT, SIGKILL. */
  signal(signal: NodeJS.Signals): void;
  /** Starts it again on the same port, after it was killed. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** `test` for tests that start a Redis, or use one that is started for their file. */
export const testWithRedis = testWith('redis');

/** Starts one; where redis-server is not installed, throws the reason and what to run. */
export async function startRedis(args: readonly string[] = []): Promise<RedisServer> {
  const missing = missingService('redis');
  if (missing !== undefined) throw new Error(missing);
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-redis-'));
  const launch = () => {
    const started = spawn(
      'redis-server',
      ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder, ...args],
      { stdio: 'ignore' },
    );
    started.unref(); // A test that failed must not wait for it; it is ended with the process.
    return started;
  };
  let child = launch();
  const leave = () => child.kill('SIGKILL');
  process.once('exit', leave);
  await listening(port);
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    get pid() {
      return child.pid!;
    },
    signal: (signal) => void child.kill(signal),
    async restart() {
      child = launch();
      await listening(port);
    },
    async stop() {
      process.removeListener('exit', leave);
      const gone = child.exitCode !== null || child.signalCode !== null;
      const ended = gone ? undefined : new Promise((resolve) => child.once('exit', resolve));
      child.ref();
      child.kill('SIGCONT');
      child.kill('SIGKILL');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Starts one for a file of tests; undefined where all tests that need it are skipped. */
export async function startRedisOfFile(): Promise<RedisServer | undefined> {
  return missingService('redis') === undefined || isCi() ? startRedis() : undefined;
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

async function listening(port: number): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    const open = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('connect', () => {
        socket.destroy();
        resolve(true);
      });
      socket.once('error', () => resolve(false));
    });
    if (open) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`redis-server does not listen on port ${port}`);
}
