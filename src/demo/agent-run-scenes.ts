/** The scenes with agents under `switchgear run`: six runaway agents, and two healthy ones. */

import type { AgentRun, AgentRunResult } from './agent-runner.ts';
import type { FakeAgentCall } from './fake-agent.ts';
import { countRan, type Scene, type SceneResult } from './scene.ts';

interface AgentRunScene extends Omit<Scene, 'play'>, AgentRun {
  /** The label of the attempts. */
  readonly name: string;
  after(end: AgentRunResult): string;
}

/** The exit code of a halted run. */
const haltedExit = 75;

function makeAgentRunScene({ title, short, unprotected, expected, name, after, ...agentRun }: AgentRunScene): Scene {
  const exitCode = expected.code === undefined ? 0 : haltedExit;
  return {
    title,
    short,
    unprotected,
    expected: { ...expected, exitCode },
    async play({ run }): Promise<SceneResult> {
      const end = await run(agentRun);
      return { name, marks: end.marks, journal: [], refusal: undefined, after: after(end), agentRun: end };
    },
  };
}

const describeCallCount = ({ marks }: AgentRunResult) => `call ${marks.length}`;
const repeat = <T>(length: number, make: (at: number) => T): readonly T[] =>
  Array.from({ length }, (_, at) => make(at));

const failingTest = makeAgentRunScene({
  title: 'The test cannot pass. The agent runs it again, and again, and again.',
  short: 'ran a hopeless test',
  unprotected: '500 calls',
  expected: { code: 'tool_loop', attempts: 6, ran: 5 },
  prompt: 'Make the failing test pass.',
  name: 'Bash npm test',
  script: repeat(500, () => ({ call: 'Bash', input: 'npm test', fails: "Error: Cannot find module 'left-pad'" })),
  after: describeCallCount,
});

const backAndForth = makeAgentRunScene({
  title: 'It reads a file, changes it back, reads it, changes it back.',
  short: 'went back and forth',
  unprotected: '500 calls',
  expected: { code: 'tool_loop', attempts: 13, ran: 12 },
  prompt: 'Set the port to 8080.',
  name: 'Read, Edit',
  script: repeat(500, (at): FakeAgentCall => {
    const what = at % 2 === 0 ? { call: 'Read', gives: 'port = 80' } : { call: 'Edit', gives: 'The file was updated.' };
    return { ...what, input: 'config.toml' };
  }),
  after: describeCallCount,
});

const wholeWeb = makeAgentRunScene({
  title: 'It reads one page after another. Every call works; there is no end.',
  short: 'read one page after another',
  unprotected: '500 calls',
  expected: { code: 'tool_call_limit', attempts: 51, ran: 50 },
  prompt: 'Find out everything about tides.',
  name: 'Read',
  script: repeat(500, (at) => ({ call: 'Read', input: `page-${at}.md`, gives: `what page ${at * 7_919} says` })),
  after: describeCallCount,
});

const names = ['a river', 'a bird of prey', 'some Greek word', 'the founder’s dog', 'an island', 'a colour', 'a tool'];

const dearThoughts = makeAgentRunScene({
  title: 'Each thought costs $4.50, and it has 200 of them.',
  short: 'thought for $4.50 a time',
  unprotected: '$900.00',
  expected: { code: 'token_spend_limit', attempts: 12, ran: 0 },
  prompt: 'Think of a name for our product.',
  name: 'thinks',
  script: repeat(200, (at) => ({
    says: `Idea ${at}: ${names[at % names.length]} ${at * 7_919}`,
    outputTokens: 300_000,
  })),
  after: ({ stderrLines }) => `${/\$[\d.]+/.exec(stderrLines[0] ?? '')?.[0]} spent`,
});

const silence = makeAgentRunScene({
  title: 'It starts a server and is not heard of again. Here it may be silent for 2 s.',
  short: 'fell silent',
  unprotected: '10 minutes',
  expected: { code: 'idle_timeout', attempts: 2, ran: 1 },
  prompt: 'Start the server, and tell me when it is up.',
  options: ['--max-idle', '2s'],
  name: 'Bash npm start',
  script: [{ call: 'Bash', input: 'npm start &', gives: 'started' }, 'leaves a program', 'is silent'],
  after: () => '2 s of silence',
});

const sameWords = makeAgentRunScene({
  title: 'It announces the same thing over and over, and does nothing.',
  short: 'repeated itself',
  unprotected: '100 texts',
  expected: { code: 'output_loop', attempts: 3, ran: 0 },
  prompt: 'Mend the build.',
  name: 'says',
  script: repeat(100, () => ({ says: 'I will now look into the failing build once more.' })),
  after: ({ marks }) => `text ${marks.length}`,
});

const goodWork = makeAgentRunScene({
  title: 'An agent that does well: it reads, changes, tests, and answers.',
  short: 'did well',
  unprotected: '5 calls',
  expected: { code: undefined, attempts: 5, ran: 5 },
  prompt: 'Set the port to 8080.',
  name: 'Read, Edit, Bash',
  script: [
    { call: 'Read', input: 'config.toml', gives: 'port = 80' },
    { call: 'Bash', input: 'grep -rn port src', gives: 'src/server.ts:3: listen(config.port)' },
    { call: 'Edit', input: 'config.toml', gives: 'The file was updated.' },
    { call: 'Bash', input: 'npm test', fails: '1 test failed: expected 80' },
    { call: 'Bash', input: 'npm test -- --update', gives: '12 tests passed' },
    { says: 'The port is 8080, and the test that knew the old one is mended.' },
  ],
  after: () => '5 calls, answered',
});

const fanOut = makeAgentRunScene({
  title: 'Three subagents read side by side, 20 files each: 63 calls, none of them 50.',
  short: 'had helpers',
  unprotected: '63 calls',
  expected: { code: undefined, attempts: 63, ran: 63 },
  prompt: 'Sum up src/, test/ and docs/.',
  name: 'Agent, Read',
  script: [
    {
      sends: ['src', 'test', 'docs'].map((name) => ({
        name,
        calls: repeat(20, (at) => ({ call: 'Read', input: `${name}/${at}`, gives: `what ${name}/${at * 7_919} says` })),
      })),
    },
    { says: 'src/ is the program, test/ its tests, docs/ its pages.' },
  ],
  after: ({ marks }) => `${countRan(marks)} calls, answered`,
});

export const agentRunScenes: readonly Scene[] = [
  failingTest,
  backAndForth,
  wholeWeb,
  dearThoughts,
  silence,
  sameWords,
  goodWork,
  fanOut,
];
