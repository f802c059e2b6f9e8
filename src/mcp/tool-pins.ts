/**
 * The tools of a server as they were first seen: the digest of each whole definition, in the store. A later change is a
 * card, and where the policy says so the tool is not used until a person accepts the change.
 */

import { createHash } from 'node:crypto';
import type { Card } from '../core/card.ts';
import { cellKey } from '../core/cell-key.ts';
import { cleanLine } from '../core/foreign-text.ts';
import { shorten } from '../core/names.ts';
import { openCard, type Runtime } from '../guard/internal.ts';
import type { Cell } from '../ports/store.ts';
import { findHiddenCharacters } from './hidden-characters.ts';
import { type RpcMessage, readObject } from './message.ts';

/** The pins of a server. */
interface PinState {
  /** Whether a whole list was seen, so that a further tool is a change. */
  isComplete: boolean;
  /** The pin of each tool, by the digest of its name. */
  pins: Record<string, string>;
  /** Changes that a person is asked about, by the id of their card: the pins that an approval puts in force. */
  asked: Record<string, Record<string, string>>;
}

export interface ToolPins {
  /**
   * Compares the tools of a page of the list with their pins, and pins new ones.
   * @param page Whether the page is the first one, and the last one.
   */
  readPage(tools: readonly RpcMessage[], page: { readonly isFirst: boolean; readonly isLast: boolean }): void;
  /** Whether a tool has changed, and nobody has accepted the change. */
  isChanged(tool: string): boolean;
  /** Compares the introduction of the server with its pin. */
  readIntroduction(result: RpcMessage): void;
  /** Opens a card about a server that introduced itself in another way after it was started again. */
  reportRestart(before: string, after: string): void;
}

/** Tools that are pinned, changes of a server that are asked about, and lines of a card about them. */
const pinsMax = 500;
const askedMax = 8;
const linesMax = 20;

