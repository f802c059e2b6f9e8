/**
 * Daily stories for real CLIs: short versions of those in `test/daily` that really happen, in a small project with
 * files and scripts. The names are those of the stories they are taken from.
 */

import type { Client } from './clients.ts';
import type { Call } from './mock-model.ts';

/** What the model does next. */
export interface Move {
  readonly calls: readonly Call[];
  readonly says?: string;
  /** What the results show if the story goes as it should. */
  readonly shows?: string;
  /** How long the model thinks before it. */
  readonly afterMs?: number;
}

/** Gives a move for each turn of the model, gets what the results showed, and returns the last words. */
export type Script = Generator<Move, string, string>;

export interface DailyStory {
  readonly name: string;
  readonly kind: 'healthy' | 'bad';
  readonly files: Readonly<Record<string, string>>;
  /** Makes a git repository of the files. */
  readonly isRepository?: true;
  /** Tells it for a client; the port is free. */
  script(client: Client, port: number): Script;
  /** A healthy story: a command that succeeds once the work is done. */
  readonly proof?: string;
  /** A bad story: the last request that may reach the model. */
  readonly haltedBy?: number;
  /** A bad story that a subagent plays, whose requests are counted. */
  readonly isErrand?: true;
}

/** A move with one call. */
function move(call: Call, shows?: string, says?: string): Move {
  return { calls: [call], ...(shows !== undefined && { shows }), ...(says !== undefined && { says }) };
}

/** A script of the shell. */
const script = (...lines: readonly string[]) => `${['#!/bin/sh', ...lines].join('\n')}\n`;

/** A program that does as its file of counts says: `n` is how often it has run. */
const counting = (...lines: readonly string[]) =>
  script('n=$(($(cat .runs 2>/dev/null || echo 0) + 1))', 'echo $n > .runs', ...lines);

/** Numbers from 1. */
const upTo = (count: number) => Array.from({ length: count }, (_, at) => at + 1);

const words = 'apple brick cloud drum eagle fern glass horn iron jade kite lamp moss nail oak pearl'.split(' ');
const word = (n: number) => words[n % words.length]!;

// ---- edits ----

/** Functions of a module get types, one line at a time. */
function oneLineEdits(count: number): DailyStory {
  const lines = upTo(count).map((n) => [`def ${word(n)}_${n}(x):`, `def ${word(n)}_${n}(x: int) -> int:`] as const);
  return {
    name: 'twelve-one-line-edits-of-one-file',
    kind: 'healthy',
    files: {
      'invoices.py': lines.map(([before]) => `${before}\n    return x + 1\n`).join('\n'),
      'test.sh': script(
        "grep -n '(x):' invoices.py | sed 's/:.*/: error: Function is missing a type annotation/'",
        "n=$(grep -c '(x):' invoices.py)",
        'if [ "$n" -gt 0 ]; then echo "Found $n errors in 1 file"; exit 1; fi',
        'echo "Success: no issues found in 1 source file"',
      ),
    },
    proof: 'sh test.sh',
    *script({ shell, read, edit }) {
      yield { calls: [read('invoices.py'), shell('sh test.sh')], shows: `Found ${count} errors` };
      for (const [before, after] of lines) yield move(edit('invoices.py', before, after));
      yield move(shell('sh test.sh'), 'Success');
      return 'The module is fully typed now.';
    },
  };
}

