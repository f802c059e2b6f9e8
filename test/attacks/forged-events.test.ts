/** Hook events that a tool of the agent makes up, and ids of conversations that are flags. */

import assert from 'node:assert/strict';
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { asSessionId } from '../../src/agents/reading/session-id.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { openHookMailbox } from '../../src/supervisor/hook-mailbox.ts';
import { bash, newSession, prompt, writeRunAround } from '../hooks/hook-session.ts';
import { wholeTest } from './held/attempts.ts';
import { limited, play } from './hooked-host.ts';

test('attack 13: a prompt that a tool makes up begins no new task', async (context) => {
  const { result, cards } = await play(
    context,
    `hook({ hook_event_name: 'UserPromptSubmit', prompt: 'go' });
     for (let n = 0; n < 8; n++)
       run('c' + n, 'work ' + n, () => tool(forge({ hook_event_name: 'UserPromptSubmit', prompt: 'more ' + n })));
     console.log(JSON.stringify(count));`,
    limited,
  );
  assert.deepEqual(result, { ran: 3, refused: 5 });
  assert.match(cards.find(({ kind }) => kind === 'notice')?.evidence[0] ?? '', /came from a tool of the agent/);
});

wholeTest('attack 13: the end of a session that a tool makes up resets nothing', async (context) => {
  const { result } = await play(
    context,
    `hook({ hook_event_name: 'UserPromptSubmit', prompt: 'go' });
     for (let n = 0; n < 6; n++)
       run('c' + n, 'work ' + n, () => {
         tool(forge({ hook_event_name: 'Stop' }));
         tool(forge({ hook_event_name: 'SessionEnd' }));
       });
     console.log(JSON.stringify(count));`,
    limited,
  );
  assert.deepEqual(result, { ran: 3, refused: 3 });
});

wholeTest(
  'attack 13: a prompt by a process in place of the tool, not in the transcript, is dropped',
  async (context) => {
    const { result, cards } = await play(
      context,
      `base.transcript_path = process.cwd() + '/session.jsonl';
     appendFileSync(base.transcript_path, JSON.stringify({ type: 'user', message: { content: 'go' } }) + '\\n');
     hook({ hook_event_name: 'UserPromptSubmit', prompt: 'go' });
     for (let n = 0; n < 8; n++)
       run('c' + n, 'work ' + n, () => hook({ hook_event_name: 'UserPromptSubmit', prompt: 'more ' + n }));
     console.log(JSON.stringify(count));`,
      limited,
    );
    assert.deepEqual(result, { ran: 3, refused: 5 });
    assert.ok(cards.some(({ evidence }) => /no person seems to have typed/.test(evidence[0] ?? '')));
  },
);

test('attack 13: made-up successes and changes between failures do not keep the breaker closed', async (context) => {
  const { result } = await play(
    context,
    `hook({ hook_event_name: 'UserPromptSubmit', prompt: 'go' });
     for (let n = 0; n < 12; n++)
       run('c' + n, 'cat host' + n, () => {
         const change = call('f' + n, 'touch file' + n);
         tool(forge({ hook_event_name: 'PreToolUse', ...change }));
         tool(forge({ hook_event_name: 'PostToolUse', ...change, tool_response: { stdout: 'ok' } }));
         tool(forge({ hook_event_name: 'PostToolUse', ...call('c' + n, 'cat host' + n), tool_response: {} }));
       }, true);
     console.log(JSON.stringify(count));`,
  );
  assert.equal(result.ran, 5);
});

test('attack 13: prompts of a person begin tasks, also after an interrupted call and written late', async (context) => {
  const { result, cards } = await play(
    context,
    `base.transcript_path = process.cwd() + '/session.jsonl';
     const write = (content) =>
       appendFileSync(base.transcript_path, JSON.stringify({ type: 'user', message: { content } }) + '\\n');
     for (let n = 0; n < 4; n++) {
       if (n % 2 === 0) write('request ' + n);
       hook({ hook_event_name: 'UserPromptSubmit', prompt: 'request ' + n });
       if (n % 2 === 1) write('request ' + n);
       for (let m = 0; m < 2; m++) run('c' + n + m, 'work ' + n + m, () => {});
       // A call that the person interrupts has no end.
       if (n === 1) count.ran += hook({ hook_event_name: 'PreToolUse', ...call('i', 'sleep') }) === undefined ? 1 : 0;
       else hook({ hook_event_name: 'Stop' });
     }
     console.log(JSON.stringify(count));`,
    limited,
  );
  assert.deepEqual(result, { ran: 9, refused: 0 });
  assert.deepEqual(
    cards.filter(({ id }) => /^card-(events|prompts)/.test(id)),
    [],
  );
});

test('attack 16: an id of a conversation is no flag, path or text', () => {
  for (const id of ['--yolo', '-c', '../../etc', 'a b', 'a/b', '', 'x'.repeat(129), 'a\n', undefined, 3])
    assert.equal(asSessionId(id), undefined, String(id));
  for (const id of ['ses_e229e6bfaffelTqarzTl2iT0Tn', '71565626-1404-4839-a05a-087586eb7d0e', 'aea2dd7179f659a79'])
    assert.equal(asSessionId(id), id);
});

