/** The line to an MCP server that is a process of ours: messages through its stdin and stdout. */

import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { mcpMessageBytesMax, mcpStopMs } from '../../../core/limits.ts';
import { cleanEnvironment, type Environment, endOnExit, signalGroup, trackEnding } from '../child-process.ts';
import { excessMessage } from './bounded-fetch.ts';
import type { McpServerConfig } from './config.ts';

/** The MCP client package, which is an optional peer dependency: loaded when the first server is asked for. */
export type McpSdk = typeof import('@modelcontextprotocol/client');

/** A line that can say how its process ended. */
export interface ProcessTransport {
  readonly transport: Transport;
  /** Absent while it runs, or where it never did. */
  ending(): string | undefined;
}

type ProcessConfig = Extract<McpServerConfig, { readonly kind: 'process' }>;

/** A process that is started with the first message; `onStderr` gets the lines of its stderr. */
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

  const start = () =>
    spawn(command, args, { cwd, env: cleanEnvironment(env, config.env), stdio: 'pipe', detached: true });

  const readChunk = (chunk: Buffer) => {
    try {
      buffer.append(chunk);
    } catch (error) {
      transport.onerror?.(error as Error);
      excess = excessMessage;
      child?.stdout.destroy(); // Whatever else it has to say is not heard.
      void transport.close();
      return;
    }
    for (let message = readNext(); message !== null; message = readNext()) transport.onmessage?.(message);
  };

  /** The next message; a line that is none is told, and passed over. */
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
        endOnExit(child);
        describeEnding = trackEnding(child, onStderr);
        child.once('spawn', resolve).once('error', reject);
        // What it said last is still on its way when it ends, and somebody else may hold the line open.
        const ended = Promise.withResolvers<void>();
        child.once('close', ended.resolve);
        child.once('exit', async () => {
          await Promise.race([ended.promise, sleep(mcpStopMs, undefined, { ref: false })]);
          hasExited = true;
          exited.resolve();
          transport.onclose?.();
        });
        child.stdout.on('data', readChunk);
        // A process that goes away while it is written to says so by its exit.
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
