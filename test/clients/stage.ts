/** One run of a CLI under `switchgear run`: in a folder and a home of its own, before a model that plays a story. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Card } from '../../src/core/card.ts';
import type { Entry } from '../../src/index.ts';
import { collectOutput } from '../harness/child-output.ts';
import { bin } from '../harness/switchgear-bin.ts';
import type { Client } from './clients.ts';
import { type Mock, mockModel, type Turn } from './mock-model.ts';
import { type Asked, askedIn } from './requests.ts';

export interface Finished {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface Stage {
  readonly folder: string;
  /** The folder that the agent works in. */
  readonly work: string;
  readonly mock: Mock;
  /** What the model was asked, request by request. */
  readonly asked: readonly Asked[];
  /** Runs `switchgear` with some words. */
  switchgear(...words: readonly string[]): Promise<Finished>;
  /** Runs the CLI under `switchgear run`, with some options of the latter. */
  run(...options: readonly string[]): Promise<Finished>;
  /** Runs the CLI by itself, with a policy in its folder if there is one. */
  alone(policy?: string): Promise<Finished>;
  /** Runs the CLI by itself, before a gateway with some options. */
  behindGateway(...options: readonly string[]): Promise<Finished>;
  journal(): Promise<readonly Entry[]>;
  cards(): Promise<readonly Card[]>;
  /** Whether hooks of the CLI have kept anything in the store. */
  wereHooksAsked(): boolean;
  close(): Promise<void>;
}

/** The files of the stage. @default a small project with a fault in it */
export interface Setting {
  readonly prompt?: string;
  readonly files?: Readonly<Record<string, string>>;
  /** How long a run may take before it is ended: whatever is told has to be over long before. */
  readonly patienceMs?: number;
}

export async function stage(
  client: Client,
  installed: string,
  story: (asked: Asked) => Turn,
  { prompt = 'Find out why the check fails.', files = faultyProject, patienceMs = 120_000 }: Setting = {},
): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), `switchgear-${client.name}-`));
  const work = join(folder, 'work');
  mkdirSync(work);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(work, name)), { recursive: true });
    writeFileSync(join(work, name), text);
  }
  const database = join(folder, 'state.db');
  const asked: Asked[] = [];
  const mock = await mockModel((_turn, body) => {
    const request = askedIn(body);
    asked.push(request);
    return story(request);
  });
  const env = {
    ...client.settle(folder, mock.url),
    HOME: folder,
    TMPDIR: folder,
    PATH: [join(installed, 'node_modules', '.bin'), dirname(process.execPath), process.env.PATH].join(delimiter),
    SWITCHGEAR_STORE: `sqlite:${database}`,
  };

  function start(command: string, words: readonly string[], own: object = {}): Promise<Finished> {
    return new Promise((resolve, reject) => {
      const child = spawn(command, words, { cwd: work, env: { ...env, ...own }, stdio: ['ignore', 'pipe', 'pipe'] });
      const { out, err } = collectOutput(child);
      const late = setTimeout(() => child.kill('SIGTERM'), patienceMs);
      child.on('error', reject);
      child.on('close', (code) => {
        clearTimeout(late);
        resolve({ code, out: out(), err: err() });
      });
    });
  }

  const switchgear = (...words: readonly string[]) => start(process.execPath, [bin, ...words]);
  const [program = '', ...words] = client.command(prompt);

  return {
    folder,
    work,
    mock,
    asked,
    switchgear,
    run: (...options) => switchgear('run', ...options, '--', program, ...words),
    alone(policy) {
      if (policy !== undefined) writeFileSync(join(work, 'switchgear.toml'), policy);
      return start(join(installed, 'node_modules', '.bin', program), words);
    },
    async behindGateway(...options) {
      const upstream = ['gateway', '--port', '0', '--upstream', mock.url];
      const stdio = ['ignore', 'pipe', 'inherit'] as const;
      const gateway = spawn(process.execPath, [bin, ...upstream, ...options], { cwd: work, env, stdio: [...stdio] });
      const [url] = (await once(gateway.stdout!, 'data')) as [Buffer];
      try {
        return await start(
          join(installed, 'node_modules', '.bin', program),
          words,
          client.settle(folder, String(url).trim()),
        );
      } finally {
        const closed = once(gateway, 'close');
        gateway.kill('SIGTERM');
        await closed;
      }
    },
    async journal() {
      const { out } = await switchgear('tail', '--json', '-n', '100000');
      return lines(out).map((line) => JSON.parse(line) as Entry);
    },
    cards: async () => JSON.parse((await switchgear('inbox', 'list', '--json')).out) as Card[],
    wereHooksAsked() {
      const db = new DatabaseSync(database, { readOnly: true });
      const kept = db.prepare("SELECT count(*) AS many FROM cells WHERE key LIKE 'hook/%'").get()?.many;
      db.close();
      return kept !== 0;
    },
    async close() {
      await mock.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function lines(text: string): readonly string[] {
  return text.split('\n').filter((line) => line !== '');
}

/** A small project with a fault in it. */
const faultyProject = {
  'README.md': '# Sums\n\nAdds numbers. Check it with `node check.mjs`.\n',
  'sum.mjs':
    'export function sum(list) {\n  let total = 1;\n  for (const each of list) total += each;\n  return total;\n}\n',
  'check.mjs':
    "import { sum } from './sum.mjs';\nconst found = sum([1, 2]);\n" +
    "console.log('the sum is', found);\nprocess.exitCode = found === 3 ? 0 : 1;\n",
  'slow.mjs': "setTimeout(() => console.log('done at last'), 12_000);\n",
};
