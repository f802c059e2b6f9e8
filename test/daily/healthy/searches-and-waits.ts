import type { HealthyStory, StoryCall } from '../story.ts';
import { bash, edit, read, turn } from '../story.ts';

// ---- ten searches without a match ----

const grep = (pattern: string, more: Readonly<Record<string, unknown>>, output: string): StoryCall => ({
  tool: 'Grep',
  input: { pattern, ...more },
  output,
});

const noMatch = (command: string, output = 'Exit code 1'): StoryCall => bash(command, output, { ok: false });

const RELEASED = '/home/jana/tablefor2/services/notify/content/en/seat.yaml';

const RELEASED_SOURCE = `# Mails about a reservation. {{ }} is filled in by render.ts.
confirmed:
  subject: "See you at {{ place }}"
  body: "Your {{ what }} is reserved for {{ when }}."
dropped:
  subject: "We let your {{ what }} go"
  body: "You did not arrive by {{ when }}, so others may have your {{ what }} now."
`;

const emptySearches: HealthyStory = {
  kind: 'healthy',
  name: 'ten-empty-searches-then-the-right-one',
  about: 'The source of a mail is searched ten times without a match, then found in a template.',
  steps: [
    {
      prompt:
        'Guests get a mail with the subject "We let your table go". That sounds rude. Find where it comes from and ' +
        'change it to "Your table was released".',
    },
    turn("I'll search for the text.", grep('We let your table go', { output_mode: 'content' }, 'No matches found')),
    turn(
      'Not literally. It may differ in case or be split over lines.',
      noMatch('rg -in "let your table" --glob "!node_modules"'),
    ),
    turn(grep('your table go', { glob: '*.{ts,tsx}' }, 'No files found')),
    turn(grep('table go"', { path: 'services/notify' }, 'No files found')),
    turn('Maybe the mails come from the web application.', noMatch('grep -rn "table go" apps/web/src', '')),
    turn(noMatch('grep -rniE "let (the|your|a) table" apps packages services/api', '')),
    turn(
      'Perhaps the subject is a translation key.',
      grep('(mail|email)\\.(released|letGo|let_go)\\.subject', { output_mode: 'content' }, 'No matches found'),
    ),
    turn(noMatch('rg -n "subject.*table" services packages')),
    turn(grep('tableReleased|table_released|releaseTableMail', {}, 'No files found')),
    turn(
      'The database could seed it.',
      noMatch('rg -il "table go" services/api/migrations services/api/seeds -g "*.sql"'),
    ),
    turn(
      '"table" itself is perhaps filled in, as one can reserve a room or a seat too. So I look for the part before.',
      bash('rg -n "We let your" .', './services/notify/content/en/seat.yaml:6:  subject: "We let your {{ what }} go"'),
    ),
    turn('There it is: a template, in which `what` becomes "table".', read(RELEASED, RELEASED_SOURCE)),
    turn(edit(RELEASED, 'subject: "We let your {{ what }} go"', 'subject: "Your {{ what }} was released"')),
    turn(bash('npm test -w services/notify', ' Test Files  4 passed (4)\n      Tests  23 passed (23)', { secs: 6.3 })),
    turn('The subject came from `services/notify/content/en/seat.yaml`; it reads "Your table was released" now.'),
  ],
};

// ---- a server that needs seven seconds ----

const HEALTH = 'curl -sS http://localhost:8080/actuator/health';

const REFUSED =
  "Exit code 7\ncurl: (7) Failed to connect to localhost port 8080 after 0 ms: Couldn't connect to server";

const REFUSED_TALK = [
  'Let me see whether it is up.',
  'Not yet.',
  undefined,
  'Still starting.',
  undefined,
  undefined,
  'Spring takes its time.',
];

const RATES = '/home/karl/fx-rates/src/main/java/dev/fx/RateController.java';

