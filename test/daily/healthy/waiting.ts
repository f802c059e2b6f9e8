import type { HealthyStory } from '../story.ts';
import { adding, at, between, hash, transcript } from './refactorings.ts';

const CHECKS = [
  'build',
  'lint',
  'unit (ubuntu-latest)',
  'unit (macos-14)',
  'unit (windows-2022)',
  'integration',
  'e2e',
];

/* The checks of a pull request, asked for every minute; one fails, is mended, and is awaited again. */
function ciStory(): HealthyStory {
  const steps = transcript(`
    PROMPT Push the branch, open a PR and get CI green. Tell me when I can merge.
    RUN git status -sb && git log --oneline main..HEAD
    ## retry-after
    ${hash('r1')} Honour Retry-After with a date
    ${hash('r2')} Tests for Retry-After
    RUN git push -u origin retry-after @4.2
    To github.com:polder/fetchkit.git
     * [new branch]      retry-after -> retry-after
    RUN gh pr create --fill @2.7
    https://github.com/polder/fetchkit/pull/482
    `);
  const add = adding(steps);
  /* How many minutes each check takes. */
  const poll = (run: string, minutes: readonly number[], failing = ''): void => {
    const last = Math.max(...minutes);
    for (let minute = 1; minute <= last; minute++) {
      const lines = CHECKS.map((check, index) => {
        const needed = minutes[index] ?? 1;
        const state = minute < needed ? 'pending' : check === failing ? 'fail' : 'pass';
        const time = state === 'pending' ? '0' : `${needed - 1}m${10 + ((needed * 17) % 49)}s`;
        return `${check}\t${state}\t${time}\thttps://ci.example/fetchkit/runs/${run}/job/${2290 + index}`;
      });
      const secs = 61 + between(`${run}${minute}`, 0, 1.6);
      const ok = minute === last && failing === '';
      const say = at(['', '', 'SAY Still running.\n', '', 'SAY Some are through; I keep waiting.\n', ''], minute);
      add(`
        ${say}RUN sleep 60 && gh pr checks 482 @${secs.toFixed(1)}${ok ? '' : minute < last ? ' !8' : ' !1'}
        ${lines.join('\n')}
        `);
    }
  };
  poll('9911734', [2, 1, 5, 11, 14, 9, 13], 'unit (windows-2022)');
  add(`
    SAY Windows fails. The log of that job:
    RUN gh run view 9911734 --log-failed | tail -12 @3.9
    unit (windows-2022)  vitest  FAIL test/retry-after.test.ts > parses an HTTP date
    unit (windows-2022)  vitest  AssertionError: expected 3600000 to be +0
    unit (windows-2022)  vitest   ❯ test/retry-after.test.ts:41:31
    SAY The test takes the local time zone; the Windows runner is not in UTC.
    READ /home/tove/fetchkit/test/retry-after.test.ts
    it('parses an HTTP date', () => {
      vi.setSystemTime('2025-02-03 10:00:00');
      expect(delayOf('Mon, 03 Feb 2025 10:00:00 GMT')).toBe(0);
    EDIT /home/tove/fetchkit/test/retry-after.test.ts
    vi.setSystemTime('2025-02-03 10:00:00');
    BECOMES
    vi.setSystemTime('2025-02-03T10:00:00Z');
    RUN TZ=America/Denver npx vitest run test/retry-after.test.ts 2>&1 | tail -3 @1.9
     Tests  14 passed (14)
    RUN git commit -qam "Tests: a time with its zone" && git push @3.8
       ${hash('r2')}..${hash('r3')}  retry-after -> retry-after
    `);
  poll('9912008', [2, 1, 5, 12, 15, 9, 14]);
  add('SAY All seven checks of #482 are green (the Windows failure was a time zone in a test). It can be merged.');
  const about = 'The checks of a pull request are asked for every minute for half an hour, with one repair.';
  return { kind: 'healthy', name: 'pull-request-checks-asked-every-minute', about, steps };
}

const SPECS = `login logout signup invite-member remove-member change-plan cancel-plan add-card expired-card vat-number
invoice-pdf export-csv import-csv dark-mode keyboard-nav search-empty search-hits upload-avatar upload-large
rename-board archive-board drag-card copy-card comment mention notification-email notification-push share-link
revoke-link audit-log`.split(/\s+/);

