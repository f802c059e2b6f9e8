import type { HealthyStory } from '../story.ts';
import { adding, at, between, hash, transcript } from './refactorings.ts';

/* Prints that come and go, one test with and without them, stash and pop. */
function printStory(): HealthyStory {
  const file = '/home/femi/rota/rota/solver.py';
  const test = 'pytest -q tests/test_solver.py::test_night_shift_rest';
  const failure = `    def test_night_shift_rest():
    >       assert rest_between(plan, 'Ada') >= timedelta(hours=11)
    E       AssertionError: assert datetime.timedelta(seconds=36000) >= datetime.timedelta(seconds=39600)
    FAILED tests/test_solver.py::test_night_shift_rest - AssertionError`;
  const steps = transcript(`
    PROMPT test_night_shift_rest fails since this morning, but only sometimes. Please find out why.
    RUN ${test} @1.8 !
    ${failure}
    1 failed in 0.91s
    READ ${file}
    def rest_between(plan: Plan, name: str) -> timedelta:
        shifts = plan.shifts_of(name)
        return min(b.start - a.end for a, b in pairwise(shifts))

    def shifts_of(self, name):
        return [s for s in self.shifts if s.person == name]
    `);
  const add = adding(steps);
  for (let run = 0; run < 6; run++) {
    const fails = [true, false, true, true, false, false][run] === true;
    const secs = between(`p${run}`, 1.4, 2.2).toFixed(1);
    const say = run === 0 ? 'SAY First: is it random? I run it some times.\n' : '';
    const result = fails ? `${failure}\n1 failed` : '1 passed';
    add(`${say}RUN ${test} @${secs}${fails ? ' !' : ''}\n${result} in 0.${88 + run}s`);
  }
  const probes = [
    [
      'shifts = plan.shifts_of(name)',
      'print("SHIFTS", shifts)',
      'SHIFTS [<Shift Tue N>, <Shift Mon N>, <Shift Wed E>]',
    ],
    ['self.shifts = set()', 'print("SET", id(self), len(self.shifts))', 'SET 140233 0'],
    ['for slot in week.slots:', 'print("SLOT", slot, slot.candidates)', "SLOT Mon-N {'Bo', 'Ada', 'Cy'}"],
    ['best = min(options, key=cost)', 'print("BEST", best, cost(best))', 'BEST Ada 4\nBEST Ada 4\nBEST Bo 4'],
  ] as const;
  for (const [index, [line, print, shown]] of probes.entries()) {
    add(`
      ${index === 0 ? 'SAY It is. Prints, then.\n' : ''}EDIT ${file}
      ${line}
      BECOMES
      ${line}
          ${print}
      RUN ${test} -s 2>&1 | tail -12 @1.9${index % 2 === 0 ? ' !' : ''}
      ${shown}
      ${index % 2 === 0 ? failure : '1 passed in 0.93s'}
      SAY ${at(['They are not in order.', 'Not it.', 'A set; its order depends on the seed.', 'Ties.'], index)}
      EDIT ${file}
      ${line}
          ${print}
      BECOMES
      ${line}
      `);
  }
  for (const seed of [0, 1, 2, 3, 4, 5]) {
    const bad = seed % 3 === 1;
    const result = bad ? `${failure}\n1 failed` : '1 passed';
    add(`RUN PYTHONHASHSEED=${seed} ${test} @1.7${bad ? ' !' : ''}\n${result} in 0.9${seed}s`);
  }
  add(`
    SAY Seeds 1 and 4 fail, each time. So the order of a set decides. Was that so before this morning's change?
    RUN git stash && git status --short
    Saved working directory and index state WIP on main: ${hash('st')} Shifts as a set
    RUN git checkout -q HEAD~1 && PYTHONHASHSEED=1 ${test} @1.8
    1 passed in 0.92s
    RUN git checkout -q main && PYTHONHASHSEED=1 ${test} @1.8 !
    ${failure}
    1 failed in 0.90s
    RUN git stash pop
    On branch main
    Changes not staged for commit:
    	modified:   rota/solver.py
    Dropped refs/stash@{0} (${hash('drop')})
    RUN git diff
    diff --git a/rota/solver.py b/rota/solver.py
    +import sys
    SAY A left-over import of mine; it goes. Then the repair: sort by start where the pairs are made.
    RUN git checkout rota/solver.py
    Updated 1 path from the index
    EDIT ${file}
    return [s for s in self.shifts if s.person == name]
    BECOMES
    return sorted((s for s in self.shifts if s.person == name), key=lambda s: s.start)
    `);
  for (let seed = 0; seed < 8; seed++) add(`RUN PYTHONHASHSEED=${seed} ${test} @1.7\n1 passed in 0.9${seed}s`);
  add(`
    RUN git stash && PYTHONHASHSEED=4 ${test}; git stash pop @2.1
    Saved working directory and index state WIP on main: ${hash('st')} Shifts as a set
    1 failed in 0.91s
    Dropped refs/stash@{0} (${hash('drop2')})
    RUN pytest -q @24
    203 passed in 22.71s
    SAY Since "${hash('st')} Shifts as a set" the shifts of a person have no order, and the rest was taken between
    shifts
    that do not follow each other. They are sorted by start now; eight seeds pass, two of which failed before.
    `);
  const about = 'A test that fails sometimes is followed with prints that come and go, seeds, stash and pop.';
  return { kind: 'healthy', name: 'night-shift-test-with-prints-and-stash', about, steps };
}

