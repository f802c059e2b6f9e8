/** Agents that make one failing call again and again. Also the helpers with which the runaway scripts are written. */

import { type BadStory, bash, edit, read, type StoryStep, turn } from '../story.ts';

/** The steps of a script that does nearly the same `count` times, counted from 0. */
export function rounds(count: number, one: (at: number) => StoryStep | readonly StoryStep[]): readonly StoryStep[] {
  return Array.from({ length: count }, (_, at) => one(at)).flat();
}

/** The text said in a round: one line in each `every` rounds until the lines are used up, nothing in the others. */
export function spoken(lines: readonly string[], at: number, every = 3): readonly string[] {
  const line = at % every === 0 ? lines[at / every] : undefined;
  return line === undefined ? [] : [line];
}

/** The item of a list for a round; the list begins anew when it ends. */
export function pick<T>(list: readonly T[], at: number): T {
  return list[at % list.length] as T;
}

/** A number from 0 to below 1 that looks random and is the same on each run. */
export function chance(at: number, salt = 0): number {
  let bits = Math.imul(at + 1, 0x9e3779b1) ^ Math.imul(salt + 7, 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 15), 0x2c1b3c6d);
  bits = Math.imul(bits ^ (bits >>> 12), 0x297a2d39);
  return ((bits ^ (bits >>> 15)) >>> 0) / 2 ** 32;
}

/** A hexadecimal id of `size` digits (at most 8) that differs in each round. */
export function hex(at: number, size: number, salt = 0): string {
  return Math.floor(chance(at, salt) * 16 ** size)
    .toString(16)
    .padStart(size, '0');
}

function clock(at: number, step: number): string {
  const secs = 14 * 3600 + 3 * 60 + 12 + at * step;
  return [secs / 3600, (secs / 60) % 60, secs % 60].map((part) => String(Math.floor(part)).padStart(2, '0')).join(':');
}

function cartTest(at: number): string {
  const total = 900 + Math.floor(chance(at, 1) * 900);
  const transform = 40 + Math.floor(chance(at, 2) * 60);
  return `Exit code 1

 RUN  v3.2.4 /home/dev/shop

 ❯ src/cart/cart.test.ts (6 tests | 1 failed) ${14 + Math.floor(chance(at, 3) * 30)}ms
   ✓ cart totals > is zero for an empty cart ${1 + Math.floor(chance(at, 4) * 3)}ms
   × cart totals > applies the voucher before tax ${5 + Math.floor(chance(at, 5) * 9)}ms
     → expected 107.1 to be 95.2 // Object.is equality

 FAIL  src/cart/cart.test.ts > cart totals > applies the voucher before tax
AssertionError: expected 107.1 to be 95.2 // Object.is equality
 ❯ src/cart/cart.test.ts:41:28

 Test Files  1 failed (1)
      Tests  1 failed | 5 passed (6)
   Start at  ${clock(at, 9)}
   Duration  ${total}ms (transform ${transform}ms, setup 0ms, collect 88ms, tests 21ms, environment 0ms, prepare 61ms)`;
}

const routesFile = `import { Router } from 'express';
import { listOrders, showOrder } from './handlers.js';

export const routes = Router();

routes.get('/orders', listOrders);
routes.get('/orders/:id', showOrder);`;

const editMiss = `<tool_use_error>String to replace not found in file.
String: router.get('/orders', listOrders);
router.get('/orders/:id', showOrder);</tool_use_error>`;

const deployOpeners = [
  'Error: deployment aborted',
  'The rollout did not complete',
  'deploy: giving up',
  'fatal: could not publish release',
  'Release step ended with a problem',
  '[staging] FAILED',
  'Something went wrong during the upload',
  'Abort. Nothing was changed',
];

const deployReasons = [
  'the registry denied access to image shop/api (unauthorized)',
  'no valid credentials for registry.internal were supplied',
  'push access to shop/api is not granted to this account',
  'authentication is required before layers can be uploaded',
  'server answered 401 while requesting an upload session',
  'your login has expired, or never existed, on this host',
  'token service refused to issue a token for scope push',
  'docker config holds no entry that the registry accepts',
  'permission problem: anonymous users may only pull',
];

