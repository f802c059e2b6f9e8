/** The error of a server that cannot listen, in the words of every command with a port. */

import { SwitchgearError } from '../core/error.ts';

/**
 * @param server The server as the sentence names it: `the gateway`.
 * @param option The option that chooses another port.
 */
export function makeListenError(
  { code, message }: NodeJS.ErrnoException,
  server: string,
  { host, port }: { readonly host: string; readonly port: number },
  option: string,
): SwitchgearError {
  const remedy = code === 'EADDRINUSE' ? `: another program uses it; choose one with ${option}` : '';
  return new SwitchgearError(
    'serve_failed',
    `${server} cannot listen on ${host}, port ${port} (${code ?? message})${remedy}`,
  );
}