const members = ['title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const;
/** The name under which the introduction of the server is pinned; no tool has an empty name. */
const introduction = '';

/**
 * Opens the pins of a server.
 * @param origin The command or the address of the server.
 */
export async function openToolPins(runtime: Runtime, server: string, origin: readonly string[]): Promise<ToolPins> {
  const { store } = runtime;
  const key = cellKey('mcp-pins', server, digest(JSON.stringify(origin)));
  const cell = store.cell<PinState>(key, () => ({ isComplete: false, pins: {}, asked: {} }));
  // Reads the cell: the view of a store that is far away may be empty.
  await store.shared?.commit({ changes: [{ cell: cell as Cell, update: () => 'keep' }] });
  return new StoredToolPins(runtime, server, cell);
}

interface Difference {
  readonly tool: string;
  readonly before: string | undefined;
  readonly after: string;
}

class StoredToolPins implements ToolPins {
  readonly #runtime: Runtime;
  readonly #server: string;
  readonly #cell: Cell<PinState>;
  /** The pins of the tools as the server lists them now, where they differ. */
  readonly #changed = new Map<string, string>();
  /** Pins that the view of the store may not have yet: of new tools, and of changes that a person accepted. */
  readonly #added = new Map<string, string>();
  readonly #accepted = new Map<string, string>();
  /** Whether the pages of a list are read from its beginning. */
  #isWhole = false;
  readonly #reported = new Set<string>();

  constructor(runtime: Runtime, server: string, cell: Cell<PinState>) {
    this.#runtime = runtime;
    this.#server = server;
    this.#cell = cell;
    for (const pins of Object.values(cell.state.asked))
      for (const [name, pin] of Object.entries(pins)) if (cell.state.pins[name] !== pin) this.#changed.set(name, pin);
  }

  readPage(tools: readonly RpcMessage[], page: { readonly isFirst: boolean; readonly isLast: boolean }): void {
    this.#accept();
    if (page.isFirst) this.#isWhole = true;
    const { isComplete, pins } = this.#cell.state;
    const added: Record<string, string> = {};
    const differences: Difference[] = [];
    let free = pinsMax - Object.keys(pins).length;
    const isSame = new Map<string, boolean>();
    for (const tool of tools) {
      const name = nameKey(String(tool.name));
      const after = makePin(tool);
      const before = this.#pinOf(name);
      isSame.set(name, before === after && isSame.get(name) !== false);
      if (before === after) continue;
      if (before !== undefined || isComplete || free <= 0) {
        this.#changed.set(name, after);
        differences.push({ tool: String(tool.name), before, after });
      } else {
        added[name] = after;
        this.#added.set(name, after);
        isSame.set(name, true);
        free--;
      }
    }
    for (const [name, is] of isSame) if (is) this.#changed.delete(name);
    const completes = page.isLast && this.#isWhole && !isComplete;
    if (page.isLast) this.#isWhole = false;
    if (Object.keys(added).length > 0 || completes) this.#update((state) => pin(state, added, completes));
    if (differences.length > 0) this.#ask(differences);
    this.#flag(tools);
  }

  readIntroduction(result: RpcMessage): void {
    this.#accept();
    const text = { instructions: result.instructions ?? null };
    const after = makePin(text);
    const name = nameKey(introduction);
    const before = this.#pinOf(name);
    if (before === undefined) this.#update((state) => pin(state, { [name]: after }, false));
    else if (before !== after) this.#ask([{ tool: introduction, before, after }]);
    this.#flag([{ name: introduction, ...text }]);
  }

  isChanged(tool: string): boolean {
    if (this.#changed.size === 0) return false;
    const name = nameKey(tool);
    if (!this.#changed.has(name)) return false;
    this.#runtime.store.shared?.refresh();
    this.#accept();
    return this.#changed.has(name);
  }

  reportRestart(before: string, after: string): void {
    const [one, other] = [digest(before), digest(after)];
    const evidence = [
      `the MCP server ${quote(this.#server)} was started again and introduces itself in another way than before`,
      `digest ${one}, now ${other}`,
    ];
    this.#open({
      id: `card-mcp-${digest(this.#cell.key, one, other)}`,
      kind: 'notice',
      evidence,
      actions: ['dismiss'],
    });
  }

  /** Puts the pins in force that a person has accepted. */
  #accept(): void {
    const { store } = this.#runtime;
    for (const [id, pins] of Object.entries(this.#cell.state.asked)) {
      const card = store.card(id);
      if (card?.answer !== 'approve') continue;
      for (const [name, accepted] of Object.entries(pins)) {
        this.#changed.delete(name);
        this.#accepted.set(name, accepted);
      }
      this.#update((state) => {
        const { [id]: accepted, ...asked } = state.asked;
        return { ...state, asked, pins: { ...state.pins, ...accepted } };
      });
    }
  }

  #pinOf(name: string): string | undefined {
    const { pins } = this.#cell.state;
    return this.#accepted.get(name) ?? (Object.hasOwn(pins, name) ? pins[name] : this.#added.get(name));
  }

  /** Opens the card about changes, once for the same ones. */
  #ask(differences: readonly Difference[]): void {
    const pins = Object.fromEntries(differences.map(({ tool, after }) => [nameKey(tool), after]));
    const stem = `card-mcp-${digest(this.#cell.key, JSON.stringify(Object.entries(pins).toSorted()))}`;
    const isRefused = this.#runtime.settings.mcp.onToolChange === 'refuse';
    const id = this.#findFreeId(stem, isRefused);
    if (id === undefined) return;
    const count = differences.length;
    const what = count === 1 ? describeSubject(differences[0]!.tool) : `${count} tools`;
    const use = isRefused ? 'not used until the change is approved' : 'still used';
    const lines = differences.slice(0, linesMax).map(describeDifference);
    const evidence = [
      `the MCP server ${quote(this.#server)} changed what it says about ${what}`,
      ...lines,
      ...(count > linesMax ? [`and ${count - linesMax} more`] : []),
      `${what} of the MCP server ${quote(this.#server)} changed: ${use}`,
    ];
    this.#update((state) => {
      const asked = Object.entries({ ...state.asked, [id]: pins }).slice(-askedMax);
      return { ...state, asked: Object.fromEntries(asked) };
    });
    const actions = isRefused ? (['approve', 'decline'] as const) : (['approve', 'dismiss'] as const);
    this.#open({ id, kind: isRefused ? 'ask' : 'notice', evidence, actions });
  }

  /** The id of a new card; undefined if a person has been asked. A declined change is asked about once per session. */
  #findFreeId(stem: string, isRefused: boolean): string | undefined {
    const { store } = this.#runtime;
    if (this.#reported.has(stem)) return undefined;
    this.#reported.add(stem);
    for (let n = 1; n <= askedMax; n++) {
      const id = n === 1 ? stem : `${stem}-${n}`;
      const card = store.card(id);
      if (card === undefined) return id;
      if (card.state === 'open' || !isRefused) return undefined;
    }
    return undefined;
  }

  /** Opens a card about texts with characters that nobody sees. */
  #flag(tools: readonly RpcMessage[]): void {
    const flagged = tools.flatMap((tool) => {
      const characters = findHiddenCharacters(tool);
      return characters.length === 0 ? [] : [{ tool: String(tool.name), characters }];
    });
    if (flagged.length === 0) return;
    const id = `card-mcp-${digest(this.#cell.key, 'hidden', JSON.stringify(flagged))}`;
    if (this.#reported.has(id)) return;
    this.#reported.add(id);
    const lines = flagged.slice(0, linesMax).map(({ tool, characters }) => {
      const shown = characters.slice(0, 10).join(' ');
      return `${describeSubject(tool)}: ${shown}${characters.length > 10 ? ' …' : ''}`;
    });
    const evidence = [
      `the MCP server ${quote(this.#server)} describes itself with characters that a model reads and nobody sees`,
      ...lines,
    ];
    this.#open({ id, kind: 'notice', evidence, actions: ['dismiss'] });
  }

  #open(card: Pick<Card, 'id' | 'kind' | 'evidence' | 'actions'>): void {
    const { store, clock } = this.#runtime;
    if (store.card(card.id) !== undefined) return;
    const whole: Card = { ...card, task: '', code: 'notice', counters: {}, state: 'open' };
    openCard(this.#runtime, whole, undefined, clock.nowMs());
  }

  #update(change: (state: PinState) => PinState): void {
    const { shared } = this.#runtime.store;
    if (shared === undefined) {
      Object.assign(this.#cell.state, change(this.#cell.state));
      return;
    }
    const update = (state: PinState) => ({ state: change(state) });
    void shared.commit({ changes: [{ cell: this.#cell as Cell, update: update as never }], queueIfUnavailable: true });
  }
}

/** Adds pins; one that another process was faster to add stays. */
function pin(state: PinState, added: Readonly<Record<string, string>>, completes: boolean): PinState {
  return { ...state, isComplete: state.isComplete || completes, pins: { ...added, ...state.pins } };
}

/** The pin of a definition: the digest of all of it, and short ones of its members. */
function makePin(tool: RpcMessage): string {
  const { name: _, ...rest } = tool;
  const parts = members.map((member) => digest(writeSorted(rest[member] ?? null)).slice(0, 6));
  return [digest(writeSorted(tool)), ...parts].join(':');
}

/** Writes a value with the members of objects sorted by name, however deep it is nested. */
function writeSorted(value: unknown): string {
  let text = '';
  /** The texts and values left to write, the last one first. */
  const left: ({ readonly text: string } | { readonly value: unknown })[] = [{ value }];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if ('text' in next) {
      text += next.text;
      continue;
    }
    const object = readObject(next.value);
    if (object === undefined && !Array.isArray(next.value)) {
      text += JSON.stringify(next.value);
      continue;
    }
    text += '[';
    left.push({ text: ']' });
    if (object === undefined) {
      const items = next.value as readonly unknown[];
      for (let at = items.length - 1; at >= 0; at--) left.push({ value: items[at] }, { text: at === 0 ? '' : ',' });
      continue;
    }
    const names = Object.keys(object).toSorted();
    for (let at = names.length - 1; at >= 0; at--) {
      const head = `${at === 0 ? '' : ','}[${JSON.stringify(names[at])},`;
      left.push({ text: ']' }, { value: object[names[at]!] }, { text: head });
    }
  }
  return text;
}

/** One line about a change: the tool, its members, both digests. Never the texts themselves. */
function describeDifference({ tool, before, after }: Difference): string {
  const subject = describeSubject(tool);
  const [newDigest = '', ...newParts] = after.split(':');
  if (before === undefined) return `${subject} is new; digest ${newDigest}`;
  const [oldDigest = '', ...oldParts] = before.split(':');
  const changed = members.filter((_, index) => oldParts[index] !== newParts[index]);
  const what = tool === introduction ? 'instructions' : changed.join(', ') || 'other members';
  return `${subject}: ${what}; digest ${oldDigest}, now ${newDigest}`;
}

function describeSubject(tool: string): string {
  return tool === introduction ? 'its instructions' : quote(tool);
}

/** A foreign name on one line of a card. */
function quote(name: string): string {
  return JSON.stringify(cleanLine(shorten(name, 100)));
}

function nameKey(tool: string): string {
  return digest(tool).slice(0, 11);
}

function digest(...texts: readonly string[]): string {
  return createHash('sha256').update(texts.join('\0')).digest('base64url').slice(0, 22);
}
