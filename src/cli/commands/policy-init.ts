/** The command `switchgear policy init`: writes a policy file with every setting as a comment. */

import { writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { defaultSettings } from '../../core/controls/defaults.ts';
import { SwitchgearError } from '../../core/error.ts';
import { findNearestName } from '../../core/names.ts';
import { findPolicyFiles } from '../../platform/policy-files.ts';
import { parsePolicy } from '../../policy/file/files.ts';
import { policyStarter } from '../../policy/pages/starter.ts';
import { type PresetName, presets } from '../../policy/table/presets.ts';
import { tightenSettings } from '../../policy/trust/tighten-settings.ts';
import { exitCodes, readArgs, type Terminal, usageError } from '../command.ts';
import { nameSettings } from '../policy/describe-policy.ts';

const fileName = 'switchgear.toml';

/** Refuses to overwrite a policy file, in whichever format. */
export function writePolicyStarter(args: readonly string[], terminal: Terminal): number {
  const { values } = readArgs(args, [], 0, ['--preset']);
  const preset = readPreset(values.get('--preset'));
  const { cwd } = terminal;
  const path = join(cwd, fileName);
  const [found] = findPolicyFiles(cwd, terminal);
  const foundName = found === undefined ? undefined : relative(cwd, found);
  if (foundName !== undefined && !/[/\\]/.test(foundName)) throw existsError(foundName);
  const text = policyStarter(preset);
  try {
    writeFileSync(path, text, { flag: 'wx' });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw existsError(fileName);
    throw new SwitchgearError('policy_unwritable', `cannot write ${path}: ${message}`, { cause: error });
  }
  terminal.out(
    `wrote ${fileName}: every setting is a comment with its default; edit it, then: switchgear policy check`,
  );
  if (foundName !== undefined) terminal.out(`in this folder it takes the place of ${foundName}`);
  const { waiting } = tightenSettings(defaultSettings, parsePolicy(text, fileName).settings);
  if (waiting.length > 0)
    terminal.out(`preset ${preset} loosens ${nameSettings(waiting)}; to allow it: switchgear policy trust`);
  return exitCodes.ok;
}

function existsError(name: string): SwitchgearError {
  return new SwitchgearError('policy_exists', `${name} is here already, and is not overwritten`);
}

function readPreset(name: string | undefined): PresetName | undefined {
  if (name === undefined || Object.hasOwn(presets, name)) return name as PresetName | undefined;
  const near = findNearestName(name, Object.keys(presets));
  const hint = near === undefined ? `expected one of ${Object.keys(presets).join(', ')}` : `did you mean ${near}?`;
  throw usageError(`policy init: unknown preset ${JSON.stringify(name)}; ${hint}`);
}
