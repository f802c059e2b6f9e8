/** A line to a server that can be made bad: it swallows, delays, garbles or breaks what passes. */

import { connect, createServer, type Socket } from 'node:net';

export type Fault = 'none' | 'black hole' | 'latency' | 'garbage' | 'resets';

export interface FaultyLine {
  readonly port: number;
  fault: Fault;
  /** Lines taken up so far. */
  readonly accepted: number;
  /** Bytes that were sent towards the server so far. */
  readonly sent: number;
  close(): void;
}

export async function faultyLine(target: number, random: (below: number) => number): Promise<FaultyLine> {
  let fault: Fault = 'none';
  let accepted = 0;
  let sent = 0;
  const open = new Set<Socket>();

  function pass(chunk: Buffer, from: Socket, to: Socket, back: boolean): void {
    switch (fault) {
      case 'black hole':
        return;
      case 'latency':
        setTimeout(() => to.writable && to.write(chunk), 250); // Each way: 500 ms there and back.
        return;
      case 'garbage':
        to.write(back ? Buffer.from(chunk.map(() => random(256))) : chunk);
        return;
      case 'resets':
        if (random(10) < 3) from.resetAndDestroy();
        else to.write(chunk);
        return;
      case 'none':
        to.write(chunk);
    }
  }

  const server = createServer((client) => {
    accepted++;
    const upstream = connect(target, '127.0.0.1');
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => socket.destroy());
    }
    const end = () => {
      for (const socket of [client, upstream]) {
        open.delete(socket);
        socket.destroy();
      }
    };
    client.on('data', (chunk) => {
      sent += chunk.length;
      pass(chunk, client, upstream, false);
    });
    upstream.on('data', (chunk) => pass(chunk, client, client, true));
    client.on('close', end);
    upstream.on('close', end);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    get fault() {
      return fault;
    },
    set fault(given) {
      fault = given;
    },
    get accepted() {
      return accepted;
    },
    get sent() {
      return sent;
    },
    close() {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}
