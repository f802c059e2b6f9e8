/** The transport to an MCP server that is a child process: messages through stdin and stdout. */

import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { mcpMessageBytesMax, mcpStopMs } from '../../../core/limits.ts';
import {
  cleanEnvironment,
  createMark,
  type Environment,
  ownChild,
  signalGroup,
  trackEnding,
} from '../child-process.ts';
import { excessMessage } from './bounded-fetch.ts';
import type { McpServerConfig } from './config.ts';

/** The MCP client package, an optional peer dependency; loaded when the first server is needed. */
export type McpSdk = typeof import('@modelcontextprotocol/client');

/** A transport that knows how its process ended. */
export interface ProcessTransport {
  readonly transport: Transport;
  /** How the process ended; undefined while it runs or if it never started. */
  ending(): string | undefined;
}

type ProcessConfig = Extract<McpServerConfig, { readonly kind: 'process' }>;

/** Creates a transport whose process starts with the first message; `onStderr` gets the lines of its stderr. */
export function createProcessTransport(
  { ReadBuffer, serializeMessage }: Pick<McpSdk, 'ReadBuffer' | 'serializeMessage'>,
  config: ProcessConfig,
  env: Environment,
  onStderr?: (line: string) => void,
): ProcessTransport {
  const { command, args, cwd } = config;
  const buffer = new ReadBuffer({ maxBufferSize: mcpMessageBytesMax });
  let child: ReturnType<typeof start> | undefined;
  let describeEnding: (() => string) | undefined;
  let hasExited = false;
  let excess: string | undefined;
  const exited = Promise.withResolvers<void>();
  const mark = createMark();

  const start = () =>
    spawn(command, args, { cwd, env: cleanEnvironment(env, config.env, mark), stdio: 'pipe', detached: true });

  const readChunk = (chunk: Buffer) => {
    try {
      buffer.append(chunk);
    } catch (error) {
      transport.onerror?.(error as Error);
      excess = excessMessage;
      child?.stdout.destroy(); // Discard further output of the process.
      void transport.close();
      return;
    }
    for (let message = readNext(); message !== null; message = readNext()) transport.onmessage?.(message);
  };

  /** Reads the next message; reports and skips a line that is not a message. */
  const readNext = (): JSONRPCMessage | null => {
    for (;;) {
      try {
        return buffer.readMessage();
      } catch (error) {
        transport.onerror?.(error as Error);
      }
    }
  };

  const transport: Transport = {
    start: () =>
      new Promise<void>((resolve, reject) => {
        child = start();
        ownChild(child, mark);
        describeEnding = trackEnding(child, onStderr);
        child.once('spawn', resolve).once('error', reject);
        // Output may still be buffered when the process exits, and a descendant may keep the stream open.
        const ended = Promise.withResolvers<void>();
        child.once('close', ended.resolve);
        child.once('exit', async () => {
          await Promise.race([ended.promise, sleep(mcpStopMs, undefined, { ref: false })]);
          hasExited = true;
          exited.resolve();
          transport.onclose?.();
        });
        child.stdout.on('data', readChunk);
        // Ignore write errors of a process that is exiting: its exit reports them.
        child.stdin.on('error', () => {});
      }),
    send: (message) =>
      new Promise<void>((resolve, reject) => {
        if (child === undefined || hasExited) reject(new Error('the process has ended'));
        else if (child.stdin.write(serializeMessage(message))) resolve();
        else child.stdin.once('drain', resolve);
      }),
    async close() {
      if (child?.pid === undefined || hasExited) return;
      child.stdin.end();
      for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
        await Promise.race([exited.promise, sleep(mcpStopMs, undefined, { ref: false })]);
        if (hasExited) return;
        signalGroup(child, signal);
      }
      await exited.promise;
    },
  };
  return { transport, ending: () => (hasExited ? (excess ?? describeEnding?.()) : undefined) };
}