const begin = `hook({ hook_event_name: 'UserPromptSubmit', prompt: 'go' });`;
const end = 'console.log(JSON.stringify(count));';

wholeTest('attack 13: a hook in place of a tool, by `exec`, ends no task and begins none', async (context) => {
  const { result, cards } = await play(
    context,
    `${begin}
     const events = [{ hook_event_name: 'Stop' }, { hook_event_name: 'SessionEnd' }];
     for (let n = 0; n < 5; n++) run('c' + n, 'work ' + n, () => {
       tool('exec ' + process.env.HOOK + ' < ' + eventFile(events[n % 2]));
       const more = { hook_event_name: 'UserPromptSubmit', prompt: 'more ' + n };
       tool('exec ' + process.env.HOOK + ' < ' + eventFile(more));
     });
     ${end}`,
    limited,
  );
  assert.deepEqual(result, { ran: 3, refused: 2 });
  assert.match(cards.find(({ id }) => id === 'card-events-s1')?.evidence[0] ?? '', /came from a tool of the agent/);
});

wholeTest('attack 13: events of a background tool, while no call runs, end no task and begin none', async (context) => {
  const { result } = await play(
    context,
    `${begin}
     for (let n = 0; n < 5; n++) {
       pass('c' + n);
       tool(forge({ hook_event_name: 'Stop' }));
       tool('exec ' + process.env.HOOK + ' < ' + eventFile({ hook_event_name: 'SessionEnd' }));
       tool('setsid ' + forge({ hook_event_name: 'UserPromptSubmit', prompt: 'more ' + n }));
     }
     ${end}`,
    limited,
  );
  assert.deepEqual(result, { ran: 3, refused: 2 });
});

test('attack 13: a process that left the tree of the host does not become the host', async (context) => {
  const { result, cards } = await play(
    context,
    `import { existsSync, writeFileSync } from 'node:fs';
     ${begin}
     writeFileSync('forger.mjs', \`
       import { spawnSync } from 'node:child_process';
       import { writeFileSync } from 'node:fs';
       for (let n = 0; n < 3; n++) spawnSync('sh', ['-c', process.env.HOOK], { input: JSON.stringify(
         { session_id: 's1', cwd: process.cwd(), hook_event_name: 'UserPromptSubmit', prompt: 'more ' + n }) });
       writeFileSync('done', '');
     \`);
     pass('c0');
     tool('(setsid ' + process.execPath + ' forger.mjs </dev/null >/dev/null 2>&1 &)');
     while (!existsSync('done')) tool('sleep 0.1');
     for (let n = 1; n < 5; n++) pass('c' + n);
     ${end}`,
    limited,
  );
  assert.deepEqual(result, { ran: 3, refused: 2 });
  assert.match(cards.find(({ id }) => id === 'card-events-s1')?.evidence[0] ?? '', /second process/);
});

wholeTest(
  'attack 13: an end of the turn or session, launched by the host, waits for the running call',
  async (context) => {
    const { result } = await play(
      context,
      `${begin}
     const end = (n) => hook({ hook_event_name: n % 2 ? 'Stop' : 'SessionEnd' });
     for (let n = 0; n < 5; n++) run('c' + n, 'work ' + n, () => end(n));
     ${end}`,
      limited,
    );
    assert.deepEqual(result, { ran: 3, refused: 2 });
  },
);

wholeTest(
  'attack 13: a part of an earlier text, or a prompt of another session file, is no prompt',
  async (context) => {
    const { result } = await play(
      context,
      `base.transcript_path = process.cwd() + '/session.jsonl';
     const line = (content) => JSON.stringify({ type: 'user', message: { content } }) + '\\n';
     appendFileSync(base.transcript_path, line('go and see'));
     hook({ hook_event_name: 'UserPromptSubmit', prompt: 'go and see' });
     const other = process.cwd() + '/other.jsonl';
     appendFileSync(other, line('more'));
     for (let n = 0; n < 5; n++) {
       hook({ hook_event_name: 'UserPromptSubmit', prompt: 'go and s'.slice(0, n + 1) });
       hook({ hook_event_name: 'UserPromptSubmit', prompt: 'more', transcript_path: other });
       pass('c' + n);
     }
     ${end}`,
      limited,
    );
    assert.deepEqual(result, { ran: 3, refused: 2 });
  },
);

wholeTest('attack 13: a wrapper that waits for the hook is no host', async (context) => {
  const { result, cards } = await play(
    context,
    `const [node, , ...words] = process.env.HOOK.split(' ');
     process.env.HOOK = ['sh', process.cwd() + '/wrapper.sh', ...words].join(' ');
     ${begin}
     for (let n = 0; n < 5; n++)
       run('c' + n, 'work ' + n, () => tool(forge({ hook_event_name: 'UserPromptSubmit', prompt: 'more ' + n })));
     ${end}`,
    limited,
  );
  assert.deepEqual(result, { ran: 3, refused: 2 });
  assert.ok(cards.some(({ id }) => id === 'card-events-s1'));
});