/** Blocks of several lines in one file. */
function blockEdits(count: number): DailyStory {
  const block = (n: number) =>
    [`\tif err${n} != nil {`, `\t\tlog.Printf("${word(n)} %d", ${n})`, `\t\thttp.Error(w, "${n}", 500)`, '\t}'].join(
      '\n',
    );
  const better = (n: number) =>
    [`\tif err${n} != nil {`, `\t\ts.log.Error("${word(n)}", "n", ${n})`, `\t\twriteProblem(w, ${n})`, '\t}'].join(
      '\n',
    );
  return {
    name: 'twelve-six-line-edits-of-one-file',
    kind: 'healthy',
    files: {
      'handlers.go': `package api\n\nimport (\n\t"log"\n\t"net/http"\n)\n\n${upTo(count)
        .map((n) => `func ${word(n)}${n}() {\n\tv, err${n} := load(${n})\n${block(n)}\n\twrite(w, v)\n}\n`)
        .join('\n')}`,
      'build.sh': script(
        'if grep -q \'^.http.Error(w, "[0-9]\' handlers.go; then echo "errors are answered with 500"; exit 1; fi',
        'if ! grep -q "[^.]log.Printf" handlers.go && grep -q \'"log"\' handlers.go; then',
        '  echo \'handlers.go:4:2: "log" imported and not used\'; exit 1',
        'fi',
        'echo "ok  api 0.412s"',
      ),
    },
    proof: 'sh build.sh',
    *script({ shell, read, edit }) {
      yield move(read('handlers.go'));
      for (const n of upTo(count)) yield move(edit('handlers.go', block(n), better(n)));
      yield move(shell('sh build.sh'), 'imported and not used');
      yield move(edit('handlers.go', '\t"log"\n\t"net/http"', '\t"net/http"'));
      yield move(shell('sh build.sh'), 'ok  api');
      return 'All handlers answer with a problem document.';
    },
  };
}

/** Lines of one file that have nothing to do with each other. */
function reviewEdits(count: number): DailyStory {
  const changes = (
    [
      ['about = "find duplicate file"', 'about = "Find duplicate files"'],
      ['    roots: Vec<PathBuf>,', '    #[arg(required = true)]\n    roots: Vec<PathBuf>,'],
      ['    let path = entry.unwrap().path();', '    let path = entry?.path();'],
      ['    if path.is_dir() {', '    if entry.file_type()?.is_dir() {'],
      ['    let mut buf = [0u8; 512];', '    let mut buf = vec![0u8; 64 * 1024];'],
      ['    if meta.len() > min_size {', '    if meta.len() >= min_size {'],
      ['    sizes.or_insert(Vec::new()).push(file);', '    sizes.or_default().push(file);'],
      ['    println!("  {:?}", path);', '    println!("  {}", path.display());'],
    ] as const
  ).slice(0, count);
  return {
    name: 'eight-edits-of-unrelated-lines',
    kind: 'healthy',
    files: {
      'main.rs': `${changes.map(([before], n) => `// part ${n}\n${before}`).join('\n')}\n`,
      'test.sh': script(
        `n=$(grep -cE 'find duplicate|unwrap|512|> min_size|or_insert|:\\?' main.rs)`,
        'if [ "$n" -gt 0 ]; then echo "$n findings are left"; exit 1; fi',
        'echo "test result: ok. 9 passed; 0 failed"',
      ),
    },
    proof: 'sh test.sh',
    *script({ shell, read, edit }) {
      yield move(read('main.rs'));
      for (const [at, [before, after]] of changes.entries())
        yield move(edit('main.rs', before, after), undefined, `(${at + 1})`);
      yield move(shell('sh test.sh'), '9 passed');
      return 'The review is worked in.';
    },
  };
}

const services = upTo(12).map((n) => `${word(n)}-${n}`);

const sedEdits: DailyStory = {
  name: 'sed-over-twelve-dockerfiles',
  kind: 'healthy',
  isRepository: true,
  files: {
    ...Object.fromEntries(services.map((name) => [`services/${name}/Dockerfile`, 'FROM node:18-alpine\nCOPY . .\n'])),
    'build.sh': script('sleep 2', 'grep -q node:22 "services/$1/Dockerfile" && echo sha256:5a0e9d6b1c4f'),
  },
  proof: "! grep -rn 'node:18' services",
  *script({ shell }) {
    yield move(shell("grep -rn '^FROM node:18' services"), services[0]!);
    for (const name of services)
      yield move(shell(`sed -i 's|^FROM node:18-alpine|FROM node:22-alpine|' services/${name}/Dockerfile`));
    yield move(shell("grep -rn '^FROM node:18' services"), undefined, 'Nothing must be left.');
    yield move(shell('git diff --stat'), '12 files changed');
    yield move(shell(`sh build.sh ${services[3]}`), 'sha256');
    return 'All twelve services build on Node 22.';
  },
};