/* A bisect of nine steps with a build and three measurements each. */
function bisectStory(): HealthyStory {
  const steps = transcript(`
    PROMPT Decoding got slower somewhere between v2.3 and main (about 400 commits). Bisect it, please.
    RUN git rev-list --count v2.3..main
    397
    RUN ls bench && nproc
    decode_bench.cc  corpus.bin
    16
    WRITE /tmp/measure.sh
    #!/bin/sh
    cmake --build build -j16 --target decode_bench > /tmp/build.log 2>&1 || exit 125
    ./build/bench/decode_bench corpus.bin
    RUN chmod +x /tmp/measure.sh && git bisect start main v2.3
    Bisecting: 198 revisions left to test after this (roughly 8 steps)
    [${hash('bi0')}] simd: widen the loads
    `);
  const add = adding(steps);
  const bad = [false, true, true, false, true, false, true, true, false];
  const subjects = [
    'huffman: table of 11 bits',
    'ci: arm64 runner',
    'api: frame callbacks',
    'docs: fuzzing',
    'lz: window of 1 MiB',
    'checksum: once per block',
    'arena: grow by half',
    'tests: corpus of 40 files',
    'huffman: refill per symbol',
  ];
  let left = 198;
  for (const [step, slow] of bad.entries()) {
    for (let run = 0; run < 3; run++) {
      const rate = slow ? between(`b${step}${run}`, 598, 622) : between(`b${step}${run}`, 801, 833);
      const secs = run === 0 ? between(`build${step}`, 41, 118) : between(`run${step}${run}`, 6.1, 6.9);
      add(`RUN /tmp/measure.sh @${secs.toFixed(1)}\ndecode: ${rate.toFixed(1)} MB/s (5 rounds, corpus.bin)`);
    }
    left = Math.floor(left / 2);
    const next = step === 8 ? '' : `Bisecting: ${left} revisions left to test after this (roughly ${8 - step} steps)\n`;
    const say = step % 3 === 0 ? `SAY ${slow ? 'Slow' : 'Fast'}, three times alike.\n` : '';
    const found = `${hash('culprit')} is the first bad commit\n    huffman: refill per symbol`;
    const answer = step === 8 ? found : `[${hash(`bi${step}`)}] ${at(subjects, step)}`;
    add(`${say}RUN git bisect ${slow ? 'bad' : 'good'}\n${next}${answer}`);
    if (step === 4) {
      add(`
        SAY This one does not build.
        RUN /tmp/measure.sh; echo "exit $?"; tail -2 /tmp/build.log @19
        exit 125
        src/arena.cc:71:12: error: no member named 'bytes' in 'Arena'
        RUN git bisect skip
        Bisecting: ${left} revisions left to test after this (roughly 4 steps)
        [${hash('skip')}] arena: name the fields
        `);
    }
  }
  add(`
    RUN git show ${hash('culprit')} --stat && git show ${hash('culprit')} -- src/huffman.cc | head -30
     src/huffman.cc | 22 ++++++++++------------
    -    if (bits_.left() < kMaxCode) bits_.refill();
    +    bits_.refill();
    RUN git bisect reset @0.8
    Previous HEAD position was ${hash('culprit')} huffman: refill per symbol
    Switched to branch 'main'
    SAY As a check: main with only that line as it was.
    EDIT /work/flint/src/huffman.cc
        bits_.refill();
    BECOMES
        if (bits_.left() < kMaxCode) bits_.refill();
    RUN /tmp/measure.sh @63
    decode: 819.4 MB/s (5 rounds, corpus.bin)
    RUN /tmp/measure.sh @6.4
    decode: 822.0 MB/s (5 rounds, corpus.bin)
    RUN git stash && /tmp/measure.sh @29
    Saved working directory and index state WIP on main: ${hash('m')} docs: changelog
    decode: 607.3 MB/s (5 rounds, corpus.bin)
    RUN git stash pop && ctest --test-dir build 2>&1 | tail -2 @48
    Dropped refs/stash@{0}
    100% tests passed, 0 tests failed out of 96
    SAY The first slow commit is ${hash('culprit')} "huffman: refill per symbol" (818 to 608 MB/s). With the
    condition put
    back, main decodes at 820 MB/s again; the change is in your working tree, not committed.
    `);
  const about = 'A slowdown is found by a bisect of nine steps, with a build and three measurements in each.';
  return { kind: 'healthy', name: 'decoder-bisect-in-nine-steps', about, steps };
}

