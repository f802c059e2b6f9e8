import type { HealthyStory, StoryStep } from '../story.ts';
import { bash, turn } from '../story.ts';
import { adding, at, between, by, hash, transcript } from './refactorings.ts';

/* Why two dashboards show different revenue: queries through an MCP server of a database. */
function sqlStory(): HealthyStory {
  const query = (sql: string, rows: readonly object[], secs = between(sql, 0.2, 3)): string =>
    `CALL mcp__postgres__query ${JSON.stringify({ sql })} @${secs.toFixed(1)}\n${JSON.stringify(rows)}`;
  const steps = transcript(`
    PROMPT Finance sees 1.2 % less revenue for 2024 than the product dashboard. Find out why. Read only, please.
    CALL mcp__postgres__list_tables {"schema":"public"} @0.4
    ["orders","order_lines","payments","refunds","fx_rates","customers","finance_ledger","dashboard_daily"]
    `);
  const add = adding(steps);
  const tables = ['orders', 'order_lines', 'payments', 'refunds', 'fx_rates', 'customers', 'finance_ledger'];
  for (const table of [...tables, 'dashboard_daily']) {
    const opening = table === 'orders' ? 'SAY First the sizes of the tables.\n' : '';
    const sql = `SELECT count(*) FROM ${table}`;
    add(opening + query(sql, [{ count: String(Math.floor(between(table, 9000, 4_100_000))) }]));
    if (table === 'orders') {
      const columns = ['id', 'customer_id', 'currency', 'total_cents', 'status', 'created_at', 'paid_at'];
      const sql = "SELECT column_name FROM information_schema.columns WHERE table_name = 'orders'";
      add(
        query(
          sql,
          columns.map((column_name) => ({ column_name })),
          0.1,
        ),
      );
    }
  }
  for (let month = 1; month <= 12; month++) {
    const from = `2024-${String(month).padStart(2, '0')}-01`;
    const range = `>= '${from}' AND @ < date '${from}' + interval '1 month'`;
    const ledger = Math.round(between(`ledger${month}`, 1_900_000, 2_700_000));
    const dashboard = ledger + Math.round(between(`gap${month}`, 20_000, 31_000));
    const opening = 'SAY Now both sums month by month. The ledger query is slow, so one month at a time.\n';
    add(
      (month === 1 ? opening : '') +
        [
          query(
            `SELECT sum(amount) FROM finance_ledger WHERE booked ${range.replace('@', 'booked')}`,
            [{ sum: ledger }],
            6 + (month % 4),
          ),
          query(
            `SELECT sum(revenue) FROM dashboard_daily WHERE day ${range.replace('@', 'day')}`,
            [{ sum: dashboard }],
            0.3,
          ),
        ].join(month % 3 === 0 ? '\nALSO ' : '\n'),
    );
  }
  add(`
    SAY The gap is there in every month (about 25,000), so it is no single event. By currency, for March.
    CALL mcp__postgres__query {"sql":"SELECT currency, sum(total_cents) FROM orders GROUP BY 1"} @61 !
    ERROR: canceling statement due to statement timeout
    `);
  for (const currency of ['EUR', 'USD', 'GBP', 'CHF', 'SEK', 'PLN', 'DKK', 'NOK']) {
    const where = `currency = '${currency}' AND paid_at >= '2024-03-01' AND paid_at < '2024-04-01'`;
    const gross = Math.round(between(currency, 30_000, 900_000));
    const refunds = currency === 'SEK' || currency === 'NOK' ? gross * 0.11 : 0;
    add(query(`SELECT sum(total_cents)/100 AS gross FROM orders WHERE ${where}`, [{ gross }]));
    const join = `SELECT coalesce(sum(r.cents)/100, 0) AS refunded FROM refunds r JOIN orders o ON o.id = r.order_id`;
    add(query(`${join} WHERE ${where}`, [{ refunded: Math.round(refunds) }]));
  }
  add(`
    SAY Refunds exist in the table only for SEK and NOK; the others must be booked elsewhere.
    ${query(
      "SELECT kind, count(*) FROM payments WHERE amount < 0 AND to_char(paid_at, 'YYYY-MM') = '2024-03' GROUP BY 1",
      [
        { kind: 'chargeback', count: '212' },
        { kind: 'refund_v2', count: '1904' },
      ],
    )}
    ${query("SELECT min(paid_at) FROM payments WHERE kind = 'refund_v2'", [{ min: '2023-11-14' }])}
    ${query("SELECT pg_get_viewdef('dashboard_daily') AS v", [{ v: 'SELECT ... WHERE p.kind <> ALL (ARRAY[refund])' }])}
    SAY That is it: the view leaves out \`refund\` and \`chargeback\`, but refunds are \`refund_v2\` now.
    ${query(
      "SELECT date_trunc('month', paid_at) AS m, -sum(amount) FROM payments WHERE kind = 'refund_v2' GROUP BY 1",
      [
        { m: '2024-01', sum: 25310 },
        { m: '2024-02', sum: 23871 },
        { m: '2024-03', sum: 27044 },
      ],
      14,
    )}
    SAY The view \`dashboard_daily\` counts no \`refund_v2\` payments (added 2023-11-14). Their sum equals the gap in
    each month of 2024. The numbers of finance are right. Fix: add 'refund_v2' to the array in the view.
    `);
  const about = 'A gap between two sums is followed through a database by dozens of similar queries.';
  return { kind: 'healthy', name: 'sql-revenue-gap-between-dashboards', about, steps };
}