const newFiles: DailyStory = {
  name: 'twelve-new-files-in-a-row',
  kind: 'healthy',
  files: {
    'README.md': '# Links\n\nA link shortener; `sh test.sh` when there is something.\n',
    'test.sh': script('n=$(ls src/part-*.js 2>/dev/null | wc -l)', '[ "$n" -eq 12 ] && echo "pass 12"'),
  },
  proof: 'sh test.sh',
  *script({ shell, write }) {
    yield move(shell('ls -la'), 'README.md');
    for (const n of upTo(12))
      yield move(write(`src/part-${n}.js`, `export const ${word(n)} = ${n};\nexport const next = ${word(n)} + 1;\n`));
    yield move(shell('sleep 2; echo "added 87 packages"'), 'added 87');
    yield move(shell('sh test.sh'), 'pass 12');
    return 'The link shortener is ready.';
  },
};

// ---- tests ----

/** The same green test after each edit. */
function greenRefactoring(rounds: number): DailyStory {
  const old = (n: number) => `var ${word(n)} = ${n};`;
  return {
    name: 'refactoring-with-the-same-green-test',
    kind: 'healthy',
    files: {
      'cart.js': `${upTo(rounds)
        .map((n) => `${old(n)}\n`)
        .join('')}console.log(${upTo(rounds).map(word).join(' + ')});\n`,
      'test.sh': script(
        `if [ "$(node cart.js)" = ${(rounds * (rounds + 1)) / 2} ]; then echo "PASS cart.test.js"; else exit 1; fi`,
        'echo "Tests:       41 passed, 41 total"',
      ),
    },
    proof: 'sh test.sh && ! grep -q var cart.js',
    *script({ shell, read, edit }) {
      yield move(read('cart.js'));
      for (const n of upTo(rounds)) {
        yield move(edit('cart.js', old(n), `const ${word(n)} = ${n};`));
        yield move(shell('sh test.sh'), '41 passed');
      }
      return 'The 41 tests were green after each step.';
    },
  };
}

/** A number of failures that falls by one. */
function fallingNumber(rounds: number): DailyStory {
  const stub = (n: number) => `    case OP_${word(n).toUpperCase()}: return VM_TODO;`;
  return {
    name: 'test-driven-with-a-falling-number',
    kind: 'healthy',
    files: {
      'vm.c': `vm_status step(vm_op op) {\n  switch (op) {\n${upTo(rounds).map(stub).join('\n')}\n  }\n}\n`,
      'test.sh': script(
        'n=$(grep -c VM_TODO vm.c)',
        'echo "cc -std=c11 -o build/optest test/optest.c src/vm.c"',
        `echo "optest: ${rounds} opcodes, $n failed"`,
        '[ "$n" -eq 0 ] || { echo "make: *** [Makefile:31: test] Error 1"; exit 2; }',
      ),
    },
    proof: 'sh test.sh',
    *script({ shell, read, edit }) {
      yield { calls: [read('vm.c'), shell('sh test.sh')], shows: `${rounds} failed` };
      for (const n of upTo(rounds)) {
        yield move(edit('vm.c', stub(n), stub(n).replace('VM_TODO', `run_${word(n)}(vm)`)));
        yield move(shell('sh test.sh'), `${rounds - n} failed`);
      }
      return 'All opcodes are implemented.';
    },
  };
}

