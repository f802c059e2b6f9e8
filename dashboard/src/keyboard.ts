/** Single-key commands of the page. Views add theirs while they are shown. */

import { preferences } from './state.ts';

/** A command behind one key, or behind two in a row: `j`, `?`, `g i`. */
export interface KeyCommand {
  readonly keys: string;
  readonly meaning: string;
  readonly run: () => void;
}

const groups = new Set<readonly KeyCommand[]>();
/** How long the second key of a pair may take. */
const pairMs = 1_000;
let first = '';
let firstMs = 0;

/** Adds commands; returns a function that removes them. */
export function addKeys(commands: readonly KeyCommand[]): () => void {
  groups.add(commands);
  return () => groups.delete(commands);
}

/** All commands that work now, for the help. */
export function listKeys(): readonly KeyCommand[] {
  return [...groups].flat();
}

/** Listens to keys. */
export function startKeyboard(): void {
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || !preferences.peek().singleKeys) return;
    if (isTyping(event.target) || document.querySelector('dialog[open]') !== null) return;
    const pair = event.timeStamp - firstMs < pairMs && first !== '' ? `${first} ${event.key}` : '';
    const commands = listKeys();
    const command = commands.find(({ keys }) => keys === pair) ?? commands.find(({ keys }) => keys === event.key);
    first = pair === '' && commands.some(({ keys }) => keys.startsWith(`${event.key} `)) ? event.key : '';
    firstMs = event.timeStamp;
    if (command === undefined) return;
    first = '';
    event.preventDefault();
    command.run();
  });
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.matches('textarea, select, input:not([type=checkbox], [type=button])');
}