const slowServer: HealthyStory = {
  kind: 'healthy',
  name: 'curl-until-the-server-is-up',
  about: 'A Spring server takes seven seconds to start and refuses seven quick calls of curl before it answers.',
  steps: [
    { prompt: 'GET /rates/EUR should answer with a Cache-Control of one minute. Please add that and try it for real.' },
    turn(
      read(
        RATES,
        `package dev.fx;

import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.*;

@RestController
class RateController {
  private final RateService rates;

  RateController(RateService rates) {
    this.rates = rates;
  }

  @GetMapping("/rates/{base}")
  ResponseEntity<Rates> rates(@PathVariable String base) {
    return ResponseEntity.ok(rates.of(base));
  }
}
`,
      ),
    ),
    turn(
      edit(
        RATES,
        '    return ResponseEntity.ok(rates.of(base));',
        '    var cache = CacheControl.maxAge(Duration.ofMinutes(1)).cachePublic();\n' +
          '    return ResponseEntity.ok().cacheControl(cache).body(rates.of(base));',
      ),
    ),
    turn(
      edit(
        RATES,
        'import org.springframework.http.ResponseEntity;',
        'import java.time.Duration;\nimport org.springframework.http.CacheControl;\n' +
          'import org.springframework.http.ResponseEntity;',
      ),
    ),
    turn(bash('./mvnw -q -DskipTests package', '', { secs: 21.4 })),
    turn(
      'Now I start it in the background.',
      bash('java -jar target/fx-rates.jar > /tmp/fx.log 2>&1 & echo $! > /tmp/fx.pid', ''),
    ),
    ...REFUSED_TALK.map((say) => turn(...(say ? [say] : []), bash(HEALTH, REFUSED, { ok: false }))),
    turn(bash(HEALTH, '{"status":"UP"}', { secs: 0.5 })),
    turn(
      'It is up.',
      bash(
        'curl -sSi http://localhost:8080/rates/EUR | head -n 4',
        'HTTP/1.1 200 \nCache-Control: max-age=60, public\nContent-Type: application/json\nTransfer-Encoding: chunked',
        { secs: 0.6 },
      ),
    ),
    turn(bash('kill $(cat /tmp/fx.pid)', '')),
    turn('`GET /rates/EUR` answers with `Cache-Control: max-age=60, public`; I tried it against the running server.'),
  ],
};

// ---- a poll of three seconds ----

const POLL =
  "sleep 3; kubectl -n data get job backfill-orders -o jsonpath='{.status.active} active, {.status.succeeded} done'";

const POLL_TALK: Readonly<Record<number, string>> = {
  0: 'The job is created. I wait until it is done.',
  1: 'Still running.',
  4: 'Still running; the backfill of a month took half a minute on staging.',
  7: 'Let me keep waiting.',
};

const pollJob: HealthyStory = {
  kind: 'healthy',
  name: 'poll-a-job-every-three-seconds',
  about: 'A Kubernetes job is asked every three seconds; ten answers are equal, then it is done.',
  steps: [
    { prompt: 'Run the backfill of the orders of March on the cluster and tell me how many rows it wrote.' },
    turn(
      bash(
        'cat deploy/jobs/backfill-orders.yaml | grep -A2 args',
        '          args:\n            - --month=2025-03\n            - --write',
      ),
    ),
    turn(
      bash('kubectl -n data apply -f deploy/jobs/backfill-orders.yaml', 'job.batch/backfill-orders created', {
        secs: 1.3,
      }),
    ),
    ...Array.from({ length: 10 }, (_, at) => {
      const say = POLL_TALK[at];
      return turn(...(say ? [say] : []), bash(POLL, '1 active,  done', { secs: 3 }));
    }),
    turn(bash(POLL, ' active, 1 done', { secs: 3 })),
    turn(
      'The job is done. Its log should have the number of rows.',
      bash(
        'kubectl -n data logs job/backfill-orders --tail=3',
        `2025-04-02T09:14:51Z INFO batch 47/47 written
2025-04-02T09:14:51Z INFO 46,812 rows written, 0 skipped
2025-04-02T09:14:51Z INFO bye`,
        { secs: 1.1 },
      ),
    ),
    turn('The backfill of March is done: 46,812 rows were written and none was skipped.'),
  ],
};

// ---- a build whose output moves ----

const BUILD_STEPS: readonly (readonly [string, string?])[] = [
  ['[  6%] Building CXX object src/core/CMakeFiles/core.dir/mesh.cpp.o', 'It builds.'],
  ['[ 14%] Building CXX object src/core/CMakeFiles/core.dir/bvh.cpp.o'],
  ['[ 23%] Linking CXX static library libcore.a\n[ 23%] Built target core'],
  ['[ 35%] Building CXX object src/render/CMakeFiles/render.dir/integrator.cpp.o', 'A third is done.'],
  ['[ 44%] Building CXX object src/render/CMakeFiles/render.dir/bsdf/dielectric.cpp.o'],
  ['[ 52%] Building CXX object src/render/CMakeFiles/render.dir/denoise.cpp.o'],
  ['[ 66%] Linking CXX static library librender.a\n[ 66%] Built target render', 'The renderer is linked.'],
  ['[ 79%] Building CXX object apps/viewer/CMakeFiles/viewer.dir/panels.cpp.o'],
  ['[ 91%] Building CXX object tests/CMakeFiles/unit.dir/bvh_test.cpp.o', 'Only the tests are left.'],
  ['[100%] Linking CXX executable unit\n[100%] Built target unit\nBUILD DONE'],
];