const growingOk: DailyStory = {
  name: 'test-driven-with-one-more-ok-line',
  kind: 'healthy',
  files: {
    'Human.pm': 'my %UNIT = (\n);\n',
    'human.sh': script(
      'left=0',
      'echo 1..12',
      `i=0; for name in ${upTo(12).map(word).join(' ')}; do`,
      '  i=$((i + 1))',
      '  if grep -q "$name" Human.pm; then echo "ok $i - $name"; else echo "not ok $i - $name"; left=$((left + 1)); fi',
      'done',
      'exit $left',
    ),
  },
  proof: 'sh human.sh',
  *script({ shell, read, edit }) {
    yield { calls: [read('Human.pm'), shell('sh human.sh')], shows: 'not ok 1 -' };
    let last = 'my %UNIT = (';
    for (const n of upTo(12)) {
      const line = `    ${word(n)} => ${n},`;
      yield move(edit('Human.pm', last, `${last}\n${line}`));
      yield move(shell('sh human.sh'), ` ok ${n} - `.trim());
      last = line;
    }
    return 'All twelve forms are understood.';
  },
};

const fifthAttempt: DailyStory = {
  name: 'four-attempts-then-the-fix',
  kind: 'healthy',
  files: {
    'bucket.go': [
      ...upTo(4).map((n) => `\tguess${n} := false`),
      '\topt(b) // the options',
      '\tb.burst = defaultBurst // after the options',
      '',
    ].join('\n'),
    'test.sh': script(
      'if grep -q "after the options" bucket.go; then',
      '  echo "--- FAIL: TestBurstAfterIdle (0.00s)"',
      '  echo "    bucket_test.go:47: Allow() number 6 after 10s idle = true, want false"',
      '  echo FAIL; exit 1',
      'fi',
      'echo "ok  ratelimit 0.003s"',
    ),
  },
  proof: 'sh test.sh',
  *script({ shell, read, edit }) {
    yield { calls: [read('bucket.go'), shell('sh test.sh')], shows: 'FAIL' };
    for (const n of upTo(4)) {
      yield move(
        edit('bucket.go', `\tguess${n} := false`, `\tguess${n} := true`),
        undefined,
        `Perhaps it is ${word(n)}.`,
      );
      yield move(shell('sh test.sh'), 'want false');
    }
    yield move(edit('bucket.go', '\tb.burst = defaultBurst // after the options', '\tb.burst = min(b.burst, 5)'));
    yield move(shell('sh test.sh'), 'ok  ratelimit');
    yield move(edit('bucket.go', '\tguess4 := true', '\tguess4 := false'), undefined, 'The guess is not needed.');
    yield move(shell('sh test.sh && ls'), 'ok  ratelimit');
    return 'The burst was overwritten after the options.';
  },
};

const flakyCommand: DailyStory = {
  name: 'flaky-gem-server-works-the-fifth-time',
  kind: 'healthy',
  files: {
    'install.sh': counting(
      'sleep 1',
      'echo "Fetching source index from https://gems.harborline.dev/"',
      'if [ $n -lt 5 ]; then',
      '  echo "Could not fetch specs due to underlying error <bad response Service Unavailable 503>" >&2; exit 17',
      'fi',
      'echo "Bundle complete! 164 gems now installed."',
    ),
    'specs.sh': script('[ "$(cat .runs)" -ge 5 ] && echo "70 examples, 0 failures"'),
  },
  proof: 'sh specs.sh',
  *script({ shell }) {
    for (const says of ['The gems first.', 'Such things pass.', 'Still 503.', 'Again.'])
      yield move(shell('sh install.sh'), '503', says);
    yield move(shell('sh install.sh'), 'Bundle complete', 'Moody indeed.');
    yield move(shell('sh specs.sh'), '70 examples');
    return 'The gems are installed and all examples pass.';
  },
};

// ---- long work ----

/** Each edit is followed by the same line of `git status`. */
function sameStatus(rounds: number): DailyStory {
  const line = (n: number, value: string) => `$${word(n)}: ${value};`;
  return {
    name: 'edits-with-the-same-git-status',
    kind: 'healthy',
    isRepository: true,
    files: {
      'tokens.scss': upTo(rounds)
        .map((n) => `${line(n, `old ${n}`)}\n`)
        .join(''),
    },
    proof: '! grep -q old tokens.scss',
    *script({ shell, read, edit }) {
      yield move(read('tokens.scss'));
      for (const n of upTo(rounds)) {
        yield move(edit('tokens.scss', line(n, `old ${n}`), line(n, `new ${n}`)));
        yield move(shell('git status --short'), ' M tokens.scss');
      }
      yield move(shell('wc -l tokens.scss'), `${rounds} tokens.scss`);
      return 'tokens.scss is the only file that changed.';
    },
  };
}

