/** The tools of a server that its client may see and call: by the lists of the policy, and by open breakers. */

import type { ToolGlobs, ToolLists } from '../core/declare/mcp-settings.ts';
import { isMatch } from '../core/glob.ts';
import type { Stop } from '../core/verdict.ts';
import { callSiteFor, isObserving, type Runtime, type Target } from '../guard/internal.ts';
import { pendingMax } from './limits.ts';
import { listTools, type RpcMessage, readObject } from './message.ts';
import { nameServer } from './names.ts';
import type { ToolPins } from './tool-pins.ts';

/** The server says that a tool only reads. */
const reads = { effect: 'read' } as const;

export interface ListedTools {
  /** Whether the policy limits the list of tools, so that none may pass unread. */
  readonly isLimited: boolean;
  /** The stop of a call by the lists of the policy. */
  judge(tool: string): Stop | undefined;
  /** Whether a tool is left out of the list. Remembers that the client asked for it. */
  hides(tool: string): boolean;
  /** Reads a page of the list, before it is limited. */
  readPage(result: RpcMessage, isFirst: boolean): void;
  /** The tools as they were first seen. */
  readonly pins: ToolPins | undefined;
  /** Compares the list with the one that the client has, and announces a change. */
  check(): void;
  /** Called when the client should ask for the list again. */
  onChange: (() => void) | undefined;
}

/** @param findTarget Returns the target of a tool. */
export function createListedTools(
  runtime: Runtime,
  server: string,
  findTarget: (tool: string) => Target,
  pins?: ToolPins,
): ListedTools {
  const { clock } = runtime;
  const serverNames = [server, nameServer(server).slice('mcp__'.length)];
  /** The tools that the client asked for, with whether they were left out because of their breaker. */
  const asked = new Map<string, boolean>();
  let cancelTimer: (() => void) | undefined;

  const listsOf = (globs: ToolGlobs | undefined) =>
    Object.entries(globs ?? {}).flatMap(([pattern, list]) =>
      serverNames.some((name) => isMatch(pattern, name)) ? [list] : [],
    );

  let known = { lists: runtime.settings.mcp.tools, byTool: new Map<string, boolean>() };

  const isAllowed = (tool: string): boolean => {
    const lists = runtime.settings.mcp.tools;
    if (lists.allow === undefined && lists.deny === undefined) return true;
    if (known.lists !== lists || known.byTool.size >= pendingMax) known = { lists, byTool: new Map() };
    let is = known.byTool.get(tool);
    if (is === undefined) {
      is = compare(tool, lists);
      known.byTool.set(tool, is);
    }
    return is;
  };

  const compare = (tool: string, { allow, deny }: ToolLists): boolean => {
    const fullName = findTarget(tool).name;
    const plain = plainName(tool);
    const fits = (glob: string) => isMatch(glob, glob.startsWith('mcp__') ? fullName : tool);
    const fitsPlain = (glob: string) => isMatch(plainName(glob), glob.startsWith('mcp__') ? fullName : plain);
    if (listsOf(deny).some((list) => list.some((glob) => fits(glob) || fitsPlain(glob)))) return false;
    return listsOf(allow).every((list) => list.some(fits));
  };

  const isPinned = () => pins !== undefined && runtime.settings.mcp.onToolChange === 'refuse';
  const isChanged = (tool: string) => isPinned() && pins!.isChanged(tool);

  /** Until when the breaker of a tool refuses all calls; 0 if it lets calls or a probe pass. */
  const openUntil = (tool: string): number => {
    const { breaker } = callSiteFor(runtime, findTarget(tool), undefined);
    if (breaker === undefined || breaker.settings.mode !== 'enforce') return 0;
    const { phase, openUntilMs, heldAtMs } = breaker.cell.state;
    if (heldAtMs >= 0 || (phase === 'open' && openUntilMs < 0)) return Number.POSITIVE_INFINITY;
    return phase === 'open' && openUntilMs > clock.nowMs() ? openUntilMs : 0;
  };

  /** Looks again when the next breaker lets a probe pass: a tool that nobody sees is not called. */
  const watch = (untilMs: number) => {
    cancelTimer?.();
    cancelTimer = undefined;
    if (Number.isFinite(untilMs)) cancelTimer = clock.after(untilMs - clock.nowMs(), () => tools.check());
  };

  const tools: ListedTools = {
    onChange: undefined,
    pins,
    readPage(result, isFirst) {
      const page = listTools(result);
      for (const { name, annotations } of page) {
        const isReading = readObject(annotations)?.readOnlyHint === true;
        if (typeof name === 'string') findTarget(name).effect = isReading ? reads : undefined;
      }
      pins?.readPage(page, { isFirst, isLast: typeof result.nextCursor !== 'string' });
    },
    get isLimited() {
      const { allow, deny } = runtime.settings.mcp.tools;
      return (allow !== undefined || deny !== undefined || isPinned()) && !isObserving(runtime);
    },
    judge(tool) {
      if (!tools.isLimited) return undefined;
      if (isChanged(tool)) return { kind: 'deny', code: 'tool_changed', control: 'mcp', counters: {} };
      if (isAllowed(tool)) return undefined;
      return { kind: 'deny', code: 'tool_not_allowed', control: 'mcp', counters: {} };
    },
    hides(tool) {
      if (isObserving(runtime)) return false;
      if (!isAllowed(tool) || isChanged(tool)) return true;
      if (!runtime.settings.mcp.hideOpenTools) return false;
      runtime.store.shared?.refresh();
      const isOpen = openUntil(tool) > 0;
      if (asked.size < pendingMax || asked.has(tool)) asked.set(tool, isOpen);
      if (isOpen) watch(nextProbe());
      return isOpen;
    },
    check() {
      if (asked.size === 0 || tools.onChange === undefined || isObserving(runtime)) return;
      let isChanged = false;
      for (const [tool, wasOpen] of asked) {
        const isOpen = openUntil(tool) > 0;
        if (isOpen === wasOpen) continue;
        asked.set(tool, isOpen);
        isChanged = true;
      }
      if (!isChanged) return;
      watch(nextProbe());
      tools.onChange();
    },
  };

  const nextProbe = (): number => {
    const open = [...asked].flatMap(([tool, isOpen]) => (isOpen ? [openUntil(tool)] : []));
    return Math.min(...open.filter((untilMs) => untilMs > 0), Number.POSITIVE_INFINITY);
  };

  return tools;
}

/** A name without what a lenient server may ignore: case, forms of letters, characters that nobody sees. */
function plainName(name: string): string {
  return name
    .normalize('NFKC')
    .replaceAll(/[\p{Cf}\p{Cc}\s]/gu, '')
    .toLowerCase();
}
