/**
 * Recorded sessions of official clients and servers pass byte for byte. `npm run test:adapters` plays the sessions with
 * the programs themselves; `SWITCHGEAR_RECORDINGS=FOLDER` keeps what it records.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { proxiedSession, turn } from './proxied-session.ts';

interface Piece {
  readonly from: 'client' | 'server';
  readonly text: string;
}

function readRecording(name: string): readonly Piece[] {
  const text = readFileSync(new URL(`../fixtures/mcp/${name}.jsonl`, import.meta.url), 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Piece);
}

/** The pieces cut anew: a message may come in any number of them. */
function cut(pieces: readonly Piece[], length: number): readonly Piece[] {
  return pieces.flatMap(({ from, text }) => {
    const bytes = Buffer.from(text);
    const count = Math.ceil(bytes.length / length);
    return Array.from({ length: count }, (_, at) => ({
      from,
      text: bytes.subarray(at * length, (at + 1) * length).toString('latin1'),
    }));
  });
}

const sessions = {
  'client-1': ['elicitation/create', 'sampling/createMessage', 'notifications/progress', 'notifications/cancelled'],
  'client-2-modern': [
    'io.modelcontextprotocol/protocolVersion',
    'input_required',
    'notifications/progress',
    'notifications/cancelled',
  ],
};

for (const [name, marks] of Object.entries(sessions)) {
  test(`${name}: a recorded session passes byte for byte, however it is cut`, async () => {
    const pieces = readRecording(name);
    const whole = pieces.map(({ text }) => text).join('');
    for (const mark of marks) assert.ok(whole.includes(mark), `${mark} is in the recording`);
    for (const length of [1_000_000, 1_000, 7]) {
      const proxy = proxiedSession();
      for (const { from, text } of cut(pieces, length)) {
        const bytes = Buffer.from(text, 'latin1');
        if (from === 'client') proxy.fromClient(bytes);
        else proxy.fromServer(bytes);
        await turn();
      }
      const sent = (from: string) => pieces.flatMap((piece) => (piece.from === from ? [piece.text] : [])).join('');
      assert.equal(proxy.server.text, sent('client'));
      assert.equal(proxy.client.text, sent('server'));
      proxy.gear.dispose();
    }
  });
}