const PACKAGES =
  `fastify.4.5 @fastify/cors.9.10 pino.8.9 zod.3.4 knex.2.3 pg.8.8 undici.6.7 sharp.0.0 bullmq.4.5 ioredis.5.5
eslint.8.9 typescript.5.5 vitest.1.3 tsx.3.4 nanoid.4.5 date-fns.2.4 dotenv.16.17 execa.8.9`
    .split(/\s+/)
    .map((row) => row.split('.'))
    .map(([name = '', from = '', to = '']) => ({ name, from, to }));

/* Upgrades one by one behind a network that fails now and then. */
function upgradeStory(): HealthyStory {
  const steps = transcript(`
    PROMPT Upgrade all outdated dependencies, one by one with the tests between. The VPN is bad today, just try again.
    RUN git fetch origin @75 !
    ssh: connect to host git.intern.example port 22: Connection timed out
    fatal: Could not read from remote repository.
    RUN git fetch origin @75 !
    ssh: connect to host git.intern.example port 22: Connection timed out
    fatal: Could not read from remote repository.
    SAY I wait half a minute, then again.
    RUN sleep 30 && git fetch origin @34
    From git.intern.example:shop/api
       ${hash('f1')}..${hash('f2')}  main       -> origin/main
    RUN git checkout -b upgrades origin/main && npm ci @120 !
    npm error code ECONNRESET
    npm error network aborted
    npm error network If you are behind a proxy, please make sure that the 'proxy' config is set properly.
    RUN npm config get proxy && npm config get registry
    null
    https://npm.intern.example/
    RUN npm ci @96 !
    npm error code ETIMEDOUT
    npm error network request to https://npm.intern.example/sharp failed, reason: connect ETIMEDOUT 10.8.0.14:443
    RUN npm ci --fetch-retries=6 --fetch-timeout=120000 @141
    added 611 packages in 2m
    RUN npm outdated | wc -l @7 !
    ${PACKAGES.length + 1}
    `);
  const add = adding(steps);
  for (const [index, { name, from, to }] of PACKAGES.entries()) {
    const target = from === to ? `${to}.${(index % 7) + 2}` : `${to}.${index % 4}`;
    const install = `npm install ${name}@^${target}.0`;
    const tries = index % 5 === 2 ? 2 : index % 7 === 4 ? 1 : 0;
    if (index % 6 === 0)
      add(`RUN curl -sI https://npm.intern.example/${name} | head -1 @${between(name, 0.3, 4).toFixed(1)}\nHTTP/2 200`);
    for (let attempt = 0; attempt < tries; attempt++) {
      add(`
        RUN ${install} @${between(`${name}${attempt}`, 60, 100).toFixed(0)} !
        npm error code ${attempt === 0 ? 'ETIMEDOUT' : 'ECONNRESET'}
        npm error network request to https://npm.intern.example/${name.replace('/', '%2f')} failed
        `);
    }
    add(`
      ${tries > 1 ? 'SAY Once more.\n' : ''}RUN ${install} @${between(`${name}i`, 5, 31).toFixed(1)}
      changed ${1 + ((index * 5) % 14)} packages, and audited 612 packages in ${5 + (index % 20)}s

      found 0 vulnerabilities
      `);
    if (index % 6 === 1) {
      const [old, fresh] = at(
        [
          ['origin: true', 'origin: [/\\.shop\\.example$/]'],
          ['request(url, { throwOnError: true })', 'request(url).then(raiseForStatus)'],
          ['customAlphabet(abc, 12)', 'customAlphabet(abc, 12) as IdFactory'],
        ],
        index,
      );
      add(`
        RUN npx tsc --noEmit && npm test 2>&1 | tail -5 @12.6 !
        src/plugins/${name.split('/').at(-1)}.ts(14,3): error TS2353: Object literal may only specify known properties.
        RUN grep -rn "${name}" src | head -3
        src/plugins/${name.split('/').at(-1)}.ts:1:import plugin from '${name}';
        EDIT /home/lior/shop-api/src/plugins/${name.split('/').at(-1)}.ts
        ${old}
        BECOMES
        ${fresh}
        `);
    }
    add(`
      RUN npx tsc --noEmit && npm test 2>&1 | tail -3 @${between(`${name}t`, 29, 36).toFixed(1)}
       Test Files  88 passed (88)
            Tests  740 passed (740)
      RUN git commit -qam "chore: ${name} ${from} -> ${target}" && git log --oneline -1
      ${hash(name)} chore: ${name} ${from} -> ${target}
      `);
  }
  add(`
    RUN pip install -r tools/requirements.txt @92 !
    WARNING: Retrying after connection broken by 'ReadTimeoutError("pypi.intern.example: Read timed out.")'
    ERROR: Could not find a version that satisfies the requirement locust==2.31.2
    RUN pip install --default-timeout=120 -r tools/requirements.txt @71
    Successfully installed locust-2.31.2 gevent-24.2.1
    RUN git push -u origin upgrades @76 !
    ssh: connect to host git.intern.example port 22: Connection timed out
    RUN git push -u origin upgrades @5.2
     * [new branch]      upgrades -> upgrades
    SAY All ${PACKAGES.length} packages are upgraded, one commit each, 740 tests pass; the branch \`upgrades\` is
    pushed.
    `);
  const about = 'Eighteen dependencies are upgraded one by one while the network fails again and again.';
  return { kind: 'healthy', name: 'dependency-upgrades-behind-a-bad-vpn', about, steps };
}

