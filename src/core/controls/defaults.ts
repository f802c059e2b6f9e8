/** The default settings of a gear. A test checks that the table of settings has the same values. */

import { tokensMax } from '../limits.ts';
import type { Settings } from '../settings.ts';
import { defaultBreaker } from './breaker/defaults.ts';

/** The default settings. */
export const defaultSettings: Settings = {
  mode: 'enforce',
  // Tools whose failures are data: shells of known agents, and tools that run queries, code, tests or a browser.
  sameErrorTools: (
    'Bash bash PowerShell shell shell.execute local_shell exec_command run_shell_command run_command ' +
    'execute_command terminal *_sql sql_* python run_python run_code execute_code code_interpreter run_test* *browser_*'
  ).split(' '),
  circuitBreaker: defaultBreaker,
  tools: {},
  agents: {},
  task: {
    maxToolCalls: 50,
    maxSpendCents: 5_000,
    maxDurationSecs: 1_800,
    maxIdleSecs: 300,
    maxDenials: 5,
    noticeShare: 0.8,
  },
  loop: {
    enabled: true,
    similarityJaccardThreshold: 0.95,
    windowSize: 3,
    tokenCap: tokensMax,
    rowAcrossCalls: true,
    refusedRepeats: 2,
    turns: 11,
    notePoints: 12,
    refusePoints: 18,
    haltPoints: 24,
    failedRepeats: 5,
    nearThreshold: 0.76,
    wordsAlone: false,
    repeatPoints: 3,
    cyclePoints: 2,
    errorPoints: 4,
    otherErrorPoints: 2,
    sameAnswerPoints: 7,
    nearCallPoints: 4,
    nearErrorPoints: 6,
    wordsPoints: 8,
    pollSecs: 5,
    tools: {},
  },
  delegation: {
    maxFailures: 2,
    workerLimits: {},
    onTrip: 'halt',
    onFailure: 'retry',
    backoff: false,
    tools: false,
    phrases: true,
    alternatives: {},
  },
  budgets: [],
  rules: [],
  ruleSettings: { onMissing: 'fire', lookup: ['outputs'], throttle: 'skip', maxDelaySecs: 10, minIntervalSecs: 60 },
  approval: { timeoutSecs: 120 },
  prices: { onUnknownPrice: 'assume_dearest' },
  journal: { level: 'refusals', content: 'none' },
  alerts: { tripsPerHour: 5, failureRate: 0.1, timeInOpenSecs: 300 },
  abilities: { http: false, httpHosts: [], shell: false },
};