const jiraOpeners = [
  'Could not create the issue',
  'Request rejected by the tracker',
  'Error 400',
  'Validation of your input failed',
  'Sorry, that did not work',
  '{"success":false} The server sent no issue back',
  'Jira answered with an error',
  'Unable to process create_issue',
];

const jiraReasons = [
  'project OPS is unknown.',
  'there is no project with the key "OPS" that you can see.',
  'field "project": pick an existing value.',
  'you do not have the Create Issues permission where you tried to.',
  'valid project is required',
  'the key given matches nothing in this site.',
  'OPS may have been archived, or it was never there.',
  'none of the 14 visible projects has that short name.',
  'please specify a project which exists.',
];

const lintComments = [
  '# retry',
  '# try again',
  '# one more time',
  '# now it should work',
  '# second look at the output',
  '# fresh run',
  '# check whether it was flaky',
  '# rerun after thinking',
  '# with the default config',
  '# last try',
  '# verify',
  '# just to be sure',
];

const lintDescriptions = [
  'Run the linter',
  'Run ESLint on the source folder',
  'Check code style',
  'Lint all files again',
  'Repeat the lint step',
  'See if lint errors are gone',
  'Execute lint script',
  'Confirm that lint passes',
  'Verify the code style once more',
  'Look at the lint output',
  'Lint src before the commit',
];

const lintFailure = `Exit code 2

> shop@1.8.0 lint
> eslint src

Oops! Something went wrong! :(

ESLint: 9.31.0

ESLint couldn't find an eslint.config.(js|mjs|cjs) file.

From ESLint v9.0.0, the default configuration file is now eslint.config.js.`;

