/** Long streams of events as Claude Code prints them, written into a file: nothing in them is a loop. */

import { closeSync, openSync, writeSync } from 'node:fs';
import { type Cli, recording } from '../test/agents/recording.ts';

/** Writes lines until there are so many bytes, and counts them. */
function filled(file: string, bytesWanted: number, rounds: Iterable<readonly string[]>): number {
  const handle = openSync(file, 'w');
  let count = 0;
  let bytes = 0;
  for (const lines of rounds) {
    bytes += writeSync(handle, `${lines.join('\n')}\n`);
    count += lines.length;
    if (bytes >= bytesWanted) break;
  }
  closeSync(handle);
  return count;
}

export type Stream = 'words' | 'mix' | 'calls';

/**
 * `words`: for every call some hundred pieces of a text, as with partial messages. `mix`: everything that was recorded
 * of runs that nobody had to stop, again and again. `calls`: nothing but calls, each with a result some pages long.
 */
export function fillWith(stream: Stream, file: string, bytesWanted: number): number {
  if (stream === 'mix') {
    const names = ['healthy', 'spend', 'spend-partial-messages', 'slowtool', 'fan-out'];
    return fillRecorded(file, bytesWanted, 'claude-code', names);
  }
  return filled(file, bytesWanted, spoken(stream === 'words' ? 300 : 0));
}

/** Writes recordings again and again, each time with other ids and other words. */
export function fillRecorded(
  file: string,
  bytesWanted: number,
  cli: Cli,
  names: readonly string[],
  change = (text: string) => text,
): number {
  const lines = names.flatMap((name, at) =>
    recording(cli, name)
      .lines.map(({ line }) => line.replace(/(mock|item|prt)_/g, `$1_${at}_`))
      .filter((line) => !line.includes('"subtype":"init"')),
  );
  const whole = change(lines.join('\n'));
  const letter = letters();
  const variants = Array.from({ length: 25 }, () =>
    whole.replace(
      /"(text|content|command|output|aggregated_output|file_path|filePath|stdout)":"(\\.|[^"\\])*/g,
      (field) => {
        const at = field.indexOf('":"') + 3;
        return field.slice(0, at) + field.slice(at).replace(/(?<!\\)[a-z]/g, letter);
      },
    ),
  );
  function* rounds(): Iterable<readonly string[]> {
    for (let round = 0; ; round++) {
      const text = variants[round % variants.length]!.replace(/(mock|item|prt)_/g, `$1_${round}_`);
      yield text.replace(/\b(a[0-9a-f]{16})\b/g, `$1${round}`).split('\n'); // Subagents have ids of their own.
    }
  }
  return filled(file, bytesWanted, rounds());
}

/** One letter after another, the same ones every time. */
function letters(): () => string {
  let seed = 1;
  return () => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    return String.fromCharCode(97 + ((seed >>> 8) % 26));
  };
}

function* spoken(pieces: number): Iterable<readonly string[]> {
  const page = 'a line of a file that an agent reads, with some words in it\n'.repeat(100);
  const model = 'claude-sonnet-4-5';
  const of = { session_id: 's', parent_tool_use_id: null };
  const usage = { input_tokens: 10, output_tokens: 2 };
  yield [JSON.stringify({ type: 'system', subtype: 'init', session_id: 's', model })];
  for (let n = 0; ; n++) {
    const lines: object[] = [];
    for (let at = 0; at < pieces; at++) {
      const delta = { type: 'text_delta', text: `and then some more words about page ${n}, ` };
      const event = { type: 'content_block_delta', index: 0, delta };
      lines.push({ type: 'stream_event', event, ...of, uuid: `u-${n}-${at}` });
    }
    const id = `call-${n}`;
    const use = { type: 'tool_use', id, name: 'Read', input: { file_path: `page-${n}.md` } };
    const message = { id: `m-${n}`, model, role: 'assistant', content: [use], usage };
    lines.push({ type: 'assistant', message, ...of });
    const result = { type: 'tool_result', tool_use_id: id, content: `${n * 7919} ${page}` };
    lines.push({ type: 'user', message: { role: 'user', content: [result] }, ...of });
    yield lines.map((line) => JSON.stringify(line));
  }
}
