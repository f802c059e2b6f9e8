/** Finds, reads and watches policy files. The root entry point does not import this file. */

import { stat, unwatchFile, watchFile } from 'node:fs';
import { extname } from 'node:path';
import { SwitchgearError } from '../../core/error.ts';
import { policyFileBytesMax, policyPollMs } from '../../core/limits.ts';
import type { Path } from '../../core/names.ts';
import { callUnawaited } from '../../core/thenable.ts';
import { parseJson } from '../../document/parse-json.ts';
import { parseToml } from '../../document/parse-toml.ts';
import { parseYaml } from '../../document/parse-yaml.ts';
import type { SyntaxProblem } from '../../document/parsed-document.ts';
import { readUtf8 } from '../../document/read-utf8.ts';
import { findBoundsProblem } from '../../document/text-bounds.ts';
import { findPolicyFiles, type Homes } from '../../platform/policy-files.ts';
import type { Clock } from '../../ports/clock.ts';
import { type CheckedPolicy, checkPolicy } from '../check/check-policy.ts';

const parsers = { '.toml': parseToml, '.yaml': parseYaml, '.yml': parseYaml, '.json': parseJson } as const;

/**
 * Finds the policy file of a folder: in the folder itself, else in the nearest folder above it, up to the root of the
 * repository and never above the home folder. Throws if the nearest folder has two.
 */
export function findPolicy(folder: string, homes: Homes = { env: process.env }): string | undefined {
  const paths = findPolicyFiles(folder, homes);
  if (paths.length > 1)
    throw new SwitchgearError('ambiguous_policy', `found two policy files, keep one: ${paths.join(' and ')}`);
  return paths[0];
}

/** Checks the text of a policy file in the format of its extension. */
export function parsePolicy(text: string, file: string): CheckedPolicy {
  const parse = parsers[extname(file).toLowerCase() as keyof typeof parsers];
  if (!parse)
    throw new SwitchgearError(
      'invalid_policy',
      `a policy file ends in ${Object.keys(parsers).join(', ')}, got ${file}`,
    );
  const excess = findBoundsProblem(text);
  if (excess !== undefined) throw makeSyntaxError(file, excess);
  const document = parse(text);
  if (!document.ok) throw makeSyntaxError(file, document.problem);
  const lineOf = (path: Path) => document.positionOf(path)?.line;
  return checkPolicy(document.value ?? {}, { file, lineOf }); // A file of comments only is an empty document.
}

function makeSyntaxError(file: string, { message, position, cause }: SyntaxProblem): SwitchgearError {
  const format = extname(file).slice(1).toUpperCase().replace('YML', 'YAML');
  const place = position === undefined ? file : `${file}, line ${position.line}`;
  return new SwitchgearError('invalid_policy', `the policy is not valid ${format}: ${message} (${place})`, { cause });
}

/** Options of `watchPolicy`. */
export interface WatchPolicyOptions {
  /** The clock to poll with. @default the file system's own watch */
  readonly clock?: Pick<Clock, 'after'>;
  /**
   * Called once for a changed file that is invalid; the previous policy stays in force.
   * @default none
   */
  readonly onProblem?: (error: Error) => void;
}

/** A watched policy file. */
export interface PolicyWatch {
  /** The last valid policy. */
  readonly policy: CheckedPolicy;
  /** Stops watching the file. */
  stop(): void;
}

/**
 * Loads a policy now and again whenever its file changes. The first load throws; later errors keep the last valid
 * policy.
 * @example
 * import { createSwitchgear } from 'switchgear';
 * import { watchPolicy } from 'switchgear/policy';
 *
 * const watch = watchPolicy('switchgear.toml', (policy) => gear.reload(policy));
 * const gear = createSwitchgear({ policy: watch.policy });
 */
export function watchPolicy(
  path: string,
  onChange: (policy: CheckedPolicy) => void,
  options: WatchPolicyOptions = {},
): PolicyWatch {
  const { clock, onProblem } = options;
  let lastText = readPolicyText(path);
  let policy = parsePolicy(lastText, path);
  let lastProblem = '';
  const stop = clock ? pollFile(clock, reloadIfChanged) : watchFileStats(path, reloadIfChanged);

  function reloadIfChanged(): void {
    try {
      const text = readPolicyText(path);
      lastProblem = '';
      if (text === lastText) return;
      lastText = text;
      policy = parsePolicy(text, path);
      const loaded = policy;
      callUnawaited(() => onChange(loaded), reportProblem);
    } catch (error) {
      reportProblem(error);
    }
  }

  function reportProblem(error: unknown): void {
    const { message } = error as Error;
    if (message === lastProblem) return; // Report a problem once, not at every poll.
    lastProblem = message;
    callUnawaited(() => onProblem?.(error as Error), warnOfCallback);
  }

  return {
    get policy() {
      return policy;
    },
    stop,
  };
}

function warnOfCallback(error: unknown): void {
  process.emitWarning(`onProblem of watchPolicy threw: ${String(error)}`, 'SwitchgearWarning');
}

function pollFile(clock: Pick<Clock, 'after'>, look: () => void): () => void {
  let cancel = () => {};
  const next = () => {
    cancel = clock.after(policyPollMs, () => {
      next();
      look();
    });
  };
  next();
  return () => cancel();
}

/** Watches the size and time of a file without keeping the process alive. */
function watchFileStats(path: string, look: () => void): () => void {
  watchFile(path, { interval: policyPollMs, persistent: false }, look);
  stat(path, look); // Check once more: a change before the first stat of the watch would be missed.
  return () => unwatchFile(path, look);
}

/** Reads the text of a policy file, up to its largest size. */
export function readPolicyText(path: string): string {
  try {
    return readUtf8(path, policyFileBytesMax);
  } catch (error) {
    const { code, message: reason } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT')
      throw new SwitchgearError('policy_unreadable', `there is no file ${path} (ENOENT)`, { cause: error });
    throw new SwitchgearError('policy_unreadable', `cannot read the policy ${path}: ${reason}`, { cause: error });
  }
}
