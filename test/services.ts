/**
 * Programs that tests need and npm does not bring: found on the PATH, installed once before the tests, or missing with
 * a reason. Adding a service is one row of the table.
 */

import { spawn, spawnSync } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';

type Manager = 'apt-get' | 'dnf' | 'apk' | 'brew';

interface Service {
  /** The program that must be on the PATH. */
  readonly program: string;
  /** The package that brings it, by package manager. */
  readonly packages: Readonly<Record<Manager, string>>;
  /** Whether only a program of the package is wanted: neither its daemon nor what it recommends. */
  readonly isToolOnly?: boolean;
}

/** A service, or the reason why it cannot be used and what a person may run. */
export interface Readiness {
  readonly name: ServiceName;
  readonly missing: string | undefined;
}

export type ServiceName = keyof typeof services;

export const services = {
  redis: {
    program: 'redis-server',
    packages: { 'apt-get': 'redis-server', dnf: 'redis', apk: 'redis', brew: 'redis' },
  },
  chromium: {
    program: 'chromium',
    packages: { 'apt-get': 'chromium', dnf: 'chromium', apk: 'chromium', brew: 'chromium' },
  },
  promtool: {
    program: 'promtool',
    packages: { 'apt-get': 'prometheus', dnf: 'golang-github-prometheus', apk: 'prometheus', brew: 'prometheus' },
    isToolOnly: true,
  },
} as const satisfies Record<string, Service>;

const lockWaitSecs = 300;
const lockRetryMs = 2_000;
/** A command that takes longer than this is ended. */
const commandMaxMs = 600_000;

interface Installing {
  /** All but brew need root, and brew refuses it. */
  readonly needsRoot: boolean;
  /** Has the manager wait while another process holds its lock; dnf does so by itself. */
  readonly waiting: readonly string[];
  readonly installing: readonly string[];
  /** Options for a package of which only a tool is wanted; needed where an install starts daemons. */
  readonly toolOnly?: readonly string[];
  /** Reads the lists of packages, without which a new machine knows none. */
  readonly updating?: readonly string[];
}

/** While this file exists and exits with 101, packages of Debian start no daemon. One of the machine is left alone. */
const daemonPolicy = '/usr/sbin/policy-rc.d';
const ownPolicyMark = 'written by the tests of switchgear';
const addPolicy = `printf '#!/bin/sh\\n# ${ownPolicyMark}\\nexit 101\\n' > ${daemonPolicy}; chmod 755 ${daemonPolicy}`;
const dropPolicy = `if grep -qs '${ownPolicyMark}' ${daemonPolicy}; then rm ${daemonPolicy}; fi`;

const managers: Readonly<Record<Manager, Installing>> = {
  'apt-get': {
    needsRoot: true,
    waiting: ['-o', `DPkg::Lock::Timeout=${lockWaitSecs}`],
    installing: ['install', '-y'],
    toolOnly: [
      '--no-install-recommends',
      ...['-o', `DPkg::Pre-Invoke::=if [ ! -e ${daemonPolicy} ]; then ${addPolicy}; fi`],
      ...['-o', `DPkg::Post-Invoke::=${dropPolicy}`],
    ],
    updating: ['update'],
  },
  dnf: { needsRoot: true, waiting: [], installing: ['install', '-y'] },
  apk: { needsRoot: true, waiting: ['--wait', `${lockWaitSecs}`], installing: ['add'], updating: ['update'] },
  brew: { needsRoot: false, waiting: [], installing: ['install'] },
};

/** Words of a package manager that gave up because another process holds a lock. */
const lockWords = /could not get lock|unable to (acquire|lock)|already locked|another active homebrew process/i;

/** The path of a program on the PATH; undefined where there is none. */
export function findProgram(name: string, path = process.env.PATH ?? ''): string | undefined {
  for (const folder of path.split(delimiter).filter((each) => each !== '')) {
    const file = join(folder, name);
    try {
      accessSync(file, constants.X_OK);
      if (statSync(file).isFile()) return file;
    } catch {
      // Not in this folder.
    }
  }
  return undefined;
}

/** Whether skipping is forbidden: on a CI machine a missing service is a failure. */
export function isCi(env: NodeJS.ProcessEnv = process.env): boolean {
  return !['', '0', 'false'].includes(env.CI ?? '');
}