/* A background shell asked with pauses, then a deploy that becomes ready. */
function backgroundStory(): HealthyStory {
  const steps = transcript(`
    PROMPT Run the whole e2e suite against the release candidate; if it passes, deploy to staging and wait until it
    is up.
    RUN git describe --tags && cat .nvmrc
    v4.12.0-rc.2
    v22
    CALL Bash {"command":"npx playwright test --workers=2 --reporter=line","run_in_background":true} @0.3
    Command running in background with ID: bash_1
    `);
  const add = adding(steps);
  let done = 0;
  for (let round = 0; done < SPECS.length; round++) {
    /* Some specs take longer than a pause: then nothing is new. */
    const fresh = at([2, 0, 1, 3, 0, 0, 2, 1], round);
    const lines = SPECS.slice(done, done + fresh).map((spec, index) => {
      const place = done + index;
      return `[${(place + 1) * 7}/210] [chromium] › e2e/${spec}.spec.ts:${9 + (place % 30)}:3 › ${spec}`;
    });
    done += fresh;
    const stdout = lines.length > 0 ? `\n\n<stdout>\n${lines.join('\n')}\n</stdout>` : '';
    const say = at(['', 'Still at work.', '', 'I wait a little more.', ''], round);
    add(`
      ${say === '' ? '' : `SAY ${say}\n`}RUN sleep 45 @45.1
      CALL BashOutput {"bash_id":"bash_1"}
      <status>running</status>${stdout}
      `);
  }
  add(`
    RUN sleep 45 @45.1
    CALL BashOutput {"bash_id":"bash_1"}
    <status>completed</status>

    <exit_code>0</exit_code>

    <stdout>
      1 flaky
        [chromium] › e2e/upload-large.spec.ts:22:3 › upload-large
      209 passed (24.6m)
    </stdout>
    SAY 209 passed, one passed at its second try. Now staging.
    RUN flyctl deploy --config fly.staging.toml --image registry.fly.io/boards:v4.12.0-rc.2 --detach @38
    --> Release v318 created. Monitor with: fly status -c fly.staging.toml
    `);
  for (let round = 0; round < 14; round++) {
    const state = round < 3 ? 'replacing' : round < 11 ? 'starting' : 'started';
    const checks = round < 3 ? '1 total, 1 passing' : round < 12 ? '1 total, 1 critical' : '1 total, 1 passing';
    const code = round < 3 ? '200 v4.11.3' : round < 12 ? '503' : '200 v4.12.0-rc.2';
    add(`
      RUN sleep 20; flyctl status -c fly.staging.toml | grep app @${between(`fly${round}`, 21, 24).toFixed(1)}
      app  e784e9${round < 3 ? 'b1' : 'c4'}  ${round < 3 ? 317 : 318}  ams  ${state}  ${checks}
      ALSO RUN curl -s -o /tmp/v -w '%{http_code} ' https://staging.boards.example/version; cat /tmp/v @0.6
      ${code}
      `);
    if (round === 7) {
      add(`
        SAY Five minutes of 503 is long; is it stuck?
        RUN flyctl logs -c fly.staging.toml --no-tail | tail -3 @2.2
        app[e784e9c4] ams [info] migrating 20250114_board_positions: 61 %
        app[e784e9c4] ams [info] migrating 20250114_board_positions: 64 %
        SAY No, it migrates.
        RUN sleep 60 @60.1
        `);
    }
  }
  add(
    'SAY The e2e suite passed (one flaky: upload-large) and v4.12.0-rc.2 answers on staging since the migration ended.',
  );
  const about = 'A background shell is asked with pauses until a suite ends, then a deploy until it is ready.';
  return { kind: 'healthy', name: 'e2e-suite-in-background-then-staging-deploy', about, steps };
}

/* A training job whose loss line moves. */
function trainingStory(): HealthyStory {
  const host = 'ssh gpu3';
  const steps = transcript(`
    PROMPT Fine-tune the segmenter with lr 3e-5 on gpu3, watch it, stop it if it diverges, and evaluate the best one.
    RUN ${host} nvidia-smi --query-gpu=name,memory.used,memory.total --format=csv,noheader @1.4
    NVIDIA L40S, 3 MiB, 46068 MiB
    RUN ${host} 'cd seg && grep -n "lr" conf/finetune.yaml'
    7:lr: 1.0e-4
    8:lr_warmup_steps: 500
    RUN ${host} "cd seg && sed -i '7s/.*/lr: 3.0e-5/' conf/finetune.yaml && nohup ./train.sh &" @1.1
    RUN sleep 90; ${host} tail -n 2 seg/train.log @91.4 !
    Traceback (most recent call last):
    torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.13 GiB
    SAY The batch is too big for this card. Half of it, with two steps of accumulation.
    RUN ${host} "cd seg && sed -i 's/batch: 16/batch: 8/; s/accumulate: 1/accumulate: 2/' conf/finetune.yaml" @1.2
    RUN ${host} 'cd seg && nohup ./train.sh &' @1.1
    `);
  const add = adding(steps);
  let loss = 1.94;
  for (let round = 1; round <= 34; round++) {
    const step = Math.round(round * 588 + between(`s${round}`, -20, 20));
    loss = loss * 0.962 + between(`l${round}`, -0.02, 0.03);
    const eta = new Date(Math.max(0, 20_000 - step) * 510).toISOString().slice(11, 19);
    const speed = between(`v${round}`, 1.91, 1.99).toFixed(2);
    const line = `step ${step}/20000 loss ${loss.toFixed(4)} lr 3.00e-05 ${speed} it/s eta ${eta}`;
    const say = at(['', '', 'The loss falls.', '', '', 'Going on.', '', 'A little noise, but no divergence.'], round);
    const opening = say === '' ? '' : `SAY ${say}\n`;
    add(`
      ${opening}RUN sleep 300; ${host} tail -n 1 seg/train.log @${between(`w${round}`, 301, 304).toFixed(1)}
      ${line}
      `);
    if (round % 8 === 0) {
      add(`
        RUN ${host} 'grep val_iou seg/train.log | tail -n 2' @1.3
        step ${step - 900} val_iou ${(0.6 + round * 0.0048).toFixed(4)}
        step ${step - 100} val_iou ${(0.603 + round * 0.0051).toFixed(4)} *best
        ALSO RUN ${host} nvidia-smi --query-gpu=temperature.gpu,utilization.gpu,memory.used --format=csv,noheader @1.3
        ${Math.round(between(`t${round}`, 66, 73))}, ${Math.round(between(`u${round}`, 93, 100))} %, 39214 MiB
        `);
    }
  }
  add(`
    RUN sleep 60; ${host} tail -n 2 seg/train.log @61.7
    step 20000/20000 loss ${loss.toFixed(4)} lr 3.00e-05
    saved runs/0311/last.pt, best at step 18900 (val_iou 0.7764)
    RUN ${host} 'cd seg && python evaluate.py --checkpoint runs/0311/best.pt --split test' @212
    test: iou 0.7702  precision 0.861  recall 0.879  (1204 images)
    RUN ${host} 'cd seg && python evaluate.py --checkpoint runs/0218/best.pt --split test' @209
    test: iou 0.7518  precision 0.842  recall 0.871  (1204 images)
    SAY It ran to the end without diverging. The best checkpoint (step 18,900) has a test IoU of 0.770 against 0.752
    before.
    `);
  const about = 'A training job is watched for three hours by the last line of its log.';
  return { kind: 'healthy', name: 'segmenter-training-watched-by-its-loss', about, steps };
}