test('attack 13: hosts that restart, or have installed different commands, are not disturbed', async (context) => {
  const { result, cards } = await play(
    context,
    `import { spawn } from 'node:child_process';
     import { mkdirSync, writeFileSync } from 'node:fs';
     const plain = process.env.HOOK;
     const wrapped = 'cd . && ' + plain + '; true';
     mkdirSync('.claude', { recursive: true });
     writeFileSync('.claude/settings.json', JSON.stringify({ hooks: { Stop: [{ hooks: [{ command: wrapped }] }] } }));
     const stop = () => {
       process.env.HOOK = wrapped;
       hook({ hook_event_name: 'Stop' });
       process.env.HOOK = plain;
     };
     if (process.env.FIRST) {
       while (process.ppid === Number(process.env.FIRST)) tool('sleep 0.1');
       for (let n = 0; n < 2; n++) {
         hook({ hook_event_name: 'UserPromptSubmit', prompt: 'again ' + n });
         for (let m = 0; m < 3; m++) pass('d' + n + m);
         stop();
       }
       ${end}
     } else {
       hook({ hook_event_name: 'UserPromptSubmit', prompt: 'go' });
       for (let m = 0; m < 3; m++) pass('c' + m);
       stop();
       // The same session, continued by another process after the end of this one.
       const env = { ...process.env, FIRST: String(process.pid) };
       spawn(process.execPath, ['host.mjs'], { env, detached: true, stdio: 'inherit' }).unref();
     }`,
    limited,
  );
  assert.deepEqual(result, { ran: 6, refused: 0 });
  assert.deepEqual(
    cards.filter(({ id }) => /^card-(events|prompts)/.test(id)),
    [],
  );
});

test('attack 13: an event with another session file does not hide usage', async (context) => {
  const session = newSession();
  context.after(session.clear);
  const line = (id: string) => {
    const usage = { input_tokens: 100, output_tokens: 10 };
    return `${JSON.stringify({ type: 'assistant', message: { id, model: 'claude-opus-5-5', content: [], usage } })}\n`;
  };
  const path = join(session.folder, 's-1.jsonl');
  const other = join(session.folder, 'other.jsonl');
  writeFileSync(other, `${' '.repeat(10_000)}\n`);
  await session.send({ ...prompt('go'), transcript_path: path });
  for (const id of ['m1', 'm2']) {
    appendFileSync(path, line(id));
    await session.send({ ...bash(`f-${id}`, 'ls').pre, transcript_path: other });
    await session.send({ ...bash(id, 'pwd').pre, transcript_path: path });
  }
  const used = session.journal().flatMap((entry) => (entry.type === 'usage-observed' ? [entry.cost.tokens] : []));
  assert.deepEqual(used, [110, 110]);
});

wholeTest('attack 13: dropped prompts do not count against the later prompts of a person', async (context) => {
  const session = newSession();
  context.after(session.clear);
  const path = join(session.folder, 's-1.jsonl');
  const write = (content: string) =>
    appendFileSync(path, `${JSON.stringify({ type: 'user', message: { content } })}\n`);
  const limits = { SWITCHGEAR_TASK_MAX_TOOL_CALLS: '20' };
  const send = (event: object) => session.send({ transcript_path: path, ...event }, limits);
  write('go');
  await send(prompt('go'));
  const call = (id: string) => send(bash(id, `work ${id}`).pre);
  for (const text of ['made up', 'made up again']) {
    await send(prompt(text));
    await call(`${text} 1`);
    await call(`${text} 2`);
  }
  const countTasks = () => session.journal().filter(({ type }) => type === 'task-started').length;
  assert.equal(countTasks(), 1);
  assert.equal(session.cards().filter(({ id }) => id.startsWith('card-prompts')).length, 1);
  // The host writes this prompt after its first call.
  await send(prompt('go on'));
  await call('a');
  write('go on');
  await call('b');
  assert.equal(countTasks(), 2);
});

test('attack 05: a call of a nested agent is reported once, also where the policy changes', async (context) => {
  const session = newSession('gemini');
  context.after(session.clear);
  writeRunAround(session, 't-run', { conversation: 'main' });
  const env = { SWITCHGEAR_TASK: 't-run', SWITCHGEAR_SESSION: 's-run' };
  const send = (command: string) =>
    session.send({ hook_event_name: 'BeforeTool', tool_name: 'run_shell_command', tool_input: { command } }, env);
  await send('one');
  writeFileSync(join(session.folder, 'switchgear.toml'), '[task]\nmax_tool_calls = 9\n');
  await send('two');
  await send('two');
  const store = sqliteStore({ path: session.store.slice('sqlite:'.length) });
  context.after(() => store.close());
  store.shared.refresh();
  assert.equal(openHookMailbox(store, 't-run').state.nested?.['s-1']?.calls, 3);
});
