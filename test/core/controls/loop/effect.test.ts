import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nameError, readEffect, saysNothingFound, unwrapShell } from '../../../../src/core/controls/loop/effect.ts';
import { commandLengthMax } from '../../../../src/core/limits.ts';

/** What a call does, in words: its effect, and whether it searches or waits. */
function describe(tool: string, input: unknown): string {
  const { effect = 'unknown', searches, waits, edit } = readEffect(tool, input);
  return [effect, searches && 'searches', waits && 'waits', edit && 'edits'].filter(Boolean).join(' ');
}

const commands: Readonly<Record<string, readonly string[]>> = {
  read: [
    'cat a.txt ~ cat -n a | head -5 ~ ls -la ~ pwd ~ cd a && ls ~ /usr/bin/cat a ~ wc -l < a ~ jq .a b ~ date',
    'find . -name "*.ts" ~ sort -u a ~ sed -n 1,5p a ~ sed -n \'1,5p\' a ~ ls; echo done ~ cat a # then rm a',
    'cat a 2>/dev/null ~ cat a > /dev/null 2>&1 ~ ls &> /dev/null ~ # a note\ncat a ~ cat a \\\n  b',
    'cut -d"|" -f1 a ~ git status ~ git log --oneline -5 ~ git diff HEAD~1 ~ git branch -a ~ git branch -vv',
    'git remote -v ~ git tag ~ git stash list ~ git --no-pager log -3 ~ git -C sub show HEAD',
    'git rev-parse --abbrev-ref HEAD ~ test -f a && cat a',
  ],
  'read searches': [
    'grep -ri foo . ~ rg foo src ~ rg \'foo|bar\' src ~ grep "a > b" f ~ grep "a; rm b" f ~ git grep foo',
    'which node ~ cat a | grep foo ~ grep foo a || true ~ grep foo a; echo done ~ [ -f a ] ~ test -d a ~ diff a b',
    'cd a && ag b',
  ],
  'read waits': ['sleep 5; cat a ~ cat a && sleep 3 ~ sleep 2 && git status ~ sleep 3\ncat a'],
  nothing: [
    'echo hi ~ echo hi >&2 ~ printf "%s" x ~ true ~ :  ~ # only a note ~  ~  \n  ~ echo $((1 + 2))',
    "echo '$(rm a)'",
  ],
  'nothing waits': ['sleep 5 ~ sleep 5; echo "waited; still > nothing"'],
  command: [
    'echo hi > a ~ echo hi >> a ~ cat a 2>err ~ cat a | tee b ~ tee b ~ ls; rm a ~ ls | xargs rm ~ ls & rm a',
    'cat a | sh ~ echo $(rm a) ~ echo "$(npm test)" ~ cat `rm a` ~ cat <(rm a) ~ cat >(rm a)',
    "cat <<EOF > a\nx\nEOF ~ echo 'it' && rm x ~ sed s/a/b/ a ~ sed -i s/a/b/ a ~ sed -ni 1p a ~ sed -n -i 1p a",
    'sort -o a a ~ sort --output=a a ~ yq -i .a=1 b ~ find . -delete ~ find . "-delete" ~ find . -exec rm {} ;',
    'find . -ok rm {} ; ~ find . -fprint a ~ find . -fls a ~ git commit -m x ~ git add . ~ git stash ~ git branch x',
    'git branch -d x ~ git tag v1 ~ git checkout a ~ git ~ git diff > a ~ git diff --output=a ~ git -C sub commit',
    'git --no-pager stash ~ npm test ~ make ~ curl http://a ~ rm a ~ python -c 1 ~ FOO=1 cat a ~ sudo cat a',
    'while true; do npm test; done ~ timeout 60 npm test ~ npm test --watch ~ echo wait now > a ~ make --timeout=5',
    '(cat a) ~ if true; then rm a; fi ~ "cat" a ~ c\\at a ~ echos hi ~ toString',
  ],
  'command searches': ['rm a; grep foo b ~ grep foo a > b'],
  'command waits': [
    'sleep 5 && npm test ~ npm test; sleep 1 ~ until curl -f a; do sleep 1; done',
    '(wait 5) ~ watch ls ~ kubectl rollout status deploy/a ~ gh run watch 7 ~ docker wait a',
    'kubectl wait pod/a ~ helm install a --wait',
  ],
};

for (const [kind, rows] of Object.entries(commands)) {
  test(`the effect of these commands is: ${kind}`, () => {
    for (const command of rows.flatMap((row) => row.split(' ~ '))) {
      assert.equal(describe('Bash', { command }), kind, command);
    }
  });
}