/* An image that does not start, a database that starts slowly, pods that are waited for. */
function clusterStory(): HealthyStory {
  const steps = transcript(`
    PROMPT The staging namespace of "ferry" is down since the move to the slim image. Get it up; plan only for
    terraform.
    RUN kubectl -n ferry get pods @1.1
    NAME                      READY   STATUS             RESTARTS      AGE
    ferry-6c9d7b5f4-8xk2p     0/1     CrashLoopBackOff   11 (2m ago)   41m
    postgres-0                1/1     Running            0             9d
    RUN kubectl -n ferry logs deploy/ferry --tail 5 @1.3
    Error: Unable to load shared library 'libgssapi_krb5.so.2' or one of its dependencies
    READ /home/noor/ferry/Dockerfile
    FROM mcr.microsoft.com/dotnet/sdk:8.0 AS build
    FROM mcr.microsoft.com/dotnet/aspnet:8.0-noble-chiseled
    COPY --from=build /out /app
    `);
  const add = adding(steps);
  const lib = '/usr/lib/x86_64-linux-gnu';
  const builds: readonly (readonly [edit: string, wrong: string])[] = [
    ['COPY libgssapi_krb5.so.2 /usr/lib/', '"/libgssapi_krb5.so.2": not found'],
    [`COPY --from=build ${lib}/libgssapi_krb5.so.2 /usr/lib/`, 'libkrb5.so.3: cannot open shared object'],
    [`COPY --from=build ${lib}/libkrb5*.so* /usr/lib/`, 'libcom_err.so.2: cannot open shared object'],
    [`COPY --from=build ${lib}/libcom_err.so.2 /usr/lib/`, "CultureNotFoundException: 'nl-NL'"],
    ['ENV DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=false', "Couldn't find a valid ICU package"],
    ['FROM mcr.microsoft.com/dotnet/aspnet:8.0-noble-chiseled-extra', ''],
  ];
  let line = 'COPY --from=build /out /app';
  for (const [index, [fresh, wrong]] of builds.entries()) {
    const early = wrong.endsWith('not found');
    const old = fresh.startsWith('FROM') ? fresh.replace('-extra', '') : line;
    const kept = fresh.startsWith('FROM') || index === 1 ? '' : `${line}\n`;
    add(`
      EDIT /home/noor/ferry/Dockerfile
      ${old}
      BECOMES
      ${kept}${fresh}
      RUN docker build -t ferry:dev . 2>&1 | tail -4 @${between(fresh, 14, 95).toFixed(1)}${early ? ' !' : ''}
      ${early ? `ERROR: failed to solve: ${wrong}` : '#14 exporting layers done\n#14 naming to ferry:dev done'}
      `);
    line = fresh;
    if (early) continue;
    const secs = between(wrong, 2, 5).toFixed(1);
    add(`
      RUN docker run --rm -e DB=none ferry:dev --selftest 2>&1 | tail -3 @${secs}${wrong === '' ? '' : ' !134'}
      ${wrong === '' ? 'selftest ok (14 checks)' : `Unhandled exception. ${wrong}`}
      ${index === 2 ? 'SAY One library after the other. Next.\n' : ''}RUN docker image ls ferry:dev --format '{{.Size}}'
      ${118 + index * 3}MB
      `);
  }
  add(`
    SAY The -extra image has all of it. The copied libraries go out again, then a last build.
    RUN sed -i '/libgssapi\\|libkrb5\\|libcom_err\\|GLOBALIZATION/d' Dockerfile && docker build -q -t ferry:dev . @41
    sha256:${hash('image')}${hash('image2')}
    RUN docker run --rm -e DB=none ferry:dev --selftest @3.2
    selftest ok (14 checks)
    RUN docker tag ferry:dev reg.example/ferry:${hash('tag')} && docker push -q reg.example/ferry:${hash('tag')} @28
    reg.example/ferry:${hash('tag')}
    RUN kubectl -n ferry set image deploy/ferry ferry=reg.example/ferry:${hash('tag')} @0.9
    deployment.apps/ferry image updated
    `);
  for (let round = 0; round < 9; round++) {
    const state = round < 2 ? 'ContainerCreating' : 'Running          ';
    const ready = round < 8 ? '0/1' : '1/1';
    add(`
      RUN sleep 15 && kubectl -n ferry get pods -l app=ferry --no-headers @16.2
      ferry-7f4c8d-q2m   ${ready}   ${state}   0   ${15 + round * 16}s
      `);
    if (round === 4) {
      add(`
        SAY Running but not ready.
        RUN kubectl -n ferry logs deploy/ferry --tail 3 @1.2
        warn: waiting for database ferry (57P03: the database system is starting up)
        RUN kubectl -n ferry get pod postgres-0 --no-headers @0.9
        postgres-0   1/1   Running   1 (3m ago)   9d
        `);
      for (let ask = 0; ask < 12; ask++) {
        const up = ask === 11;
        const answer = up ? 'accepting connections' : 'rejecting connections';
        add(`
          RUN sleep 10; kubectl -n ferry exec postgres-0 -- pg_isready @11.3${up ? '' : ' !'}
          /var/run/postgresql:5432 - ${answer}
          `);
        if (ask % 4 === 2) {
          const redo = `${(ask * 91).toString(16).toUpperCase()}/${hash(`wal${ask}`).toUpperCase()}`;
          add(`
            RUN kubectl -n ferry logs postgres-0 --tail 1 @1
            LOG:  redo in progress, elapsed time: ${ask * 12}.04 s, current LSN: ${redo}
            `);
        }
      }
    }
  }
  add(`
    SAY Up. Now the plan, as the probe should be given more time.
    EDIT /home/noor/ferry/infra/ferry.tf
    initial_delay_seconds = 5
    BECOMES
    initial_delay_seconds = 30
    RUN terraform -chdir=infra plan -no-color | tail -2 @33 !
    Error: Error acquiring the state lock. Lock held by ci-runner-4, created 40 seconds ago
    RUN sleep 60; terraform -chdir=infra plan -no-color | tail -2 @94
    Plan: 0 to add, 1 to change, 0 to destroy.
    RUN curl -s https://ferry.staging.example/health @0.3
    {"status":"ok","db":"ok"}
    SAY Staging is up with the image noble-chiseled-extra. Postgres had restarted and replayed its log for two
    minutes. The
    terraform plan (longer initial delay of the probe) changes one resource; I have not applied it.
    `);
  const about = 'An image is built again after each edit, then pods and a slowly starting database are waited for.';
  return { kind: 'healthy', name: 'staging-namespace-with-slim-image-and-slow-postgres', about, steps };
}

/** Debugging, upgrades, and an environment that does not start. */
export const debuggingStories: readonly HealthyStory[] = [printStory(), bisectStory(), upgradeStory(), clusterStory()];