/* A backfill that stays RUNNING for an hour, with nothing else to see. */
function backfillStory(): HealthyStory {
  const job = '2025-03-11_02_14_55-1180';
  const describe = `gcloud dataflow jobs describe ${job} --region europe-west4 --format 'value(currentState)'`;
  const steps = transcript(`
    PROMPT Start the backfill of February for clickstream, and when it is done compare the row counts and tell #data.
    RUN ls jobs && sed -n 1,12p jobs/backfill.yaml
    backfill.yaml  hourly.yaml
    template: gs://nl-flow/templates/clickstream-2.8
    region: europe-west4
    RUN ./run-backfill.sh --month 2025-02 --dry-run @6.3
    would read 28 partitions (1.9 TB), would write nl_dw.clicks_daily
    RUN ./run-backfill.sh --month 2025-02 @9.4
    id: ${job}
    currentState: JOB_STATE_PENDING
    SAY It has started; such a month takes about an hour. I look every three minutes.
    RUN sleep 120; ${describe} @123.2
    JOB_STATE_PENDING
    `);
  const add = adding(steps);
  for (let round = 0; round < 21; round++) {
    const secs = (182 + between(`bf${round}`, 0, 3)).toFixed(1);
    if (round === 13) {
      add(`
        SAY The network of this machine was away for a moment; once more.
        RUN sleep 180; ${describe} @191 !
        ERROR: (gcloud.dataflow.jobs.describe) There was a problem refreshing auth tokens: HTTPSConnectionPool timed out
        `);
    }
    const say = at(['', '', 'RUNNING. I keep waiting.', ''], round);
    add(`${say === '' ? '' : `SAY ${say}\n`}RUN sleep 180; ${describe} @${secs}\nJOB_STATE_RUNNING`);
    if (round === 9) {
      add(`
        SAY Half an hour. Does it make progress?
        RUN gcloud dataflow metrics list ${job} --region europe-west4 --filter name=ElementCount @3.1
        scalar: 611083442
        RUN sleep 60; gcloud dataflow metrics list ${job} --region europe-west4 --filter name=ElementCount @63.3
        scalar: 631950017
        `);
    }
  }
  add(`
    RUN sleep 180; ${describe} @182.5
    JOB_STATE_DONE
    SAY Done. Now the counts, day by day.
    RUN bq query --nouse_legacy_sql --format=csv "$(cat sql/count_raw.sql)" | wc -l @11.2
    29
    `);
  for (let day = 1; day <= 28; day += 4) {
    const from = `2025-02-${String(day).padStart(2, '0')}`;
    const rows = Math.round(between(from, 151_000_000, 169_000_000));
    add(`
      RUN ./compare-counts.sh --from ${from} --days 4 @${between(`c${day}`, 6, 13).toFixed(1)}
      ${from} +4d raw ${rows} clicks_daily ${rows} diff 0
      `);
  }
  add(`
    CALL mcp__slack__post_message {"channel":"#data","text":"clickstream 2025-02 is filled: 28 days, diff 0."} @0.8
    {"ok":true}
    SAY The backfill of February took 70 minutes; raw and daily counts agree for all 28 days, and #data knows.
    `);
  const about = 'A batch job answers RUNNING for an hour, then its row counts are compared day by day.';
  return { kind: 'healthy', name: 'clickstream-backfill-running-for-an-hour', about, steps };
}

/** Waiting for something that others do. */
export const waitingStories: readonly HealthyStory[] = [ciStory(), backgroundStory(), trainingStory(), backfillStory()];