test('a command that a shell of Codex is started with counts as the command itself', () => {
  const rows: readonly (readonly [tool: string, input: unknown, kind: string])[] = [
    ['shell', { command: ['bash', '-lc', 'cat a | head'] }, 'read'],
    ['local_shell', { command: ['/bin/zsh', '-lc', "rg 'foo|bar'"] }, 'read searches'],
    ['shell', { command: ['bash', '-lc', 'echo x > a'] }, 'command'],
    ['shell', { command: ['cat', 'a'] }, 'read'],
    ['shell', { command: ['rm', 'a'] }, 'command'],
    ['exec_command', { cmd: 'ls' }, 'read'],
    ['exec', ['bash', '-c', 'sleep 3'], 'nothing waits'],
    ['exec', 'git status', 'read'],
    ['Bash', { script: 'ls' }, 'read'],
    ['terminal', { command: 'ls' }, 'read'],
    ['mcp__box__run-shell', { cmd: 'npm test' }, 'command'],
    ['box.exec', { command: ['rm', 'a'] }, 'command'],
    ['Execute', { command: 'ls' }, 'unknown'],
    ['Bash', { command: `bash -lc "grep foo a"` }, 'read searches'],
    ['Bash', { command: `/bin/bash -lc 'cat a && rm a'` }, 'command'],
    ['Bash', { command: 'sh -c "sleep 3 && cat a"' }, 'read waits'],
    ['Bash', { command: 'zsh -lc ls' }, 'read'],
    ['Bash', { command: 'bash build.sh' }, 'command'],
  ];
  for (const [tool, input, kind] of rows) assert.equal(describe(tool, input), kind, JSON.stringify(input));
  assert.deepEqual([`bash -lc 'cat a'`, '/bin/sh -c "a \'b\'"', 'zsh -lc ls', 'bash a.sh', 'ls'].map(unwrapShell), [
    'cat a',
    "a 'b'",
    'ls',
    'bash a.sh',
    'ls',
  ]);
});

test('the tools of the CLIs have a known effect in any case; any other tool may change something', () => {
  const rows: Readonly<Record<string, string>> = {
    read: 'Read LS NotebookRead WebFetch BashOutput TaskOutput read_file read_many_files list_directory list',
    'read searches': 'Grep Glob WebSearch grep_search search_file_content google_web_search grep GLOB',
    change: 'apply_patch patch NotebookEdit TodoWrite write_todos update_plan save_memory',
    unknown: 'Task get_job mcp__files__read_file deploy KillShell constructor __proto__ toString',
  };
  for (const [kind, tools] of Object.entries(rows)) {
    for (const tool of tools.split(' ')) assert.equal(describe(tool, { any: 1 }), kind, tool);
  }
});

test('an edit and a write have the place with its content before and after, whatever the fields are called', () => {
  const both = { before: 'a.ts\nold', after: 'a.ts\nnew' };
  const rows: readonly (readonly [tool: string, input: object, edit: object | undefined])[] = [
    ['Edit', { file_path: 'a.ts', old_string: 'old', new_string: 'new' }, both],
    ['edit', { filePath: 'a.ts', oldString: 'old', newString: 'new' }, both],
    ['str_replace', { path: 'a.ts', old_str: 'old', new_str: 'new' }, both],
    ['replace', { file_path: 'a.ts', old_string: 'old', new_string: '' }, { before: 'a.ts\nold', after: 'a.ts\n' }],
    ['Write', { file_path: 'a.ts', content: 'new' }, { after: 'a.ts\nnew' }],
    ['write_to_file', { path: 'a.ts', contents: 'new' }, { after: 'a.ts\nnew' }],
    ['MultiEdit', { file_path: 'a.ts', edits: [] }, undefined],
    ['Edit', { file_path: 'a.ts', old_string: 'old' }, undefined],
    ['Edit', { old_string: 'old', new_string: 'new' }, undefined],
    ['Write', { file_path: 'a.ts', content: 5 }, undefined],
    ['Write', { content: 'new' }, undefined],
  ];
  for (const [tool, input, edit] of rows) {
    assert.deepEqual(readEffect(tool, input), { effect: 'change', ...(edit && { edit }) }, JSON.stringify(input));
  }
});

test('an input that cannot be read may change something, and never throws', () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const throws = {
    get command() {
      throw new Error('no');
    },
    get file_path() {
      throw new Error('no');
    },
  };
  const unread = [
    proxy,
    throws,
    null,
    undefined,
    5,
    true,
    Symbol('a'),
    () => 1,
    {},
    { command: 5 },
    { command: proxy },
  ];
  const lists = [[null], [proxy], { command: ['bash', 5] }, [{ command: 'ls' }]];
  for (const tool of ['Bash', 'Edit', 'Write']) {
    for (const input of [...unread, ...lists]) assert.deepEqual(readEffect(tool, input), { effect: 'change' }, tool);
  }
  assert.equal(describe('Read', proxy), 'read', 'the name is enough');
});