const todoMd: DailyStory = {
  name: 'todo-file-written-after-each-step',
  kind: 'healthy',
  files: {
    'app.js': `${upTo(10)
      .map((n) => `app.${word(n)}(${n});\n`)
      .join('')}`,
  },
  proof: 'grep -c done app.js && ! grep -q "\\[ \\]" TODO.md',
  *script({ read, edit, write }) {
    const todo = (done: number) =>
      write(
        'TODO.md',
        `# Express 5\n\n${upTo(10)
          .map((n) => `- [${n <= done ? 'x' : ' '}] app.${word(n)}\n`)
          .join('')}`,
      );
    yield move(read('app.js'));
    yield move(todo(0));
    for (const n of upTo(10)) {
      yield move(edit('app.js', `app.${word(n)}(${n});`, `app.${word(n)}(${n}); // done`));
      yield move(todo(n));
    }
    return 'The upgrade is done and TODO.md is ticked off.';
  },
};

const sixtyCalls: DailyStory = {
  name: 'sixty-calls-in-fifteen-files',
  kind: 'healthy',
  files: {
    ...Object.fromEntries(
      upTo(15).map((n) => [`src/${word(n)}.py`, `import os\n\n\ndef ${word(n)}():\n    return ${n}\n`]),
    ),
    'lint.sh': script('grep -q pathlib "src/$1.py" && echo "All checks passed!"'),
    'test.sh': script('grep -q pathlib "src/$1.py" && echo "..... [100%]" && echo "5 passed in 0.12s"'),
  },
  proof: '! grep -rlx "import os" src',
  *script({ shell, read, edit }) {
    for (const name of upTo(15).map(word)) {
      yield move(read(`src/${name}.py`));
      yield move(edit(`src/${name}.py`, 'import os', 'from pathlib import Path'));
      yield move(shell(`sh lint.sh ${name}`), 'All checks passed!');
      yield move(shell(`sh test.sh ${name}`), '5 passed');
    }
    return 'All fifteen modules use pathlib now.';
  },
};

const pages = 14;
const pageLines = 60;

const largeLog: DailyStory = {
  name: 'paging-through-a-large-log',
  kind: 'healthy',
  files: {
    'app.log': upTo(pages * pageLines)
      .map(
        (n) =>
          `${n} INFO http GET /${word(n * 7)}/${(n * 37) % 4_000} ${n % 29 === 7 ? 404 : 200} in ${(n * 17) % 180}ms\n`,
      )
      .join(''),
  },
  proof: 'test -s app.log',
  *script({ shell, read }) {
    yield move(shell('wc -l app.log'), `${pages * pageLines} app.log`);
    for (const page of upTo(pages)) {
      const from = (page - 1) * pageLines + 1;
      yield move(read('app.log', from, pageLines), `${from + 1} INFO`);
    }
    return 'The pool was exhausted before the requests timed out.';
  },
};

const longCheckList: DailyStory = {
  name: 'check-list-of-fifteen-items',
  kind: 'healthy',
  files: {
    'RELEASING.md': upTo(15)
      .map((n) => `- [ ] ${n}: ${word(n)}\n`)
      .join(''),
    'step.sh': script('echo "$1" >> .done', 'echo "step $1: ok"'),
  },
  proof: 'test "$(wc -l < .done)" -eq 15',
  *script({ shell, read, list }) {
    const items = upTo(15).map((n) => `${n}: ${word(n)}`);
    const tick = (n: number) => list?.(items, n) ?? shell(`sed -i '${n}s/\\[ \\]/[x]/' RELEASING.md`);
    yield move(read('RELEASING.md'));
    for (const n of upTo(15)) {
      yield move(shell(`sh step.sh ${n}`), `step ${n}: ok`);
      yield move(tick(n));
    }
    return 'The release is prepared.';
  },
};

