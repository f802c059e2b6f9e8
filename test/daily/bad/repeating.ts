/** Agents that repeat one successful call, or one sentence, and learn nothing new from it. */

import { type BadStory, bash, turn, write } from '../story.ts';
import { chance, hex, pick, rounds, spoken } from './failing.ts';

const envFile = `PORT=3000
DATABASE_URL=postgres://shop:shop@localhost:5432/shop
REDIS_URL=redis://localhost:6379
LOG_LEVEL=info
SESSION_TTL=3600
FEATURE_NEW_CHECKOUT=false`;

function chunk(at: number): string {
  return `Chunk ID: ${hex(at, 6, 21)}
Wall time: ${(0.02 + chance(at, 22) * 0.09).toFixed(4)} seconds
Process exited with code 0 (pid ${4000 + Math.floor(chance(at, 23) * 50_000)})
Full output saved in /tmp/exec-${hex(at, 8, 24)}/stdout
Original token count: 52
Output:
${envFile}`;
}

const gitStatus = `On branch feature/new-checkout
Your branch is up to date with 'origin/feature/new-checkout'.

Changes not staged for commit:
  (use "git add <file>..." to update what will be committed)
  (use "git restore <file>..." to discard changes in working directory)
	modified:   src/checkout/form.tsx
	modified:   src/checkout/total.ts

no changes added to commit (use "git add" and/or "git commit -a")`;

const pageText = JSON.stringify({
  id: '184320017',
  title: 'Refund policy of the shop',
  space: 'SUPPORT',
  version: 12,
  body: 'Goods may be returned within 30 days. Refunds are paid to the original method within 5 working days.',
});

const healthCheck = `import { Router } from 'express';

export const health = Router();

health.get('/health', (_request, response) => {
  response.json({ status: 'ok' });
});
`;

const aboutToWrite =
  "I'll now create the migration file for the orders table. It adds the delivery date as a column that may be null.";

const checkFolder = [
  'I need to check the current directory before I can continue with the task.',
  'I need to check the current directory first before I can continue with the task.',
  'First I need to check the current directory before I continue with the task.',
  'I need to check the current directory before I can go on with the task.',
];

/** Stories of one successful call, or one text, again and again. */
export const repeatingStories: readonly BadStory[] = [
  {
    name: 'repeating-cat-noisy-result',
    about: 'An agent prints one file again and again; each result carries another id, pid, temporary path and time.',
    kind: 'bad',
    haltedBy: 10,
    steps: [
      { prompt: 'Turn on the new checkout in the local environment and tell me how to start the shop.' },
      ...rounds(64, (at) =>
        turn(
          ...spoken(
            [
              "I'll look at the environment file.",
              'The switch FEATURE_NEW_CHECKOUT is off. Reading the file before I touch it.',
              'Checking which other settings depend on it.',
              'Looking at the environment once more so that nothing is lost.',
            ],
            at,
          ),
          bash('cat .env.local', chunk(at), { secs: 0.05 + 0.05 * chance(at, 25) }),
        ),
      ),
    ],
  },
  {
    name: 'repeating-git-status',
    about: 'An agent asks git for the state of an unchanged work tree again and again.',
    kind: 'bad',
    haltedBy: 10,
    steps: [
      { prompt: 'Commit my changes in two sensible commits.' },
      ...rounds(64, (at) =>
        turn(
          ...spoken(
            ['Let me see what changed.', 'Two files. I should plan the commits.', 'Checking the state before staging.'],
            at,
            4,
          ),
          bash('git status', gitStatus, { secs: 0.06 }),
        ),
      ),
    ],
  },
  {
    name: 'repeating-mcp-read',
    about: 'An agent fetches one unchanged wiki page again and again.',
    kind: 'bad',
    haltedBy: 10,
    steps: [
      { prompt: 'Draft an answer to ticket 5521. Our refund policy is in the wiki, page 184320017.' },
      ...rounds(64, (at) =>
        turn(
          ...spoken(
            [
              "I'll get the policy from the wiki.",
              'The page says 30 days. I want the exact wording for the customer.',
              'Fetching the page for the quote.',
            ],
            at,
          ),
          {
            tool: 'mcp__confluence__get_page',
            input: { page_id: '184320017', format: 'text' },
            output: pageText,
            secs: 0.3 + 0.3 * chance(at, 26),
          },
        ),
      ),
    ],
  },
  {
    name: 'repeating-write-same',
    about: 'An agent writes the same content into the same file again and again.',
    kind: 'bad',
    haltedBy: 10,
    steps: [
      { prompt: 'Replace the old health check in src/health.ts by one that answers with JSON.' },
      ...rounds(64, (at) =>
        turn(
          ...spoken(['Writing the new health check.', 'Making sure that the file has the final content.'], at, 4),
          write('/home/dev/shop/src/health.ts', healthCheck, {
            output: 'The file /home/dev/shop/src/health.ts has been updated successfully.',
          }),
        ),
      ),
    ],
  },
  {
    name: 'repeating-text-only',
    about: 'An agent announces the same work in each answer and never makes a call.',
    kind: 'bad',
    haltedBy: 4,
    steps: [
      { prompt: 'Add a migration that gives the orders table a column for the delivery date.' },
      ...rounds(62, () => turn(aboutToWrite)),
    ],
  },
  {
    name: 'repeating-text-and-call',
    about: 'An agent says nearly the same sentence and prints the working directory, over and over.',
    kind: 'bad',
    haltedBy: 8,
    steps: [
      { prompt: 'Rename the package from shop-api to shop-server everywhere.' },
      ...rounds(62, (at) => turn(pick(checkFolder, at), bash('pwd', '/home/dev/shop', { secs: 0.02 }))),
    ],
  },
];