/* A CSV that is cleaned by a script run again after each small change, then a notebook and a report in sections. */
const RULES: readonly (readonly [column: string, code: string, fixed: number])[] = [
  ['postcode', "df['postcode'] = df['postcode'].str.strip().str.zfill(5)", 1873],
  ['date', "df['date'] = pd.to_datetime(df['date'], format='mixed', dayfirst=True, errors='coerce')", 2210],
  ['kwh', "df['kwh'] = df['kwh'].str.replace('.', '').str.replace(',', '.').astype(float)", 911],
  ['meter_id', "df['meter_id'] = df['meter_id'].str.upper().str.replace(r'[^A-Z0-9]', '', regex=True)", 640],
  ['tariff', "df['tariff'] = df['tariff'].replace({'Std': 'standard', 'STD.': 'standard', 'eco ': 'eco'})", 402],
  ['city', "df['city'] = df['city'].map(lambda s: CITY_ALIASES.get(s, s))", 377],
  ['street', "df['street'] = df['street'].str.replace(r'str\\.$', 'straße', regex=True)", 0],
  ['kwh', "df.loc[df['kwh'] < 0, 'kwh'] = np.nan", 58],
  ['reading', "df = df.sort_values('read_at').drop_duplicates(['meter_id', 'date'], keep='last')", 294],
  ['phone', "df['phone'] = df['phone'].str.replace(r'^00', '+', regex=True)", 0],
  ['email', "df['email'] = df['email'].str.lower().where(df['email'].str.contains('@', na=False))", 121],
  ['date', "df = df[df['date'].between('2019-01-01', '2024-12-31')]", 37],
  ['operator', "df['operator'] = df['operator'].fillna(df['postcode'].map(OPERATOR_OF))", 88],
  ['kwh', "df['kwh'] = df['kwh'].fillna(df.groupby('meter_id')['kwh'].transform('median'))", 58],
];
const CHAPTERS =
  `Summary,Data sources,Rows left out,Readings by year,Readings by operator,Tariffs,Outliers,Missing values,
Cities,Meters without readings,Negative readings,Monthly profile,Weekday profile,Forecast 2025,Method,Appendix`.split(
    /,\s*/,
  );