// ---- searches and waits ----

const emptySearches: DailyStory = {
  name: 'ten-empty-searches-then-the-right-one',
  kind: 'healthy',
  files: {
    'content/en/seat.yaml': 'dropped:\n  subject: "We let your {{ what }} go"\n',
    'src/render.ts': 'export const render = (text: string) => text;\n',
    'test.sh': script('grep -q "was released" content/en/seat.yaml && echo "Tests  23 passed (23)"'),
  },
  proof: 'sh test.sh',
  *script({ shell, read, edit }) {
    for (const command of [
      'grep -rn "We let your table go" .',
      'grep -rin "let your table" .',
      'grep -rn "your table go" --include="*.ts" .',
      'grep -rn "table go" content',
      'grep -rn "table go" src',
      'grep -rniE "let (the|your|a) table" content src',
      'grep -rnE "(mail|email).(released|letGo).subject" .',
      'grep -rn "subject.*table" .',
      'grep -rnE "tableReleased|table_released" .',
      'grep -ril "table go" --include="*.sql" .',
    ])
      yield move(shell(command));
    yield move(shell('grep -rn "We let your" .'), 'seat.yaml:2', 'Perhaps the table is filled in.');
    yield move(read('content/en/seat.yaml'));
    yield move(
      edit('content/en/seat.yaml', '  subject: "We let your {{ what }} go"', '  subject: "{{ what }} was released"'),
    );
    yield move(shell('sh test.sh'), '23 passed');
    return 'The subject is in content/en/seat.yaml.';
  },
};

/** A server that listens some time after its start, and ends by itself. */
const serverFile = `import { createServer } from 'node:http';
const [port, secs] = process.argv.slice(2);
const server = createServer((_, response) => response.end('{"status":"UP"}'));
setTimeout(() => server.listen(Number(port), '127.0.0.1'), 1000 * Number(secs));
setTimeout(() => process.exit(), 90_000);
`;

const ask = ({ shell }: Client, port: number) => shell(`curl -sS http://127.0.0.1:${port}/health`);

const slowServer: DailyStory = {
  name: 'curl-until-the-server-is-up',
  kind: 'healthy',
  files: { 'server.mjs': serverFile, 'rates.js': 'cache = 0;\n' },
  proof: 'grep -q 60 rates.js && test ! -e server.pid',
  *script(client, port) {
    const { shell, read, edit } = client;
    yield move(read('rates.js'));
    yield move(edit('rates.js', 'cache = 0;', 'cache = 60;'));
    const command = `node server.mjs ${port} 7 > server.log 2>&1`;
    yield move(client.start?.(`echo $$ > server.pid; exec ${command}`) ?? shell(`${command} & echo $! > server.pid`));
    // A model takes a second here: the server refuses seven calls at most.
    let answer = '';
    for (let asked = 0; asked < 20 && !answer.includes('UP'); asked++)
      answer = yield { ...move(ask(client, port)), afterMs: 1_000 };
    yield move(shell(`curl -sS http://127.0.0.1:${port}/rates/EUR | head -n 4`), 'UP', 'It is up.');
    yield move(shell('xargs kill < server.pid; rm server.pid'));
    return 'I tried it against the running server.';
  },
};

const pollJob: DailyStory = {
  name: 'poll-a-job-every-three-seconds',
  kind: 'healthy',
  files: {
    'job.yaml': 'args: [--month=2025-03, --write]\n',
    'job.sh': counting('if [ $n -gt 10 ]; then echo " active, 1 done"; else echo "1 active,  done"; fi'),
  },
  proof: 'test "$(cat .runs)" -eq 11',
  *script({ shell }) {
    yield move(shell('cat job.yaml'), 'month');
    for (const _ of upTo(10)) yield move(shell('sleep 3; sh job.sh'), '1 active');
    yield move(shell('sleep 3; sh job.sh'), '1 done');
    yield move(shell('echo "46,812 rows written"'));
    return 'The backfill is done.';
  },
};

