/** Recorded runs of agents: one per line, as JSON, plain or gzipped. */

import { createReadStream, existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { createGunzip } from 'node:zlib';

interface Sized {
  /** Characters of the whole text by four. */
  readonly tokens?: number;
  /** Marks a text that was cut: equal only for equal whole texts. */
  readonly full_sha?: string;
}

export type RunEvent = Sized &
  (
    | { readonly type: 'user' | 'assistant'; readonly text: string }
    | { readonly type: 'tool_call'; readonly id: string; readonly name: string; readonly args: string }
    | { readonly type: 'tool_result'; readonly id: string; readonly ok: boolean; readonly text: string }
  );

export interface Run {
  readonly source: string;
  readonly run_id: string;
  readonly model: string;
  readonly kind: string;
  /** What else tells runs of a source apart. */
  readonly mode?: string;
  readonly outcome: 'success' | 'failure' | 'unknown';
  readonly events: readonly RunEvent[];
}

/** The runs of a file, or one sentence about what is wrong with it. */
export async function readRuns(path: string, progress: (lines: number) => void): Promise<readonly Run[]> {
  if (!existsSync(path)) throw new Error(`there is no file ${path}`);
  const file = createReadStream(path);
  const zipped = path.endsWith('.gz') ? file.pipe(createGunzip()) : file;
  const failed = new Promise<never>((_, reject) => {
    file.on('error', reject);
    zipped.on('error', reject);
  });
  failed.catch(() => {}); // It is raced below.
  const runs: Run[] = [];
  const lines = createInterface({ input: zipped, crlfDelay: Number.POSITIVE_INFINITY });
  const reading = (async () => {
    let number = 0;
    for await (const line of lines) {
      number++;
      if (line.trim() !== '') runs.push(parseRun(line, `${path}, line ${number}`));
      if (number % 100 === 0) progress(number);
    }
  })();
  await Promise.race([reading, failed]);
  return runs;
}

function parseRun(line: string, location: string): Run {
  let run: Partial<Run> | undefined;
  try {
    run = JSON.parse(line) as Partial<Run>;
  } catch {
    throw new Error(`${location} is not JSON`);
  }
  if (!Array.isArray(run?.events)) throw new Error(`${location} has no list of events`);
  const { source = '-', run_id = location, model = '-', kind = '-', mode = '', outcome = 'unknown', events } = run;
  return { source, run_id, model, kind, mode, outcome, events };
}

/** Whether the response that an assistant event begins holds calls: a host knows that at once. */
export function hasCalls(run: Run, index: number): boolean {
  return run.events[index + 1]?.type === 'tool_call';
}

/** A text as it is compared: what was cut off counts by its hash. */
export function wholeText(event: Extract<RunEvent, { text: string }>): string {
  return event.full_sha === undefined ? event.text : `${event.text}${event.full_sha}`;
}
