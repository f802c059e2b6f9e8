/** Containers with folders of this machine: what they mount, and the command inside with the paths outside. */

import { basename, join, resolve } from 'node:path';
import { shellTextMax } from '../../core/limits.ts';
import { quoteWord } from '../shell-programs.ts';
import { findOwnFile, findOwnParent, type OwnTargets, pathLengthMax } from './own-files.ts';

const engineName = /^(docker|podman|nerdctl|docker-compose)$/;
/** Options of `docker run` without a value. */
const plainOptions =
  'rm init privileged tty interactive detach read-only publish-all no-healthcheck oom-kill-disable quiet sig-proxy ' +
  'no-deps service-ports use-aliases build';
const plainOption = new RegExp(`^(-[diPt]+|--(${plainOptions.replaceAll(' ', '|')}))$`);

interface Mount {
  readonly source: string;
  readonly target: string;
}

/** What a container may write: protected files that it mounts, and the script that it runs. */
export interface ContainerUse {
  readonly found?: string | undefined;
  readonly script?: string | undefined;
}

/** Reads `docker run` and its like; undefined for other commands. */
export function readContainerCommand(
  [program = '', ...args]: readonly string[],
  cwd: string,
  targets: OwnTargets,
): ContainerUse {
  const verb = engineName.test(basename(program)) ? args.findIndex((arg) => arg === 'run' || arg === 'create') : -1;
  if (verb === -1) return {};
  const { mounts, folder, entry, command } = readRunOptions(args.slice(verb + 1), cwd);
  for (const { source } of mounts) {
    const found = findOwnFile(source, cwd, targets, false) ?? findOwnParent(source, cwd, targets);
    if (found !== undefined) return { found };
  }
  if (mounts.length === 0) return {};
  const words = [...entry, ...command].map((word) => mounts.reduce(mapPaths, word));
  // Without a folder, nothing is known about relative paths.
  const place = mounts.reduce(mapPaths, folder ?? '/dev/null/container');
  return words.length === 0 ? {} : { script: `cd ${quoteWord(place)} && ${words.map(quoteWord).join(' ')}` };
}

function readRunOptions(args: readonly string[], cwd: string) {
  const mounts: Mount[] = [];
  let folder: string | undefined;
  let entry: readonly string[] = [];
  let at = 0;
  for (; at < args.length && args[at]!.startsWith('-'); at++) {
    const [, option = args[at]!, joined] =
      /^(--[\w-]+)=(.*)$/s.exec(args[at]!) ?? /^(-[vw])(.+)$/s.exec(args[at]!) ?? [];
    if (joined === undefined && plainOption.test(option)) continue;
    const value = joined ?? args[++at] ?? '';
    if (/^(-v|--volume)$/.test(option)) mounts.push(...readVolume(value, cwd));
    else if (option === '--mount') mounts.push(...readMount(value, cwd));
    else if (/^(-w|--workdir)$/.test(option)) folder = value;
    else if (option === '--entrypoint') entry = [value];
  }
  return { mounts, folder, entry, command: args.slice(at + 1) };
}

/** `SOURCE:TARGET[:OPTIONS]`; a source without a slash is a volume of the engine. */
function readVolume(text: string, cwd: string): readonly Mount[] {
  const [source = '', target = '', options = ''] = text.split(':');
  if (!/[/.~]/.test(source) || target === '' || options.split(',').includes('ro')) return [];
  return [{ source: source.startsWith('~') ? source : resolve(cwd, source), target }];
}

/** `type=bind,source=SOURCE,target=TARGET[,readonly]`. */
function readMount(text: string, cwd: string): readonly Mount[] {
  const values = new Map(text.split(',').map((part) => part.split('=', 2) as [string, string | undefined]));
  const source = values.get('source') ?? values.get('src');
  const target = values.get('target') ?? values.get('destination') ?? values.get('dst');
  const isReadOnly = ['readonly', 'ro'].some((name) => values.has(name) && values.get(name) !== 'false');
  if (values.get('type') !== 'bind' || source === undefined || target === undefined || isReadOnly) return [];
  return [{ source: resolve(cwd, source), target }];
}

/** A text with the paths of a mount as they are outside of the container. */
function mapPaths(text: string, { source, target }: Mount): string {
  const inside = target.replace(/\/+$/, '');
  if (inside === '')
    return text.replaceAll(/(^|[\s'"=])\//g, (_, before: string) => before + join(source.slice(0, pathLengthMax), '/'));
  let mapped = '';
  let from = 0;
  for (let at = text.indexOf(inside); at !== -1; at = text.indexOf(inside, from)) {
    const end = at + inside.length;
    const isPath = !/[\w./-]/.test(text[at - 1] ?? ' ') && !/[\w.-]/.test(text[end] ?? '/');
    if (mapped.length > shellTextMax) return text;
    mapped += text.slice(from, at) + (isPath ? source : inside);
    from = end;
  }
  return mapped + text.slice(from);
}