const movingBuild: DailyStory = {
  name: 'ask-a-build-that-moves',
  kind: 'healthy',
  files: {
    'build.sh': counting('echo "[ $((n * 10))%] Building object part-$n.o"', '[ $n -lt 10 ] || echo BUILD DONE'),
  },
  proof: 'test "$(cat .runs)" -eq 10',
  *script({ shell }) {
    yield move(shell('echo "-- Configuring done"'));
    for (const n of upTo(10)) yield move(shell('sleep 2; sh build.sh'), `${n * 10}%`);
    yield move(shell('echo "[  PASSED  ] 118 tests."'), 'PASSED');
    return 'All 118 unit tests pass.';
  },
};

const failingExplorations: DailyStory = {
  name: 'eight-failing-explorations',
  kind: 'healthy',
  files: { '.mise.toml': '[tasks.test]\nrun = "sh crates/test.sh"\n', 'crates/test.sh': script('echo "64 passed"') },
  proof: 'sh crates/test.sh',
  *script({ shell, read }) {
    yield move(read('README.md'));
    for (const command of [
      'npm test',
      'make test',
      'mix test',
      'python3 -m no_such_runner -q',
      'cat .github/workflows/ci.yml',
      'ls scripts bin tools',
      'cd backend && cargo test',
    ])
      yield move(shell(command));
    yield move(shell('ls -A'), '.mise.toml', 'Enough guessing.');
    yield move(shell('cat .mise.toml'), 'crates/test.sh');
    yield move(shell('sh crates/test.sh'), '64 passed');
    return 'main is green: 64 tests pass.';
  },
};

// ---- runaway agents ----

/** How many turns a runaway agent takes if nobody stops it. */
const enough = 30;

/** Moves again and again, in turn. */
function* forEver(...moves: readonly Move[]): Script {
  for (let at = 0; at < enough; at++) yield moves[at % moves.length]!;
  return 'I give up.';
}

const settingsFile = "export const settings = {\n  secret: 'dev-only',\n  ttl: 3600,\n};\n";
const sessionFile =
  "import { settings } from './settings.js';\nexport const sign = (id) => hash(settings.secret, id);\n";

const catMissing: DailyStory = {
  name: 'failing-cat-missing',
  kind: 'bad',
  haltedBy: 10,
  files: { 'README.md': '# Notes\n' },
  script: ({ shell }) => forEver(move(shell('cat missing.txt'))),
};

const testUnchanged: DailyStory = {
  name: 'failing-test-unchanged',
  kind: 'bad',
  haltedBy: 10,
  files: {
    'test.sh': script(
      'ms=$(($(date +%N | sed "s/^0*//") % 900 + 20))',
      'echo " ❯ src/cart/cart.test.ts (6 tests | 1 failed) ${ms}ms"',
      'echo "   → expected 107.1 to be 95.2 // Object.is equality"',
      'echo " Tests  1 failed | 5 passed (6)"',
      'echo " Start at  $(date +%H:%M:%S)"',
      'echo " Duration  ${ms}ms"',
      'exit 1',
    ),
  },
  script: ({ shell }) => forEver(move(shell('sh test.sh'))),
};

const editNotFound: DailyStory = {
  name: 'failing-edit-not-found',
  kind: 'bad',
  haltedBy: 10,
  files: { 'routes.ts': "routes.get('/orders',  listOrders);\n" },
  *script({ read, edit }) {
    yield move(read('routes.ts'));
    const wrong = edit('routes.ts', "routes.get('/orders', listOrders);", "routes.get('/orders', login, listOrders);");
    return yield* forEver(move(wrong));
  },
};

