/** The P clauses about what is guarded and what a caller gets back. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear, isRefused, refusalOf } from '../../src/index.ts';
import { attempt, came, fail, ok, type Row, refusedValue, stage, tell, times, trip } from './guarded-tool-story.ts';

test('P1: a tool is guarded with no configuration at all', () => {
  const gear = createSwitchgear();
  let runs = 0;
  const tool = gear.guard('my_tool', () => {
    runs++;
    return { error: 'no connection' };
  });
  const results = Array.from({ length: 7 }, () => tool());
  assert.equal(runs, 5);
  assert.equal(refusalOf(results[5])?.code, 'circuit_open');
});

const denied = () => ({ approval_denied: true, toString: () => 'denied' });
const stories: readonly (readonly [name: string, rows: readonly Row[]])[] = [
  ['it opens on the fifth failure', [...trip, [ok, 'circuit_open', 'OPEN']]],
  [
    'a success in between starts the count again',
    [...times(4, [fail, 'failed', 'CLOSED']), [ok, 'ok', 'CLOSED'], ...trip],
  ],
  [
    'two good probes close it',
    [...trip, [60, '', 'HALF_OPEN'], [ok, 'ok', 'HALF_OPEN'], [ok, 'ok', 'CLOSED'], [fail, 'failed', 'CLOSED']],
  ],
  ['a failed probe opens it again', [...trip, [60, '', 'HALF_OPEN'], [fail, 'failed', 'OPEN'], [59, '', 'OPEN']]],
  [
    'a denial says nothing about the tool',
    [...trip, [60, '', 'HALF_OPEN'], [denied, 'denied', 'HALF_OPEN'], [denied, 'denied', 'HALF_OPEN']],
  ],
];

for (const [name, rows] of stories) {
  test(`P2: sync or async, the story is the same: ${name}`, async () => {
    const { tool } = stage();
    const now = tool('now');
    const later = tool('later', { waits: true });
    await tell(now, rows);
    const other = stage().tool('later', { waits: true });
    await tell(other, rows);
    assert.deepEqual(other.breaker.stats, now.breaker.stats);
    assert.equal(other.runs, now.runs);
    assert.equal(later.runs, 0);
  });
}

test('P3: a closed breaker returns the same result object as the tool', async () => {
  const { tool } = stage();
  const result = Object.freeze({ pages: [1, 2, 3] });
  const now = tool('now');
  const later = tool('later', { waits: true });
  assert.equal(
    now.call(() => result),
    result,
  );
  assert.equal(await later.call(() => result), result);
  assert.equal(now.breaker.stats.totalSuccesses, 1);
  assert.equal(later.breaker.stats.totalSuccesses, 1);
});

test('P4: while the breaker is open the tool function is not called', async () => {
  const tool = stage().tool();
  for (let call = 0; call < 9; call++) await attempt(() => tool.call(fail));
  assert.equal(tool.runs, 5);
});

test('P5: a refused call gets an object back and nothing is thrown', async () => {
  const tool = stage().tool();
  for (let call = 0; call < 5; call++) await attempt(() => tool.call(fail));
  const { value, error } = await attempt(() => tool.call(fail));
  assert.equal(error, undefined);
  assert.ok(isRefused(value));
});

test('P6: the refusal object has exactly five keys', async () => {
  const value = await refusedValue(stage().tool());
  const keys = ['agent_name', 'circuit_open', 'error', 'remediation', 'session_id'];
  assert.deepEqual(Object.keys(value ?? {}).sort(), keys);
  assert.deepEqual(Object.keys(JSON.parse(JSON.stringify(value ?? {})) as object).sort(), keys);
});

test('P7: the error of the refusal names the tool and the cause', async () => {
  const value = await refusedValue(stage().tool('my_tool'));
  assert.equal(value?.error, "Tool 'my_tool' circuit breaker open - too many recent failures");
});

test('P8: circuit_open of the refusal is the boolean true', async () => {
  assert.equal((await refusedValue(stage().tool()))?.circuit_open, true);
});

test('P9: agent_name of the refusal is the name of the calling agent', async () => {
  const { gear, tool } = stage();
  const mine = tool();
  assert.equal((await refusedValue(mine))?.agent_name, 'Researcher');
  const other = await gear.task({ agent: 'Writer' }, () => refusedValue(mine));
  assert.equal((other.value as Record<string, unknown> | undefined)?.agent_name, 'Writer');
});

test('P10: session_id of the refusal is the id of the session', async () => {
  const { gear, tool } = stage();
  const mine = tool();
  assert.equal((await refusedValue(mine))?.session_id, 's-1');
  const other = await gear.task({ agent: 'Writer', session: 's-2' }, () => refusedValue(mine));
  assert.equal((other.value as Record<string, unknown> | undefined)?.session_id, 's-2');
});

test('P11: remediation of the refusal says how long to wait: the timeout in force, not the default', async () => {
  const wait = (secs: number) => `Wait for recovery_timeout (${secs}s) or investigate recent tool failures.`;
  assert.equal((await refusedValue(stage().tool()))?.remediation, wait(60));
  const tuned = stage({ circuit_breaker: { recovery_timeout: 7.5 } }).tool();
  assert.equal((await refusedValue(tuned))?.remediation, wait(7.5));
  const single = stage({ tools: { my_tool: { recovery_timeout: 300 } } }).tool();
  assert.equal((await refusedValue(single))?.remediation, wait(300));
});

test('P12: the refusal reaches the user as an error response', async () => {
  const lines: string[] = [];
  const { gear, tool } = stage({}, { log: (line) => void lines.push(line) });
  const search = tool('search');
  const answer = await gear.task({}, async () => {
    for (let call = 0; call < 5; call++) await attempt(() => search.call(fail));
    const { value, error } = await attempt(() => search.call(fail));
    return JSON.stringify(error === undefined ? value : { error: 'the tool itself' });
  });
  assert.equal(answer.status, 'done');
  assert.match(String(answer.value), /"error":"Tool 'search' circuit breaker open/);
  assert.equal(gear.journal().filter(({ type }) => type === 'action-refused').length, 1);
  assert.ok(lines.some((line) => line.includes('search tripped')));
});

test('P29: graceful degradation returns the refusal by default; false raises it', async () => {
  assert.equal(stage().gear.settings.circuitBreaker.gracefulDegradation, true);
  const { tool } = stage({ circuit_breaker: { graceful_degradation: false } });
  const now = tool('now');
  await refusedValue(now, 4);
  let thrown: unknown;
  try {
    now.call(ok);
  } catch (error) {
    thrown = error;
  }
  assert.equal(refusalOf(thrown)?.code, 'circuit_open');
  const later = tool('later', { waits: true });
  await refusedValue(later, 4);
  assert.equal(await came(() => later.call(ok)), 'threw circuit_open');
});

/** Each way to say no, as an error that is thrown and as a result that says so. */
const denials = [
  ['P38: an approval that was denied', 'approval_denied', 'ApprovalDenied'],
  ['P39: a permission that was denied', 'permission_denied', 'PermissionDenied'],
  ['P40: an approval process that failed', 'approval_error', 'ApprovalError'],
] as const;