function csvStory(): HealthyStory {
  const script = '/home/yara/meters/clean.py';
  let rejects = 7169;
  let opening = '';
  const steps = transcript(`
    PROMPT Clean raw/readings.csv so that the import takes every row, then write the report into the sheet.
    RUN wc -l raw/readings.csv && head -3 raw/readings.csv
    48214 raw/readings.csv
    meter_id;read_at;date;kwh;postcode;city;street;tariff;operator;phone;email
    de-00 17;2021-03-04T09:12;4.3.21;1.204,5;1067;Dresden;Lange Str.;Std;;0049351…;
    WRITE ${script}
    import pandas as pd
    df = pd.read_csv('raw/readings.csv', sep=';', dtype=str)
    # rules
    report(df)
    RUN python clean.py @3.4
    rows in 48213  ok 41044  rejected 7169
    `);
  const add = adding(steps);
  for (const [index, [column, code, fixed]] of RULES.entries()) {
    rejects -= fixed;
    const top = `df[df.reason == '${column}'].head(4)`;
    add(`
      ${opening}RUN python -c "from clean import df; print(${top})" @2.9
          meter_id        date      kwh postcode reason
      ${Math.floor(between(code, 90, 48000))}  DE00${17 + index}  ${1 + index}.3.21  1.20${index},5     1067 ${column}
      ${Math.floor(between(column, 90, 48000))}  DE01${40 + index}  ${2 + index}.7.22    88${index},0     4109 ${column}
      ${index % 3 === 0 ? `SAY Next rule: ${column}.\n` : ''}EDIT ${script}
      # rules
      BECOMES
      ${code}
      # rules
      `);
    if (index === 1 || index === 8) {
      add(`
        RUN python clean.py @2.2 !
        Traceback (most recent call last):
          File "clean.py", line ${6 + index}, in <module>
        ${index === 1 ? 'ValueError: time data "31.02.22" does not match' : "KeyError: 'read_at'"}
        READ ${script}
        ${code}
        # rules
        EDIT ${script}
        ${index === 1 ? "format='mixed', dayfirst=True" : "sep=';', dtype=str"}
        BECOMES
        ${index === 1 ? "format='%d.%m.%y'" : "sep=';', dtype=str, parse_dates=['read_at']"}
        `);
    }
    const output = `rows in 48213  ok ${48213 - rejects}  rejected ${rejects}`;
    steps.push(turn(bash('python clean.py', output, { secs: between(code, 3, 5) })));
    opening = fixed === 0 ? 'SAY No change: those rows fail for another reason too. I keep the rule.\n' : '';
  }
  for (const [cell, figure] of ['by_year', 'by_operator', 'profile', 'outliers', 'forecast'].entries()) {
    add(`
      CALL NotebookEdit {"notebook_path":"/home/yara/r.ipynb","cell_id":"c${cell}","new_source":"plot_${figure}()"}
      Updated cell c${cell} with plot_${figure}(df)
      RUN jupyter nbconvert --to notebook --execute --inplace r.ipynb @${between(figure, 18, 31).toFixed(1)}
      [NbConvertApp] Converting notebook r.ipynb to notebook
      [NbConvertApp] Writing ${412_000 + cell * 31_337} bytes to r.ipynb
      `);
  }
  for (const [index, chapter] of CHAPTERS.entries()) {
    const rows = Array.from({ length: 3 }, (_, rank) => [
      `${chapter} ${rank + 1}`,
      Math.floor(between(chapter + rank, 1, 9999)),
    ]);
    const input = JSON.stringify({ sheet: 'Report 2024', range: `A${1 + index * 12}:F${12 + index * 12}`, rows });
    add(`CALL mcp__sheets__write_section ${input} @1.1\nSection saved.`);
  }
  add(`
    RUN wc -l out/readings.csv out/rejected.csv
      48114 out/readings.csv
        101 out/rejected.csv
    SAY 48,113 of 48,213 rows are clean, 100 are in out/rejected.csv with a reason each; the report has 16 sections.
    `);
  const about = 'A script that cleans a CSV is run again after each rule, and a report is written section by section.';
  return { kind: 'healthy', name: 'csv-cleaning-rule-by-rule-with-report', about, steps };
}

/* Research with forty pages. */
const TOPICS = [
  'district heating temperature reduction',
  'low temperature district heating retrofit cost',
  'return temperature substations monitoring',
  'large heat pump river water district heating',
  'legionella hot water 55 degrees district heating',
  'billing incentive return temperature tariff',
];
const HOSTS = [
  'dhc-journal.org/article',
  'heatgrid.example.dk/cases',
  'stadtwerke-nordtal.example/projekte',
  'iea-dhc.org/annex',
  'varmenytt.example.se/artikel',
  'energiforsk.example.se/rapport',
  'openaccess.example.nl/papers',
];
const FINDINGS = [
  'supply lowered from 95 to 75 °C over @ winters',
  'return down @ K after replacing bypass valves',
  'heat losses fell by @ percent',
  'tariff of @ cents per kelvin of return temperature',
  'only @ of 100 substations had faults',
  'pump power rose by @ percent',
  'heat pump COP of @ tenths at 70 °C supply',
];

