/** The environment that tests run in: without settings of Switchgear, of agents, and of tests that started them. */

const ours = /^(SWITCHGEAR|BB)_/;
/** An agent whose shell runs the tests marks its children. */
const agents = /^(CLAUDE|CODEX_|GEMINI_|OPENCODE)/;

/** Files of tests that a file of tests runs would report to the outer runner. */
const outer = /^NODE_TEST_/;

export function testEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isForeign = (name: string) => [ours, agents, outer].some((each) => each.test(name));
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isForeign(name)));
}