for (const [what, flag, name] of denials) {
  const thrown = () => {
    throw Object.assign(new Error('no'), { name });
  };
  const thrownFlag = () => {
    throw Object.assign(new Error('no'), { [flag]: true });
  };
  const returned = () => ({ error: 'no', [flag]: true, toString: () => 'said no' });

  test(`${what} neither counts nor resets, closed or half-open`, async () => {
    const tool = stage().tool();
    await tell(tool, [
      ...times(10, [thrown, 'failed', 'CLOSED']),
      ...times(10, [returned, 'said no', 'CLOSED']),
      ...times(4, [fail, 'failed', 'CLOSED']),
      [thrown, 'failed', 'CLOSED'],
      [thrownFlag, 'failed', 'CLOSED'],
      [returned, 'said no', 'CLOSED'],
      [fail, 'failed', 'OPEN'],
      [60, '', 'HALF_OPEN'],
      [thrown, 'failed', 'HALF_OPEN'],
      [returned, 'said no', 'HALF_OPEN'],
      [thrownFlag, 'failed', 'HALF_OPEN'],
      [ok, 'ok', 'HALF_OPEN'],
      [returned, 'said no', 'HALF_OPEN'],
      [ok, 'ok', 'CLOSED'],
    ]);
  });
}

test('P39: a file error with the code EACCES is a denied permission, too', async () => {
  const locked = () => {
    throw Object.assign(new Error("EACCES: permission denied, open '/etc/shadow'"), { code: 'EACCES' });
  };
  const tool = stage().tool();
  await tell(tool, times(10, [locked, 'failed', 'CLOSED']));
  assert.equal(tool.breaker.stats.totalNeutrals, 10);
});

test('P41: a denied permission reaches the agent unchanged, and is neither success nor failure', async () => {
  const tool = stage().tool();
  const error = Object.assign(new Error('no'), { name: 'ApprovalDenied' });
  const result = { error: 'no', permission_denied: true };
  const thrown = await attempt(() =>
    tool.call(() => {
      throw error;
    }),
  );
  assert.equal(thrown.error, error);
  assert.equal(
    tool.call(() => result),
    result,
  );
  assert.equal(isRefused(result), false);
  const { totalNeutrals, totalSuccesses, totalFailures } = tool.breaker.stats;
  assert.deepEqual(
    { totalNeutrals, totalSuccesses, totalFailures },
    { totalNeutrals: 2, totalSuccesses: 0, totalFailures: 0 },
  );
});