function researchStory(): HealthyStory {
  const notes = '/home/ines/thesis/notes/low-temperature.md';
  const steps = transcript(`
    PROMPT What do cities report about lowering district heating temperatures? Read widely, with notes and sources.
    WRITE ${notes}
    # Lower temperatures in district heating
    `);
  const add = adding(steps);
  let page = 0;
  for (const [index, topic] of TOPICS.entries()) {
    const links = Array.from({ length: 7 }, (_, rank) => `https://${at(HOSTS, index + rank)}/${hash(topic + rank)}`);
    add(`
      ${index === 0 ? '' : `SAY Next question: ${topic}.\n`}CALL WebSearch {"query":"${topic}"} @2.8
      Links: ${JSON.stringify(links.map((url, rank) => ({ title: `${topic} (${rank + 1})`, url })))}
      `);
    const kept: string[] = [];
    for (const [rank, url] of links.entries()) {
      page++;
      const input = JSON.stringify({ url, prompt: `What does it report about ${topic}? Numbers with units.` });
      const finding = at(FINDINGS, page + index).replace('@', String(2 + ((page * 7) % 29)));
      const place = at(['Aarhus', 'Graz', 'Malmö', 'Utrecht', 'Kassel', 'Turku', 'Brescia', 'Lyon', 'Viborg'], page);
      const broken =
        page % 9 === 5 ? 'Request failed with status code 404' : page % 14 === 8 ? 'timeout of 60000ms exceeded' : '';
      const secs = broken.startsWith('timeout') ? 60 : between(url, 3, 16);
      const text = broken === '' ? `${place}: ${finding}. The text gives no cost per building.` : broken;
      const say = rank === 3 && index % 2 === 0 ? 'SAY More from this search.\n' : '';
      const call = `CALL WebFetch ${input} @${secs.toFixed(1)}${broken === '' ? '' : ' !'}\n${text}`;
      if (rank === 1 && index > 2) add(`${call}\nALSO RUN wc -w ${notes}\n${page * 31} ${notes}`);
      else add(say + call);
      if (broken.startsWith('timeout')) add(call.replace(/ @.*/s, ` @7.2\n${place}: ${finding}.`));
      if (broken === '') kept.push(`- ${place}: ${finding} (${url})`);
      if (rank === 3 || rank === 6) {
        const lines = kept.splice(0).join('\n');
        add(`EDIT ${notes}\n<!-- ${page - rank} -->\nBECOMES\n${lines}\n<!-- ${page + 1} -->`);
      }
    }
  }
  add(`
    SAY Forty-two pages. I read my notes once more before the summary.
    READ ${notes}
    # Lower temperatures in district heating
    - Graz: return down 9 K after replacing bypass valves
    - Malmö: heat losses fell by 16 percent
    EDIT ${notes}
    # Lower temperatures in district heating
    BECOMES
    # Lower temperatures in district heating

    Most cities lowered the supply in small steps over several winters and began with faulty substations.
    SAY The notes hold 35 findings with sources. In short: begin with the faulty substations, lower the supply in steps,
    and give customers a reason (a tariff on return temperature). Five pages were gone; none of them was essential.
    `);
  const about = 'Forty web pages are read for a thesis, some of them gone, with notes written in between.';
  return { kind: 'healthy', name: 'district-heating-research-in-forty-pages', about, steps };
}

/* A large diff, read by three subagents at once; then a reviewer that finds nothing wrong three times. */
const REVIEWED: Readonly<Record<string, readonly string[]>> = {
  storage: 'engine wal compaction bloom manifest iterator snapshot cache checksum level memtable recovery'.split(' '),
  network: 'listener handshake frame codec backoff pool keepalive tls peer gossip quota router'.split(' '),
  query: 'lexer parser planner cost join aggregate sort limit pushdown explain vector types'.split(' '),
};