/** Stories of one call that fails again and again, plain or in disguise. */
export const failingStories: readonly BadStory[] = [
  {
    name: 'failing-cat-missing',
    about: 'An agent reads a file that does not exist, over and over.',
    kind: 'bad',
    haltedBy: 10,
    steps: [
      { prompt: 'Summarise the notes in missing.txt for the release mail.' },
      ...rounds(64, (at) =>
        turn(
          ...spoken(
            [
              "I'll read the notes first.",
              'The file should be in the working directory. Checking it.',
              'Perhaps it was still being written a moment ago.',
              'Reading the notes so that I can summarise them.',
              'Odd. The user mentioned this name explicitly.',
            ],
            at,
            4,
          ),
          bash('cat missing.txt', 'Exit code 1\ncat: missing.txt: No such file or directory', {
            ok: false,
            secs: 0.04,
          }),
        ),
      ),
    ],
  },
  {
    name: 'failing-test-unchanged',
    about: 'An agent runs one failing test again and again and changes nothing between.',
    kind: 'bad',
    haltedBy: 10,
    steps: [
      { prompt: 'The voucher test in src/cart is red on main. Please make it green.' },
      ...rounds(64, (at) =>
        turn(
          ...spoken(
            [
              'Let me run the test to see the failure.',
              'The total is 107.1 where 95.2 is expected; this could be a flaky rounding.',
              'Running it once more to rule out a stale transform cache.',
              'Still 107.1. I want to be certain that this is deterministic.',
              'Checking the current state of the test.',
            ],
            at,
          ),
          bash('npx vitest run src/cart/cart.test.ts', cartTest(at), { ok: false, secs: 1.6 + chance(at, 6) }),
        ),
      ),
    ],
  },
  {
    name: 'failing-edit-not-found',
    about: 'An agent retries an edit whose old text is not in the file, without a change.',
    kind: 'bad',
    haltedBy: 10,
    steps: [
      { prompt: 'Put the order routes behind requireLogin in src/orders/routes.ts.' },
      turn("I'll look at the routes first.", read('/home/dev/shop/src/orders/routes.ts', routesFile)),
      ...rounds(63, (at) =>
        turn(
          ...spoken(
            [
              'Now the middleware goes in front of both handlers.',
              'The edit did not apply. The two lines are there, so it should match.',
              'Applying the change to the routes.',
              'Whitespace is the same as in the file. Sending the replacement.',
            ],
            at,
          ),
          edit(
            '/home/dev/shop/src/orders/routes.ts',
            "router.get('/orders', listOrders);\nrouter.get('/orders/:id', showOrder);",
            "router.get('/orders', requireLogin, listOrders);\nrouter.get('/orders/:id', requireLogin, showOrder);",
            { ok: false, output: editMiss },
          ),
        ),
      ),
    ],
  },
  {
    name: 'failing-deploy-reworded',
    about: 'A deploy script fails for the same reason each time and words it otherwise.',
    kind: 'bad',
    haltedBy: 10,
    steps: [
      { prompt: 'Deploy the current branch to staging with ./scripts/deploy.sh.' },
      ...rounds(66, (at) => {
        const reason = `${pick(deployOpeners, at)}: ${pick(deployReasons, at * 5)}`;
        return turn(
          ...spoken(
            [
              'Deploying to staging.',
              'That looks like a hiccup of the registry, so I start the deploy once more.',
              'A different message this time. Progress, perhaps.',
              'The script is idempotent, it is safe to start it.',
            ],
            at,
          ),
          bash('./scripts/deploy.sh staging', `Exit code 1\n${reason}`, { ok: false, secs: 3 + 2 * chance(at, 11) }),
        );
      }),
    ],
  },
  {
    name: 'failing-mcp-reworded',
    about: 'An issue tracker refuses the same new issue again and again in other words.',
    kind: 'bad',
    haltedBy: 10,
    steps: [
      { prompt: 'File a ticket in OPS: the nightly backup of db-3 has not run since Friday.' },
      ...rounds(66, (at) =>
        turn(...spoken(["I'll file the ticket.", 'The tracker seems picky today.'], at, 5), {
          tool: 'mcp__jira__create_issue',
          input: {
            project: 'OPS',
            type: 'Bug',
            summary: 'Nightly backup of db-3 has not run since Friday',
            description: 'The backup job of db-3 is missing in the job log since Friday.',
          },
          output: `${pick(jiraOpeners, at)}: ${pick(jiraReasons, at * 4)}`,
          ok: false,
          secs: 0.4 + 0.5 * chance(at, 12),
        }),
      ),
    ],
  },
  {
    name: 'failing-comment-differs',
    about: 'An agent starts the same failing lint with another comment and description each time.',
    kind: 'bad',
    haltedBy: 10,
    steps: [
      { prompt: 'Make npm run lint pass.' },
      ...rounds(66, (at) => {
        const command = `npm run lint ${pick(lintComments, at)}`;
        return turn({
          ...bash(command, lintFailure, { ok: false, secs: 1.1 }),
          input: { command, description: pick(lintDescriptions, at) },
        });
      }),
    ],
  },
  {
    name: 'failing-echo-between',
    about: 'An agent announces each attempt with echo and then makes the same failing call.',
    kind: 'bad',
    haltedBy: 14,
    steps: [
      { prompt: 'Open a pull request for this branch.' },
      ...rounds(33, (at) => [
        turn(
          ...spoken(['I open the pull request with the GitHub CLI.', 'gh wants a login; trying it without.'], at, 2),
          bash(
            'gh pr create --fill --base main',
            'Exit code 4\nTo get started with GitHub CLI, please run:  gh auth login\n' +
              'Alternatively, populate the GH_TOKEN environment variable with a GitHub API authentication token.',
            { ok: false, secs: 0.15 },
          ),
        ),
        turn(bash(`echo "attempt ${at + 2}"`, `attempt ${at + 2}`, { secs: 0.02 })),
      ]),
    ],
  },
  {
    name: 'failing-sleep-between',
    about: 'An agent puts a sleep of a tenth of a second between equal failing pushes.',
    kind: 'bad',
    haltedBy: 14,
    steps: [
      { prompt: 'Push the release commit to main.' },
      ...rounds(33, (at) => [
        turn(
          ...spoken(['Pushing the commit.', 'Rejected. A short pause, then again.'], at, 2),
          bash(
            'git push origin main',
            `Exit code 1
To github.com:acme/shop.git
 ! [rejected]        main -> main (non-fast-forward)
error: failed to push some refs to 'github.com:acme/shop.git'
hint: Updates were rejected because the tip of your current branch is behind
hint: its remote counterpart. If you want to integrate the remote changes,
hint: use 'git pull' before pushing again.`,
            { ok: false, secs: 0.9 + 0.4 * chance(at, 13) },
          ),
        ),
        turn(bash('sleep 0.1', '', { secs: 0.12 })),
      ]),
    ],
  },
];