const movingBuild: HealthyStory = {
  kind: 'healthy',
  name: 'ask-a-build-that-moves',
  about: 'A long C++ build runs in the background and shows another step each of the ten times it is asked.',
  steps: [
    { prompt: 'Build the renderer in release mode with LTO and run the unit tests. It takes some minutes.' },
    turn(
      bash(
        'cmake -S . -B build -G "Unix Makefiles" -DCMAKE_BUILD_TYPE=Release -DLUMEN_LTO=ON',
        '-- The CXX compiler identification is GNU 14.2.0\n-- Configuring done (3.1s)\n-- Generating done (0.2s)\n' +
          '-- Build files have been written to: /home/sam/lumen/build',
        { secs: 5.2 },
      ),
    ),
    turn(
      'I start the build in the background and look at its log from time to time.',
      bash('(cmake --build build -j4 && echo BUILD DONE) > /tmp/lumen-build.log 2>&1 &', ''),
    ),
    ...BUILD_STEPS.map(([output, say]) =>
      turn(...(say ? [say] : []), bash('sleep 20; tail -n 3 /tmp/lumen-build.log', output, { secs: 20 })),
    ),
    turn(
      'The build is done. Now the unit tests.',
      bash(
        './build/tests/unit',
        '[==========] 118 tests from 14 test suites ran. (2204 ms total)\n[  PASSED  ] 118 tests.',
        {
          secs: 4.6,
        },
      ),
    ),
    turn('The release build with LTO is in `build/`, and all 118 unit tests pass.'),
  ],
};

// ---- eight explorations that fail ----

const failed = (command: string, output: string, secs = 0.1): StoryCall => bash(command, output, { ok: false, secs });

const failingExplorations: HealthyStory = {
  kind: 'healthy',
  name: 'eight-failing-explorations',
  about: 'How the tests of an unknown repository are run is found out after eight wrong guesses.',
  steps: [
    { prompt: 'Run the tests of this repository and tell me whether main is green.' },
    turn("I'll read the README first.", {
      tool: 'Read',
      input: { file_path: '/repo/README.md' },
      output: 'File does not exist. Current working directory: /repo',
      ok: false,
    }),
    turn(
      'No README. I try the usual ways.',
      failed(
        'npm test',
        `Exit code 254
npm error code ENOENT
npm error syscall open
npm error path /repo/package.json
npm error enoent Could not read package.json: Error: ENOENT: no such file or directory, open '/repo/package.json'`,
        0.7,
      ),
    ),
    turn(failed('make test', "Exit code 2\nmake: *** No rule to make target 'test'.  Stop.")),
    turn(failed('mix test', 'Exit code 127\n/bin/bash: line 1: mix: command not found')),
    turn(
      'Perhaps it is a Python project.',
      failed('python3 -m pytest -q', 'Exit code 1\n/usr/bin/python3: No module named pytest', 0.2),
    ),
    turn(
      failed('cat .github/workflows/ci.yml', 'Exit code 1\ncat: .github/workflows/ci.yml: No such file or directory'),
    ),
    turn(
      failed(
        'ls scripts bin tools',
        `Exit code 2
ls: cannot access 'scripts': No such file or directory
ls: cannot access 'bin': No such file or directory
ls: cannot access 'tools': No such file or directory`,
      ),
    ),
    turn(failed('cd backend && cargo test', 'Exit code 1\n/bin/bash: line 1: cd: backend: No such file or directory')),
    turn(
      'Enough guessing, I should simply look at what is here.',
      bash(
        'ls -A',
        '.git\n.gitignore\n.gitlab-ci.yml\n.mise.toml\ncrates\nCargo.lock\nCargo.toml\nrust-toolchain.toml',
      ),
    ),
    turn(
      'A Rust workspace with mise.',
      bash('cat .mise.toml', '[tools]\nrust = "1.87"\n\n[tasks.test]\nrun = "cargo test --workspace --locked"'),
    ),
    turn(
      bash(
        'mise run test 2>&1 | tail -n 4',
        `test sync::tests::resumes_after_disconnect ... ok
test sync::tests::skips_equal_blocks ... ok

test result: ok. 64 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 1.83s`,
        { secs: 73 },
      ),
    ),
    turn('main is green: 64 tests pass, 2 are ignored. The tests are run with `mise run test`.'),
  ],
};

/** Honest work that searches, guesses and waits. */
export const searchStories: readonly HealthyStory[] = [
  emptySearches,
  slowServer,
  pollJob,
  movingBuild,
  failingExplorations,
];