function reviewStory(): HealthyStory {
  const steps: StoryStep[] = transcript(`
    PROMPT Review the branch release/0.9 against main (it is large), mend what is clear, and have it checked.
    RUN git diff main...release/0.9 --stat | tail -1
     74 files changed, 5211 insertions(+), 1877 deletions(-)
    SAY That is too much for one reader. Three subagents, one for each crate.
    RUN git diff main...release/0.9 --dirstat=files
      35.1% crates/query/src/
      33.7% crates/storage/src/
      31.0% crates/network/src/
    `);
  const add = adding(steps);
  const areas = Object.entries(REVIEWED);
  for (const [area] of areas) {
    steps.push({
      start: `review-${area}`,
      type: 'general-purpose',
      task: `Review crates/${area} in the diff main...release/0.9.`,
    });
  }
  for (let index = 0; index < 12; index++) {
    for (const [area, files] of areas) {
      const file = `crates/${area}/src/${at(files, index)}.rs`;
      const added = Math.floor(between(file, 8, 140));
      steps.push(
        ...by(
          `review-${area}`,
          transcript(`
        ${index === 4 ? 'SAY Fine so far.\n' : ''}RUN git diff main...release/0.9 -- ${file}
        @@ -${20 + index},6 +${20 + index},${added} @@ impl ${at(files, index)}
        +    pub fn ${at(['open', 'next', 'merge', 'poll'], added)}_${at(files, index)}(&mut self) -> Result<u64> {
        +        self.${at(files, index + 1)}.lock().unwrap();
        `),
        ),
      );
      if (added % 4 === 0) {
        steps.push(
          ...by(
            `review-${area}`,
            transcript(`
          CALL Grep {"pattern":"${at(files, index)}\\\\(","path":"crates/${area}","output_mode":"count"}
          crates/${area}/src/lib.rs:${1 + (added % 3)}
          ${file}:${1 + (added % 5)}
          `),
          ),
        );
      }
    }
  }
  steps.push(
    {
      end: 'review-network',
      output: 'crates/network: backoff.rs:41 adds the jitter before the cap, so a wait may pass max_wait.',
    },
    {
      end: 'review-storage',
      output: 'crates/storage: wal.rs:118 does not fsync the folder after the rename. Else fine.',
    },
    { end: 'review-query', output: 'crates/query: no defects. Nit: planner.rs has a TODO left over.' },
  );
  const fixes = [
    ['storage/src/wal.rs', 'fs::rename(&tmp, &path)?;', 'fs::rename(&tmp, &path)?;\n    File::open(dir)?.sync_all()?;'],
    ['network/src/backoff.rs', 'let wait = base.min(self.max) + jitter;', 'let wait = (base + jitter).min(self.max);'],
    ['query/src/planner.rs', '// TODO remove before release\n', ''],
  ] as const;
  for (const [index, [file, old, fresh]] of fixes.entries()) {
    const crate = file.split('/')[0] ?? '';
    add(`
      READ /work/kvell/crates/${file}
      ${old}
      EDIT /work/kvell/crates/${file}
      ${old}
      BECOMES
      ${fresh}
      RUN cargo test -p kvell-${crate} 2>&1 | tail -2 @${between(crate, 20, 60).toFixed(1)}
      test result: ok. ${88 + index * 31} passed; 0 failed; 0 ignored; finished in ${(3.1 + index).toFixed(2)}s
      RUN git commit -qam "${crate}: review finding" && git log --oneline -1
      ${hash(file)} ${crate}: review finding
      `);
    const name = `reviewer-${index + 1}`;
    const task = `Look at the last commit (${hash(file)}) and say whether anything is wrong with it.`;
    steps.push({ start: name, type: 'code-reviewer', task });
    steps.push(
      ...by(
        name,
        transcript(`
      RUN git show HEAD
      commit ${hash(file)}
      -${old.trim()}
      +${fresh}
      READ /work/kvell/crates/${file}
      ${fresh === '' ? 'pub struct Planner {' : fresh}
      `),
      ),
    );
    steps.push({ end: name, output: 'I looked at the change and its surroundings. No issues found.' });
  }
  add(`
    RUN cargo clippy --workspace --all-targets 2>&1 | tail -1 @48
        Finished \`dev\` profile [unoptimized + debuginfo] target(s) in 47.31s
    SAY 74 files read. Two defects (a missing fsync in wal.rs, a wait beyond its limit in backoff.rs) and a left-over
    TODO are mended in three commits; each was looked at by a second reader, who found nothing wrong.
    `);
  const about =
    'Three subagents read a large diff at once; each fix is checked by a reviewer that finds nothing wrong.';
  return { kind: 'healthy', name: 'large-diff-review-with-subagents', about, steps };
}

/** Data work, research and reading with subagents. */
export const dataStories: readonly HealthyStory[] = [sqlStory(), csvStory(), researchStory(), reviewStory()];
