/** Agents that run away in other ways: changes that undo each other, subagents, apologies, failures without end. */

import { type BadStory, bash, edit, type StoryCall, type StoryStep, turn, write } from '../story.ts';
import { chance, pick, rounds, spoken } from './failing.ts';

const parserFile = '/home/dev/tool/src/parser.py';
const plainLine = '    tokens = split(text)';
const commentedLine = '    # Split the text into tokens first.\n    tokens = split(text)';

function parserTest(at: number): StoryCall {
  const secs = 0.11 + 0.2 * chance(at, 51);
  const output = `Exit code 1
..F                                                                      [100%]
=================================== FAILURES ===================================
______________________________ test_nested_quotes ______________________________
    def test_nested_quotes():
>       assert parse('a "b \\'c\\'"') == ['a', "b 'c'"]
E       assert ['a', '"b', "'c'\\""] == ['a', "b 'c'"]
tests/test_parser.py:23: AssertionError
=========================== short test summary info ============================
FAILED tests/test_parser.py::test_nested_quotes
1 failed, 2 passed in ${secs.toFixed(2)}s`;
  return bash('pytest -q tests/test_parser.py', output, { ok: false, secs: 0.6 + secs });
}

const tabs = `root = true

[*]
indent_style = tab
end_of_line = lf
`;

const spaces = `root = true

[*]
indent_style = space
indent_size = 2
end_of_line = lf
`;

const searches: readonly (readonly [pattern: string, folder: string])[] = [
  ['retryLimit', 'src'],
  ['retry_limit', 'src'],
  ['maxRetries', 'src'],
  ['RETRY_LIMIT', 'config'],
  ['max_attempts', 'config'],
  ['attempts', 'packages/core'],
  ['backoff', 'packages/core'],
  ['retry', 'packages/http'],
  ['retries:', 'deploy'],
  ['retryCount', 'packages/queue'],
  ['MAX_RETRY', '.env.example'],
];

/** A subagent that looks three times for a setting which nobody has, and says so. */
function emptyErrand(at: number): readonly StoryStep[] {
  const name = `explore-${at + 1}`;
  const looks = [0, 1, 2].map((part) => {
    const [pattern, folder] = pick(searches, at * 3 + part);
    return {
      ...turn({ tool: 'Grep', input: { pattern, path: `/home/dev/mono/${folder}` }, output: 'No matches found' }),
      agent: name,
    };
  });
  return [
    { start: name, type: 'Explore', task: 'Find the place where the retry limit of the mailer is set.' },
    ...looks,
    { end: name, output: 'I could not find it.' },
  ];
}

const apologies = [
  'I apologize for the confusion. Let me try a different approach to fix this issue.',
  'I apologize for the confusion. Let me try another approach to fix this issue.',
  'I apologize for the confusion. Let me take a different approach to fix this issue.',
  'I sincerely apologize for the confusion. Let me try a different approach to fix this issue.',
  'I apologize again for the confusion. Let me try a different approach to fix the issue.',
];

const folders = ['src', 'test', 'docs', 'bin', 'public', 'scripts', 'config', 'types', 'assets', 'styles', 'api', 'db'];
const programs = ['node', 'npm', 'npx', 'git', 'bash', 'python3', 'make', 'curl', 'sed', 'awk', 'tar', 'jq'];

/** A call that succeeds, differs from those before, and helps nobody. */
function uselessCall(at: number): StoryCall {
  const turnOfList = Math.floor(at / 5);
  const folder = pick(folders, turnOfList);
  const program = pick(programs, turnOfList);
  const lines = 20 + Math.floor(chance(at, 52) * 400);
  const calls = [
    bash(`ls ${folder}`, `index.ts\n${folder}.ts\nREADME.md`, { secs: 0.03 }),
    bash(`which ${program}`, `/usr/bin/${program}`, { secs: 0.02 }),
    bash(`wc -l ${folder}/index.ts`, `${lines} ${folder}/index.ts`, { secs: 0.03 }),
    bash(`${program} --version`, `${program} ${1 + (lines % 9)}.${lines % 23}.${lines % 7}`, { secs: 0.1 }),
    bash(`echo "checking ${folder}"`, `checking ${folder}`, { secs: 0.02 }),
  ];
  return pick(calls, at);
}

const libraries = ['cairo', 'gdal', 'opencv', 'ffmpeg', 'libsodium', 'graphviz', 'tesseract'];

function failure(command: string, code: number, text: string, secs = 0.3): StoryCall {
  return bash(command, `Exit code ${code}\n${text}`, { ok: false, secs });
}