/** Why a service cannot be used and what to run; undefined where it is on the PATH. */
export function missingService(name: ServiceName): string | undefined {
  const { program } = services[name];
  return findProgram(program) === undefined ? `${program} is not installed (${adviceFor(name)})` : undefined;
}

/** `test` of `node:test` for tests that need a service: skipped with the reason where it is missing, except on CI. */
export function testWith(name: ServiceName): typeof test {
  const missing = missingService(name);
  if (missing === undefined || isCi()) return test;
  const skipped = (title: string) => test(title, { skip: missing });
  return skipped as typeof test;
}

/** Ends a program that cannot work without a service, with one line that says what to run. */
export function requireService(name: ServiceName): void {
  const missing = missingService(name);
  if (missing === undefined) return;
  console.error(missing);
  process.exit(1);
}

/**
 * Finds every service, and installs each that is missing.
 * @param print Takes the command lines that are run, and the words of those that fail.
 */
export async function makeReady(print: (line: string) => void, mayInstall = true): Promise<readonly Readiness[]> {
  const found: Readiness[] = [];
  for (const name of Object.keys(services) as ServiceName[]) {
    if (mayInstall && missingService(name) !== undefined) await install(name, print);
    found.push({ name, missing: missingService(name) });
  }
  return found;
}

async function install(name: ServiceName, print: (line: string) => void): Promise<void> {
  for (const line of installLines(name)) {
    if (missingService(name) === undefined) return; // Another process installed it while this one waited.
    print(`${services[name].program} is not on the PATH; running: ${line.join(' ')}`);
    const failure = await runWaiting(line, () => missingService(name) === undefined);
    if (failure !== undefined) print(failure);
  }
}

/** Runs a command, again while another process holds a lock that it does not wait for by itself. */
async function runWaiting(line: readonly string[], isDone: () => boolean): Promise<string | undefined> {
  for (const untilMs = performance.now() + lockWaitSecs * 1_000; ; ) {
    const { code, words } = await runLine(line);
    if (code === 0 || isDone()) return undefined;
    if (!lockWords.test(words) || performance.now() > untilMs) return `${line.join(' ')}: ${words || `exit ${code}`}`;
    await new Promise((resolve) => setTimeout(resolve, lockRetryMs));
  }
}

function runLine([command = '', ...args]: readonly string[]): Promise<{ code: number | null; words: string }> {
  return new Promise((resolve) => {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', HOMEBREW_NO_AUTO_UPDATE: '1', LC_ALL: 'C' };
    const child = spawn(command, args, { env, stdio: ['ignore', 'ignore', 'pipe'], timeout: commandMaxMs });
    let words = '';
    child.stderr.on('data', (data) => {
      words = `${words}${data}`.slice(-4_096);
    });
    child.on('error', (error) => resolve({ code: null, words: error.message }));
    child.on('close', (code) => resolve({ code, words: words.trim() }));
  });
}

/** The command lines that this process may run to install a service, in order; none where it may not. */
function installLines(name: ServiceName): readonly (readonly string[])[] {
  const isRoot = process.getuid?.() === 0;
  for (const manager of managersFound()) {
    const { needsRoot, waiting, installing, toolOnly = [], updating } = managers[manager];
    const { packages, isToolOnly }: Service = services[name];
    const prefix = needsRoot && !isRoot ? ['sudo', '-n'] : [];
    if ((isRoot && !needsRoot) || (prefix.length > 0 && !maySudo())) continue;
    const line = (words: readonly string[]) => [...prefix, manager, ...waiting, ...words];
    const install = line([...installing, ...(isToolOnly === true ? toolOnly : []), packages[manager]]);
    return updating === undefined ? [install] : [install, line(updating), install];
  }
  return [];
}

function managersFound(): readonly Manager[] {
  return (Object.keys(managers) as Manager[]).filter((each) => findProgram(each) !== undefined);
}

function maySudo(): boolean {
  return findProgram('sudo') !== undefined && spawnSync('sudo', ['-n', 'true'], { stdio: 'ignore' }).status === 0;
}

/** What a person runs to install a service. */
function adviceFor(name: ServiceName): string {
  const { program, packages } = services[name];
  const [manager] = managersFound();
  if (manager === undefined) return `put ${program} on the PATH; found none of ${Object.keys(managers).join(', ')}`;
  const { needsRoot, installing } = managers[manager];
  return `install it with: ${[needsRoot ? 'sudo' : '', manager, ...installing, packages[manager]].join(' ').trim()}`;
}