const reworded: DailyStory = {
  name: 'failing-deploy-reworded',
  kind: 'bad',
  haltedBy: 10,
  files: {
    'deploy.sh': counting(
      'case $((n % 6)) in',
      '  0) echo "Error: deployment aborted: the registry denied access to image shop/api (unauthorized)" ;;',
      '  1) echo "The rollout did not complete: no valid credentials for registry.internal were supplied" ;;',
      '  2) echo "deploy: giving up: push access to shop/api is not granted to this account" ;;',
      '  3) echo "fatal: could not publish release: authentication is required before upload" ;;',
      '  4) echo "Release step ended with a problem: server answered 401" ;;',
      '  5) echo "Abort. Nothing was changed: your login has expired, or never existed, on this host" ;;',
      'esac',
      'exit 1',
    ),
  },
  script: ({ shell }) => forEver(move(shell('sh deploy.sh staging'))),
};

const gitStatus: DailyStory = {
  name: 'repeating-git-status',
  kind: 'bad',
  haltedBy: 10,
  isRepository: true,
  files: { 'form.tsx': 'export const form = 1;\n' },
  script: ({ shell }) => forEver(move(shell('git status'))),
};

const repeatingRead: DailyStory = {
  name: 'repeating-read',
  kind: 'bad',
  haltedBy: 10,
  files: { 'settings.ts': settingsFile },
  script: ({ read }) => forEver(move(read('settings.ts'))),
};

const twoReads: DailyStory = {
  name: 'cycle-two-reads',
  kind: 'bad',
  haltedBy: 14,
  files: { 'settings.ts': settingsFile, 'session.ts': sessionFile },
  script: ({ read }) => forEver(move(read('session.ts')), move(read('settings.ts'))),
};

const threeLooks: DailyStory = {
  name: 'cycle-three-looks',
  kind: 'bad',
  haltedBy: 14,
  isRepository: true,
  files: { 'settings.ts': settingsFile, 'session.ts': sessionFile },
  script: ({ shell, read }) =>
    forEver(move(shell('git log --oneline -4')), move(shell('grep -n secret session.ts')), move(read('settings.ts'))),
};

const neverUp: DailyStory = {
  name: 'waiting-refused-without-pause',
  kind: 'bad',
  haltedBy: 16,
  files: { 'README.md': '# Shop\n' },
  script: (client, port) => forEver(move(ask(client, port))),
};

const subagent: DailyStory = {
  name: 'subagent-failing-call',
  kind: 'bad',
  // Where only the files of a CLI tell what its subagents do, a run learns it a moment later.
  haltedBy: 12,
  isErrand: true,
  files: { 'README.md': '# API\n' },
  script: ({ shell }) => forEver(move(shell('python3 -m no_such_runner tests/test_api.py'))),
};

/** The twenty healthy stories, then the ten bad ones. */
export const dailyStories: readonly DailyStory[] = [
  oneLineEdits(12),
  blockEdits(12),
  reviewEdits(8),
  sedEdits,
  newFiles,
  greenRefactoring(10),
  fallingNumber(12),
  growingOk,
  fifthAttempt,
  flakyCommand,
  sameStatus(12),
  todoMd,
  sixtyCalls,
  largeLog,
  longCheckList,
  emptySearches,
  slowServer,
  pollJob,
  movingBuild,
  failingExplorations,
  catMissing,
  testUnchanged,
  editNotFound,
  reworded,
  gitStatus,
  repeatingRead,
  twoReads,
  threeLooks,
  neverUp,
  subagent,
];

/** The stories that are played once more with a model that takes its time. */
export const slowStories: readonly DailyStory[] = [reviewEdits(8), fifthAttempt, testUnchanged, twoReads];

/** The most telling ones, for each commit; with where each is played. */
export const telling = {
  run: [fallingNumber(7), slowServer, gitStatus],
  hooks: [oneLineEdits(6), pollJob, testUnchanged],
  gateway: [greenRefactoring(7), sameStatus(7), emptySearches, twoReads],
} as const satisfies Readonly<Record<string, readonly DailyStory[]>>;
