/** How other agents and the seed find loops, rule by rule, to stand beside ours. */

import { jaccard, tokenize } from '../../src/core/similarity.ts';
import type { Detector, Watch } from './detector.ts';
import { hasCalls, type Run, type RunEvent, wholeText } from './runs.ts';

type See = Watch['see'];

const detector = (name: string, see: (run: Run) => See): Detector => ({ name, watch: (run) => ({ see: see(run) }) });

/** Three outputs in a row, neighbours at least 0.95 alike. */
const seed = (countsEmpty: boolean) => (run: Run) => {
  let last: Int32Array | undefined;
  let alike = 0;
  return (event: RunEvent, index: number) => {
    if (event.type !== 'assistant') return false;
    if (!countsEmpty && event.text.trim() === '' && hasCalls(run, index)) return false;
    const words = tokenize(event.text);
    alike = last !== undefined && jaccard(last, words) >= 0.95 ? alike + 1 : 0;
    last = words;
    return alike >= 2;
  };
};

const callOf = ({ name, args }: Extract<RunEvent, { type: 'tool_call' }>) => `${name}\n${args}`;

/** The same call so many times in a row, whatever it gave. */
const sameCall = (times: number) => () => {
  let last = '';
  let row = 0;
  return (event: RunEvent) => {
    if (event.type !== 'tool_call') return false;
    row = callOf(event) === last ? row + 1 : 1;
    last = callOf(event);
    return row >= times;
  };
};

/** One tool failed so many times in a row; calls of others in between do not matter. */
const failures = (times: number) => () => {
  const names = new Map<string, string>();
  const rows = new Map<string, number>();
  return (event: RunEvent) => {
    if (event.type === 'tool_call') names.set(event.id, event.name);
    if (event.type !== 'tool_result') return false;
    const name = names.get(event.id) ?? '';
    const row = event.ok ? 0 : (rows.get(name) ?? 0) + 1;
    rows.set(name, row);
    return row >= times;
  };
};

/**
 * Four equal actions with equal results, three equal actions that all failed, three equal messages with nothing
 * between, or two actions with their results taking turns three times. Interactive: a user's message begins anew.
 */
const openHands = (isHeadless: boolean) => (run: Run) => {
  const historyMax = 6;
  let actions: string[] = [];
  let results: { readonly key: string; readonly ok: boolean }[] = [];
  let messages: { readonly text: string; readonly results: number }[] = [];
  let seen = 0;
  const push = <T>(list: T[], item: T) => {
    list.push(item);
    if (list.length > historyMax) list.shift();
  };
  const repeats = (keys: readonly string[], count: number, period: number) => {
    const tail = keys.slice(-count);
    return tail.length === count && tail.every((key, at) => at < period || key === tail[at - period]);
  };
  const isStuck = () => {
    const keys = results.map(({ key }) => key);
    if (repeats(actions, 4, 1) && repeats(keys, 4, 1)) return true;
    if (repeats(actions, 3, 1) && results.length >= 3 && results.slice(-3).every(({ ok }) => !ok)) return true;
    const said = messages.slice(-3);
    const isMonologue = said.length === 3 && said.every(({ text }) => text === said[0]!.text);
    if (isMonologue && said[0]!.results === said[2]!.results) return true;
    return repeats(actions, 6, 2) && repeats(keys, 6, 2);
  };
  return (event: RunEvent, index: number) => {
    switch (event.type) {
      case 'user':
        if (!isHeadless) [actions, results, messages] = [[], [], []];
        return false;
      case 'tool_call':
        push(actions, `call\n${callOf(event)}`);
        return false;
      case 'tool_result':
        seen++;
        push(results, { key: `${event.ok}\n${wholeText(event)}`, ok: event.ok });
        return isStuck();
      case 'assistant': {
        if (hasCalls(run, index)) return false;
        push(actions, `message\n${wholeText(event)}`);
        push(messages, { text: wholeText(event), results: seen });
        return isStuck();
      }
    }
  };
};

export const peers: readonly Detector[] = [
  detector('seed B, empty texts count', seed(true)),
  detector('seed B, tool-only turns skipped', seed(false)),
  detector('same call x3', sameCall(3)),
  detector('same call x5 (Gemini CLI)', sameCall(5)),
  detector('OpenHands-like, interactive', openHands(false)),
  detector('OpenHands-like, headless', openHands(true)),
  detector('5 failures in a row per tool', failures(5)),
];
