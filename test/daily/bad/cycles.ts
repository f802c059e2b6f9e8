/** Agents that go round in a cycle of a few calls whose results never change. */

import { type BadStory, bash, read, turn } from '../story.ts';
import { chance, rounds, spoken } from './failing.ts';

const sessionFile = `import { createHmac } from 'node:crypto';
import { settings } from './settings.js';

export function sign(id: string): string {
  return createHmac('sha256', settings.secret).update(id).digest('hex');
}`;

const settingsFile = `export const settings = {
  secret: process.env.SESSION_SECRET ?? 'dev-only',
  ttl: 3600,
};`;

const diffText = `diff --git a/src/report/totals.py b/src/report/totals.py
index 8c1f0a2..b77de19 100644
--- a/src/report/totals.py
+++ b/src/report/totals.py
@@ -18,7 +18,7 @@ def monthly(rows):
-    return sum(row.amount for row in rows)
+    return sum(row.net for row in rows)`;

const logText = `b77de19 Use net amounts in monthly totals
41ac0d3 Read rows in batches
0f92e7b Add the quarterly report
d3381c6 Move the report templates`;

const modelFile = `from dataclasses import dataclass

@dataclass
class Invoice:
    number: str
    net: int
    tax: int`;

const migrateError = `Exit code 1
Traceback (most recent call last):
  File "/home/dev/portal/manage.py", line 22, in <module>
    main()
  File "/home/dev/portal/manage.py", line 18, in main
    execute_from_command_line(sys.argv)
django.core.exceptions.ImproperlyConfigured: Error loading psycopg2 module: No module named 'psycopg2'`;

const pipError = `Exit code 1
Collecting psycopg2
  Using cached psycopg2-2.9.10.tar.gz (385 kB)
  Preparing metadata (setup.py): finished with status 'error'
  error: subprocess-exited-with-error
  Error: pg_config executable not found.
  pg_config is required to build psycopg2 from source.
error: metadata-generation-failed`;

/** Stories of two, three or four calls in turn, over and over. */
export const cycleStories: readonly BadStory[] = [
  {
    name: 'cycle-two-reads',
    about: 'An agent reads two source files in turn and never decides.',
    kind: 'bad',
    haltedBy: 14,
    steps: [
      { prompt: 'Why do sessions become invalid after each restart of the server?' },
      ...rounds(32, (at) => [
        turn(
          ...spoken(
            [
              "I'll look at how sessions are signed.",
              'The key comes from the settings, so sign() matters again.',
              'Back to the signing code with that in mind.',
            ],
            at,
            2,
          ),
          read('/home/dev/shop/src/session.ts', sessionFile),
        ),
        turn(
          ...spoken(['It uses settings.secret. Where is that set?', 'Let me verify the default value.'], at),
          read('/home/dev/shop/src/settings.ts', settingsFile),
        ),
      ]),
    ],
  },
  {
    name: 'cycle-diff-and-log',
    about: 'An agent asks git for the last diff and the log in turn.',
    kind: 'bad',
    haltedBy: 14,
    steps: [
      { prompt: 'Write a changelog entry for the last change.' },
      ...rounds(32, (at) => [
        turn(
          ...spoken(['Looking at the last change.', 'The entry should mention net amounts.'], at),
          bash('git diff HEAD~1 HEAD', diffText, { secs: 0.06 + 0.03 * chance(at, 31) }),
        ),
        turn(bash('git log --oneline -4', logText, { secs: 0.05 })),
      ]),
    ],
  },
  {
    name: 'cycle-three-searches',
    about: 'An agent lists files, searches a name and reads the only hit, and then begins again.',
    kind: 'bad',
    haltedBy: 14,
    steps: [
      { prompt: 'Add the gross amount to invoices.' },
      ...rounds(22, (at) => [
        turn(...spoken(['Which files deal with invoices?', 'I should see the layout of the billing package.'], at, 2), {
          tool: 'Glob',
          input: { pattern: 'billing/**/*.py' },
          output: '/home/dev/portal/billing/__init__.py\n/home/dev/portal/billing/model.py',
        }),
        turn({
          tool: 'Grep',
          input: { pattern: 'class Invoice', path: '/home/dev/portal', output_mode: 'files_with_matches' },
          output: 'Found 1 file\n/home/dev/portal/billing/model.py',
        }),
        turn(
          ...spoken(['The model has net and tax only.', 'Gross would be net plus tax here.'], at, 3),
          read('/home/dev/portal/billing/model.py', modelFile),
        ),
      ]),
    ],
  },
  {
    name: 'cycle-four-looks',
    about: 'An agent looks at the state, the diff, the log and the branches in a circle.',
    kind: 'bad',
    haltedBy: 14,
    steps: [
      { prompt: 'Is this branch ready to merge?' },
      ...rounds(16, (at) => [
        turn(
          ...spoken(['Starting with the work tree.', 'Let me get the whole picture.'], at),
          bash('git status --short', '?? notes.md', { secs: 0.05 }),
        ),
        turn(bash('git diff HEAD~1 HEAD', diffText, { secs: 0.07 })),
        turn(
          ...spoken(['One commit ahead, it seems.', 'And the history behind it:'], at, 2),
          bash('git log --oneline -4', logText, { secs: 0.05 }),
        ),
        turn(
          bash(
            'git branch -vv',
            '* net-totals b77de19 [origin/net-totals] Use net amounts\n  main 41ac0d3 [origin/main]',
          ),
        ),
      ]),
    ],
  },
  {
    name: 'cycle-two-failures',
    about: 'A migration needs a driver and the driver cannot be built; the agent tries both in turn.',
    kind: 'bad',
    haltedBy: 14,
    steps: [
      { prompt: 'Run the migrations of the portal on the local database.' },
      ...rounds(32, (at) => [
        turn(
          ...spoken(['Running the migrations.', 'The driver may be there by now.', 'Migrating.'], at),
          bash('python manage.py migrate', migrateError, { ok: false, secs: 0.8 + 0.3 * chance(at, 32) }),
        ),
        turn(
          ...spoken(['psycopg2 is missing, so I install it.', 'Installing the driver that Django asks for.'], at, 4),
          bash('pip install psycopg2', pipError, { ok: false, secs: 2.5 + 1.5 * chance(at, 33) }),
        ),
      ]),
    ],
  },
  {
    name: 'cycle-failing-and-succeeding-read',
    about: 'An agent reads a file that is not there and lists the folder that shows it, in turn.',
    kind: 'bad',
    haltedBy: 14,
    steps: [
      { prompt: 'Explain what src/scheduler/index.ts exports.' },
      ...rounds(32, (at) => [
        turn(...spoken(["I'll read the file.", 'It must be the index of the scheduler.'], at), {
          tool: 'Read',
          input: { file_path: '/home/dev/shop/src/scheduler/index.ts' },
          output: '<tool_use_error>File does not exist.</tool_use_error>',
          ok: false,
        }),
        turn(
          ...spoken(['Not found. What is in the folder?', 'Listing the folder to find the right name.'], at, 5),
          bash('ls src/scheduler', 'clock.ts\nqueue.ts\nscheduler.ts', { secs: 0.03 }),
        ),
      ]),
    ],
  },
];