test('a command is read up to a length, and every input in a bounded time', () => {
  const cat = (length: number) => `cat ${'a'.repeat(length - 4)}`;
  assert.equal(describe('Bash', cat(commandLengthMax)), 'read');
  assert.equal(describe('Bash', cat(commandLengthMax + 1)), 'change');
  const parts = [
    ' ',
    '"',
    "'",
    '\\"',
    '"\\',
    `'"`,
    '"$(',
    '$((',
    '`',
    '>',
    '> ',
    '2>',
    ' -',
    '-a',
    '| ',
    ';',
    'git ',
    '#',
    '\n',
  ];
  for (const part of [...parts, 'sh -c "', 'git -C a ', 'x 1\n', 'exit ', 'wall time: ']) {
    for (const length of [commandLengthMax, 100_000]) {
      const text = part.repeat(length / part.length);
      const since = process.cpuUsage().user;
      for (const input of [text, `sh -c "${text}`, `git branch${text}!`]) readEffect('Bash', input);
      for (const output of [text, text.slice(0, 1_000)]) saysNothingFound(output);
      unwrapShell(text);
      assert.ok(process.cpuUsage().user - since < 1_000_000, `${JSON.stringify(part)}, ${length} characters`);
    }
  }
});

test('a failed search says that nothing was found if it says no more than its status and headers', () => {
  const header =
    'Chunk ID: 2d6416\nWall time: 0.05 seconds\nProcess exited with code 1\nOriginal token count: 0\nOutput:\n';
  const hostile = {
    get message() {
      throw new Error('no');
    },
  };
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const nothing = [
    ...[
      undefined,
      null,
      '',
      ' \n ',
      'Exit code 1',
      'exit code: 1',
      'Error: Exit code 1',
      'exited with status 1',
      header,
    ],
    ...[
      'Command failed with exit code 1',
      'Process exited with code 1',
      'shell command exited with code 1',
      'stderr:\nstdout:',
    ],
    ...['(no output)', 'No matches found', 'no results were found.', '0 matches', '[]', '{}', ' '.repeat(1_000)],
    ...[new Error('Exit code 1'), { message: '' }],
  ];
  const something = [
    ...[
      'Exit code 2',
      'Exit code 10',
      'exit code 127',
      'grep: a: No such file or directory',
      `${header}grep: bad regex`,
    ],
    ...[
      'Exit code 1\na.ts: it differs',
      ' '.repeat(1_001),
      new Error('boom'),
      5,
      true,
      {},
      [],
      { message: 5 },
      hostile,
      proxy,
    ],
  ];
  for (const output of nothing) assert.equal(saysNothingFound(output), true, JSON.stringify(output));
  for (const [at, output] of something.entries()) assert.equal(saysNothingFound(output), false, `${at}`);
});

test('an error of a tool is named a fault of the caller by its words, and else a failure of the tool', () => {
  const rows: Readonly<Record<string, readonly (readonly [tools: string, text: string])[]>> = {
    PermissionDenied: [
      ['Bash Read get_job', "The user doesn't want to proceed with this tool use."],
      ['Edit shell', 'The user doesn’t want to take this action right now.'],
      ['apply_patch deploy', 'patch rejected by the user'],
      ['exec_command', 'exec command declined by the user'],
      ['Bash', 'User rejected tool use'],
    ],
    InvalidArguments: [
      ['Bash Read get_job', 'Sibling tool call errored'],
      ['Grep', 'InputValidationError: path is missing'],
      ['Edit Write', 'File has not been read yet. Read it first before writing to it.'],
      ['Write', 'File has been modified since read'],
      ['edit replace', 'String to replace not found in file.'],
      ['Read', 'File content (30000 tokens) exceeds maximum allowed tokens'],
      ['MultiEdit', 'Found 3 matches of the string to replace'],
    ],
    FileNotFound: [
      ['Read Edit Write LS', 'File does not exist.'],
      ['read_file', "ENOENT: no such file or directory, open 'a'"],
      ['Grep glob', 'Path not found: src/a'],
    ],
    ClientError: [
      ['WebFetch', 'Request failed with status code 404'],
      ['web_fetch WebSearch', 'HTTP 403 Forbidden'],
    ],
    ToolError: [
      ['WebFetch', 'Request failed with status code 500'],
      ['WebFetch', 'HTTP 429 Too Many Requests'],
      ['WebFetch', 'error 408'],
      ['Bash get_job', 'cat: a: No such file or directory'],
      ['Bash deploy', 'HTTP 404'],
      ['Edit', 'HTTP 404'],
      ['apply_patch', 'File has not been read yet'],
      ['Read', 'the disk is full'],
      ['Read', `${' '.repeat(1_000)}File does not exist.`],
      ['Read', ''],
    ],
  };
  for (const [name, said] of Object.entries(rows)) {
    for (const [tools, text] of said) {
      for (const tool of tools.split(' ')) assert.equal(nameError(tool, text), name, `${tool}: ${text.trim()}`);
    }
  }
});