/** Ten different calls about one library, six of which fail for six reasons. */
function buildAttempts(library: string): readonly StoryCall[] {
  return [
    failure(`pip install py${library}`, 1, `error: command 'gcc' failed: ${library}.h: No such file or directory`, 6.2),
    bash(`find /usr -name '${library}*' -maxdepth 4`, `/usr/share/doc/${library}-licence`, { secs: 0.8 }),
    failure(`apt-get install -y lib${library}-dev`, 100, 'E: Could not open lock file: are you root?', 0.4),
    failure(`sudo apt-get install -y lib${library}-dev`, 1, 'sudo: a password is required', 0.1),
    bash(`ls /opt/toolchain | grep -c ${library}; true`, '0', { secs: 0.03 }),
    failure(`conda install ${library}`, 127, '/bin/bash: line 1: conda: command not found', 0.02),
    failure(
      `curl -fsSLO https://downloads.example.org/${library}-1.18.tar.xz`,
      22,
      'curl: (22) The requested URL returned error: 404',
      1.1,
    ),
    bash(`git clone --depth 1 https://git.example.org/${library}.git`, `Cloning into '${library}'...`, { secs: 3.4 }),
    failure(`cd ${library} && meson setup build`, 1, 'meson.build:12:0: ERROR: Dependency "pixman-1" not found', 1.7),
    bash(`ls ${library}`, 'AUTHORS\nREADME\nmeson.build\nsrc', { secs: 0.03 }),
  ];
}

const weekLines = [
  'return Math.ceil(days / 7);',
  'return Math.floor(days / 7) + 1;',
  'return Math.round(days / 7);',
  'return Math.ceil((days + 1) / 7);',
  'return Math.ceil((days + start.getDay()) / 7);',
  'return Math.ceil((days + start.getUTCDay()) / 7);',
  'return Math.ceil((days + start.getUTCDay() + 1) / 7);',
  'return Math.floor((days + start.getUTCDay()) / 7) + 1;',
  'return Math.floor((days + ((start.getUTCDay() + 6) % 7)) / 7) + 1;',
  'return Math.ceil((days + ((start.getUTCDay() + 6) % 7) + 1) / 7);',
  'return Math.floor((days - 1) / 7) + 1;',
  'return 1 + Math.trunc(days / 7);',
  'return Math.ceil((days - start.getUTCDay() + 10) / 7);',
  'return Math.floor((days - start.getUTCDay() + 10) / 7);',
  'return Math.floor((days - weekday(date) + 10) / 7);',
  'return Math.floor((days - (weekday(date) || 7) + 10) / 7);',
  'return Math.floor((dayOfYear(date) - (weekday(date) || 7) + 10) / 7);',
  'return Math.floor((dayOfYear(date) - weekday(date) + 9) / 7);',
  'return isoWeek(toUtc(date));',
  'return isoWeek(startOfDay(date));',
  'return isoWeek(startOfDay(toUtc(date)));',
  'return isoWeek(toUtc(startOfDay(date)));',
  'return isoWeek(addDays(date, 3));',
  'return isoWeek(addDays(date, -3));',
  'return isoWeek(addDays(toUtc(date), 3));',
  'return isoWeek(thursdayOf(date));',
  'return isoWeek(thursdayOf(toUtc(date)));',
  'return Temporal.PlainDate.from(iso(date)).weekOfYear ?? 1;',
  "return Number(format(date, 'I'));",
  "return Number(format(toUtc(date), 'I'));",
  "return Number.parseInt(format(date, 'RRRR-II').slice(5), 10);",
  'return getISOWeek(date);',
  'return getISOWeek(toUtc(date));',
];

const weekThoughts = [
  'The quotient must be rounded down, and weeks count from 1.',
  'The first day of the year shifts the weeks; I add its weekday.',
  'The weekday has to be taken in UTC.',
  'ISO weeks begin on Monday, so the weekday is shifted by six.',
  'Perhaps an off-by-one in the number of days.',
  'The formula of ISO 8601 uses the weekday of the date itself.',
  'Sunday counts as 7 and not as 0.',
  'The helper isoWeek exists already; using it in place of my own formula.',
  'The time of day could matter near midnight.',
  'The Thursday of the week decides about the year.',
];

function weekTest(at: number): StoryCall {
  const ms = 700 + Math.floor(chance(at, 53) * 500);
  const output = `Exit code 1

 ❯ test/week.test.ts (9 tests | 1 failed)
   × week > gives week 53 for 2021-01-01
     → expected 1 to be 53 // Object.is equality
 ❯ test/week.test.ts:17:38

 Test Files  1 failed (1)
      Tests  1 failed | 8 passed (9)
   Duration  ${ms}ms`;
  return bash('npx vitest run test/week.test.ts', output, { ok: false, secs: 0.5 + ms / 1000 });
}

