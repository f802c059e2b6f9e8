/** The options of commands that listen on another address than loopback: TLS, and the hosts they are addressed by. */

import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { isLoopback } from '../supervisor/peer-process.ts';
import { type ParsedArgs, usageError } from './command.ts';

/** Options with a value that `parseListenOptions` reads; beside them there is the switch `--insecure`. */
export const listenValueOptions = ['--host', '--tls-cert', '--tls-key', '--allow-host'] as const;

export interface ListenAddress {
  readonly host: string;
  readonly isLocal: boolean;
  readonly tls: { readonly cert: Buffer; readonly key: Buffer } | undefined;
  readonly allowedHosts: readonly string[];
}

/** Parses where a command listens; another address than loopback needs TLS or `--insecure`. */
export function parseListenOptions({ values, switches }: ParsedArgs): ListenAddress {
  const host = values.get('--host') ?? '127.0.0.1';
  const tls = readTlsFiles(values.get('--tls-cert'), values.get('--tls-key'));
  // A name such as 127.example.com may be the address of another machine.
  const isLocal = host === 'localhost' || (isIP(host) !== 0 && isLoopback(host));
  if (!isLocal && tls === undefined && !switches.has('--insecure')) {
    throw usageError(
      `--host ${host} is not the loopback address: give --tls-cert and --tls-key, or --insecure for plain HTTP`,
    );
  }
  return { host, isLocal, tls, allowedHosts: parseHosts(values) };
}

function parseHosts(values: ParsedArgs['values']): readonly string[] {
  const hosts = (values.get('--allow-host') ?? '').split(',').filter((each) => each !== '');
  const wrong = hosts.find((each) => !/^(\[[0-9a-f:.]+\]|[a-z0-9][a-z0-9._-]*)(:\d{1,5})?$/i.test(each));
  if (wrong === undefined) return hosts;
  throw usageError(`--allow-host must be NAME or NAME:PORT, got ${JSON.stringify(wrong)}`);
}

function readTlsFiles(certFile: string | undefined, keyFile: string | undefined): ListenAddress['tls'] {
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile === undefined || keyFile === undefined) throw usageError('--tls-cert and --tls-key need each other');
  const files = { cert: readTlsFile('--tls-cert', certFile), key: readTlsFile('--tls-key', keyFile) };
  try {
    process.getBuiltinModule('node:tls').createSecureContext(files);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw usageError(`--tls-cert and --tls-key must be a certificate and its key in PEM (${code ?? 'unreadable'})`);
  }
  return files;
}

function readTlsFile(option: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw usageError(`${option} must be a file that can be read, got ${JSON.stringify(file)} (${code ?? 'error'})`);
  }
}