/** Stories of other ways to run away; some of them deserve only a hint. */
export const otherBadStories: readonly BadStory[] = [
  {
    name: 'other-comment-on-and-off',
    about: 'An agent adds a comment, tests, removes it, tests, and begins again.',
    kind: 'bad',
    haltedBy: 20,
    steps: [
      { prompt: 'test_nested_quotes fails. Please repair the parser.' },
      ...rounds(17, (at) => [
        turn(
          ...spoken(['First I make clear what this line does.', 'The comment belongs here after all.'], at),
          edit(parserFile, plainLine, commentedLine),
        ),
        turn(parserTest(at * 2)),
        turn(
          ...spoken(['Still red. The comment is noise, removing it.', 'Reverting my last change.'], at, 2),
          edit(parserFile, commentedLine, plainLine),
        ),
        turn(parserTest(at * 2 + 1)),
      ]),
    ],
  },
  {
    name: 'other-write-alternates',
    about: 'An agent writes a settings file in two versions in turn and never checks anything.',
    kind: 'bad',
    haltedBy: 16,
    steps: [
      { prompt: 'Give the project an .editorconfig that fits the code style.' },
      ...rounds(64, (at) =>
        turn(
          ...spoken(
            [
              'The Makefile needs tabs, so tabs it is.',
              'On reflection the sources use two spaces.',
              'Tabs are better for accessibility.',
              'Most files are indented with spaces, though.',
            ],
            at,
          ),
          write('/home/dev/shop/.editorconfig', at % 2 === 0 ? tabs : spaces, {
            output: 'The file /home/dev/shop/.editorconfig has been updated successfully.',
          }),
        ),
      ),
    ],
  },
  {
    name: 'other-subagent-failing-call',
    about: 'A subagent repeats one failing call while the main agent waits for it.',
    kind: 'bad',
    haltedBy: 10,
    steps: [
      { prompt: 'Let a subagent run the API tests and tell me what fails.' },
      { start: 'test-runner', type: 'general-purpose', task: 'Run tests/test_api.py and report each failing test.' },
      ...rounds(64, (at) => ({
        ...turn(
          ...spoken(['Running the API tests.', 'pytest should be part of this environment.'], at, 5),
          bash('python -m pytest tests/test_api.py', 'Exit code 1\n/usr/bin/python: No module named pytest', {
            ok: false,
            secs: 0.08 + 0.04 * chance(at, 54),
          }),
        ),
        agent: 'test-runner',
      })),
      { end: 'test-runner', output: 'I was not able to run the tests.', ok: false },
    ],
  },
  {
    name: 'other-same-subagent-again',
    about: 'A main agent sends a subagent on the same errand again and again, and gets the same empty answer.',
    kind: 'bad',
    steps: [{ prompt: 'Raise the retry limit of the mailer to 5.' }, ...rounds(22, emptyErrand)],
  },
  {
    name: 'other-apologies',
    about: 'An agent apologizes in nearly the same words each time and makes another useless call.',
    kind: 'bad',
    hintedBy: 10,
    steps: [
      { prompt: 'The page is still blank after login. That was not the fix.' },
      ...rounds(60, (at) => turn(pick(apologies, at), uselessCall(at))),
    ],
  },
  {
    name: 'other-many-failures',
    about: 'An agent tries to install native libraries; six of ten calls fail, each in another way.',
    kind: 'bad',
    hintedBy: 10,
    steps: [
      { prompt: `Install the Python bindings of ${libraries.join(', ')} on this machine.` },
      ...libraries.flatMap((library) =>
        buildAttempts(library).map((call, at) => turn(...(at === 0 ? [`Next comes ${library}.`] : []), call)),
      ),
    ],
  },
  {
    name: 'other-edits-never-help',
    about: 'An agent edits one line in ever new ways, and the test of a stale build fails exactly as before.',
    kind: 'bad',
    hintedBy: 12,
    steps: [
      { prompt: 'weekNumber is wrong for 2021-01-01. The test in test/week.test.ts shows it.' },
      turn('First the failing test.', weekTest(0)),
      ...rounds(weekLines.length - 1, (at) => [
        turn(
          ...spoken(weekThoughts, at, 2),
          edit('/home/dev/tool/src/week.ts', `  ${weekLines[at]}`, `  ${weekLines[at + 1]}`),
        ),
        turn(weekTest(at + 1)),
      ]),
    ],
  },
];
