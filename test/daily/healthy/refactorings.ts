import { createHash } from 'node:crypto';
import type { HealthyStory, StoryCall, StoryStep, StoryTurn } from '../story.ts';
import { bash, edit, read, turn, write } from '../story.ts';

/** A short hexadecimal name, as git gives to a commit. */
export const hash = (seed: string): string => createHash('sha1').update(seed).digest('hex').slice(0, 7);

/** A number between two others, always the same for the same seed. */
export const between = (seed: string, low: number, high: number): number =>
  low + (Number.parseInt(hash(seed), 16) % 1000) * ((high - low) / 1000);

/** An element of a list, which begins again at its end. */
export const at = <T>(list: readonly T[], index: number): T => list[index % list.length] as T;

/** A turn of a subagent. */
export const by = (agent: string, steps: readonly StoryStep[]): StoryStep[] =>
  steps.map((step) => ({ ...step, agent }) as StoryTurn);

/**
 * Steps written down as text: `PROMPT`, `SAY` (the text before the next call), `RUN` (a shell), `READ`, `EDIT` (with
 * `BECOMES` between old and new), `WRITE`, and `CALL tool {input}`, each followed by the lines of its output. `ALSO`
 * puts a call into the turn before; `@12` behind a call are its seconds, and `!` (or `!8`) says that it failed.
 */
export function transcript(text: string): StoryStep[] {
  const indent = /^\n?( *)/.exec(text)?.[1] ?? '';
  const plain = text.replaceAll(`\n${indent}`, '\n').trim();
  const steps: StoryStep[] = [];
  let say: string | undefined;
  const flush = (): void => {
    if (say !== undefined) steps.push({ say });
    say = undefined;
  };
  for (const block of plain.split(/\n(?=(?:ALSO )?(?:PROMPT|SAY|RUN|READ|EDIT|WRITE|CALL) )/)) {
    const [first = '', ...rest] = block.split('\n');
    const [, also, verb, head = '', secs, code] = /^(ALSO )?(\w+) (.*?)(?: @([\d.]+))?(?: !(\d*))?$/.exec(first) ?? [];
    const body = rest.join('\n').trimEnd();
    if (verb === 'PROMPT' || verb === 'SAY') {
      flush();
      const whole = [head, ...rest].join(' ').trimEnd();
      if (verb === 'PROMPT') steps.push({ prompt: whole });
      else say = whole;
      continue;
    }
    const more = { ...(secs !== undefined && { secs: Number(secs) }), ...(code !== undefined && { ok: false }) };
    const call = callOf(
      verb ?? '',
      head,
      code === undefined ? body : `${verb === 'RUN' ? `Exit code ${code || 1}\n` : ''}${body}`,
      more,
    );
    const last = steps.at(-1);
    if (also !== undefined && last !== undefined && 'calls' in last) {
      steps[steps.length - 1] = { ...last, calls: [...(last.calls ?? []), call] };
    } else {
      steps.push({ ...(say !== undefined && { say }), calls: [call] });
      say = undefined;
    }
  }
  flush();
  return steps;
}

/** A function that adds what `transcript` makes of a text. */
export const adding =
  (steps: StoryStep[]) =>
  (text: string): void => {
    steps.push(...transcript(text));
  };

function callOf(verb: string, head: string, body: string, more: Partial<StoryCall>): StoryCall {
  if (verb === 'READ') return read(head, body, more);
  if (verb === 'WRITE') return write(head, body, more);
  if (verb === 'EDIT') {
    const [before = '', after = ''] = body.split(/\n?BECOMES\n?/);
    return edit(head, before, after, more);
  }
  if (verb === 'RUN') return bash(head, body, more);
  const [tool = '', ...json] = head.split(' ');
  return { tool, input: JSON.parse(json.join(' ')), output: body, ...more };
}

const upper = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);
const said = (texts: readonly string[], index: number): string[] => [at(texts, index)].filter((text) => text !== '');

/* A rename of a domain word through a TypeScript back end: each row is a file and the lines in it. */
const CUSTOMER_LINES = `
domain/customer.ts ~ export interface Customer { id: CustomerId; email: string; createdAt: Date }
  ~ export type CustomerId = Brand<string, 'CustomerId'>;
domain/invoice.ts ~ readonly customerId: CustomerId;
  ~ export function invoiceFor(customer: Customer, lines: Line[]): Invoice {
domain/subscription.ts ~ export const isTrial = (customer: Customer) => customer.plan === 'trial';
  ~ customerId: CustomerId;
domain/address.ts ~ export interface CustomerAddress extends Address { customerId: CustomerId }
domain/events.ts ~ | { type: 'customer.created'; customer: Customer }
  ~ | { type: 'customer.closed'; customerId: CustomerId; reason: string }
db/customer-repository.ts ~ export class CustomerRepository implements Repository<Customer> {
  ~ async byEmail(email: string): Promise<Customer | undefined> {
  ~ return this.db.selectFrom('accounts').where('id', '=', customerId).executeTakeFirst();
db/invoice-repository.ts ~ async openFor(customerId: CustomerId): Promise<Invoice[]> {
  ~ .where('customer_id', '=', customerId)
db/subscription-repository.ts ~ async activeOf(customerId: CustomerId) {
db/row-mappers.ts
  ~ export const toCustomer = (row: AccountRow): Customer => ({ id: row.id as CustomerId, email: row.email });
  ~ export const fromCustomer = (customer: Customer): AccountRow => ({
db/seed.ts ~ const customers = await seedCustomers(db, 250);
  ~ for (const customer of customers) await seedInvoices(db, customer.id, 12);
services/customer-service.ts ~ constructor(private readonly customers: CustomerRepository, private readonly bus: Bus) {}
  ~ async close(customerId: CustomerId, reason: string): Promise<void> { ~ throw new CustomerNotFound(customerId);
services/billing-run.ts ~ for await (const customer of this.customers.dueOn(day)) {
  ~ log.info({ customerId: customer.id }, 'billed customer');
services/dunning.ts ~ const overdue = await this.invoices.overdueByCustomer(today);
  ~ await this.mail.send(reminderFor(customer, level));
services/credit-check.ts ~ export async function creditLimit(customer: Customer, bureau: Bureau): Promise<Cents> {
services/merge.ts ~ async mergeCustomers(keep: CustomerId, drop: CustomerId): Promise<Customer> {
  ~ assert(keep !== drop, 'cannot merge a customer with itself');
services/export-gdpr.ts ~ const bundle = await collectCustomerData(customerId);
  ~ archive.append(JSON.stringify(bundle.customer), { name: 'customer.json' });
services/search-index.ts ~ await this.index.upsert('customers', customers.map(customerToDocument));
  ~ function customerToDocument(customer: Customer): SearchDocument {
services/import-csv.ts ~ const customer = customerSchema.parse(record);
  ~ report.rejected.push({ line, reason: 'duplicate customer' });
api/routes.ts ~ router.use('/accounts', customerRouter(container)); ~ import { customerRouter } from './customers.ts';
api/customers.ts ~ export function customerRouter({ customerService }: Container): Router {
  ~ router.get('/:customerId', async (req, res) => { ~ res.status(201).json(presentCustomer(customer));
api/invoices.ts ~ const customer = await customerService.require(req.params.customerId);
  ~ res.json(await invoices.openFor(customer.id));
api/webhooks.ts ~ case 'customer.updated': return customerService.sync(event.data.object);
api/presenters.ts ~ export const presentCustomer = (customer: Customer) => ({ id: customer.id, email: customer.email });
api/auth.ts ~ req.customer = await customers.byApiKey(hashKey(header));
  ~ if (!req.customer) return res.status(401).json({ error: 'unknown customer' });
api/rate-limit.ts ~ const key = ['rl', req.customer.id, bucket(now)].join(':');
api/openapi.ts ~ CustomerResponse: zodToOpenApi(customerSchema), ~ operationId: 'getCustomer',
jobs/nightly-statements.ts ~ const batch = await customers.page(cursor, 500);
  ~ await Promise.all(batch.map((customer) => renderStatement(customer, month)));
jobs/anonymise.ts ~ const stale = await customers.closedBefore(subMonths(now, 36));
  ~ await customers.anonymise(stale.map((customer) => customer.id));
jobs/churn-score.ts ~ const features = customerFeatures(customer, usage);
  ~ await scores.put(customer.id, model.predict(features));
jobs/resend-failed-mail.ts ~ const customer = await customers.byId(message.customerId);
mail/templates.tsx ~ export function Welcome({ customer }: { customer: Customer }) {
  ~ <Text>Hello {customer.firstName},</Text>
mail/reminder.tsx ~ export const reminderFor = (customer: Customer, level: 1 | 2 | 3) => ({ ~ to: customer.email,
mail/preview.ts ~ const fixtureCustomer: Customer = { ...base, email: 'ada@example.org' };
admin/pages/customer-list.tsx ~ const { data: customers } = useCustomers({ page, query });
  ~ <Table rows={customers} columns={customerColumns} />
admin/pages/customer-detail.tsx ~ const customer = useCustomer(params.customerId); ~ <Heading>{customer.email}</Heading>
admin/hooks/use-customers.ts
  ~ export const useCustomers = (args: ListArgs) => useQuery(['customers', args], () => api.listCustomers(args));
  ~ export const useCustomer = (customerId: string) =>
admin/columns.ts ~ export const customerColumns: Column<Customer>[] = [
cli/close-customer.ts ~ .command('close-customer <customerId>')
  ~ await container.customerService.close(customerId as CustomerId, options.reason);
cli/report.ts ~ const rows = await customers.countByPlan();
  ~ console.log(rows.length + ' plans, ' + total + ' customers');
lib/errors.ts ~ export class CustomerNotFound extends NotFound { ~ super('no customer ' + customerId);
lib/container.ts ~ customerRepository: asClass(CustomerRepository).singleton(),
  ~ customerService: asClass(CustomerService).singleton(),
lib/telemetry.ts ~ span.setAttribute('customer.id', customerId);
  ~ customersTotal: meter.createUpDownCounter('customers_total'),
`
  .trim()
  .split(/\n(?! )/)
  .map((row) => row.split(/\s+~ /))
  .map(([file = '', ...lines]) => ({ file: `src/${file}`, lines }));

function renameStory(): HealthyStory {
  const cwd = '/home/dana/ledgerline';
  const renamed = (line: string): string =>
    line.replaceAll('Customer', 'Account').replace(/customer(?!_id)/g, 'account');
  const occurrences = CUSTOMER_LINES.map(({ lines }) => lines.join(' ').match(/customer/gi)?.length ?? 0);
  const steps = transcript(`
    PROMPT We call it "account" everywhere but in the code. Rename Customer to Account in src/, incl. file names.
    SAY I will see how far the word goes before I touch anything.
    RUN git status --short && git log --oneline -3
    ${hash('a')} Bump kysely to 0.27.4
    ${hash('b')} Fix dunning level 3
    ${hash('c')} Statements: page size 500
    ALSO RUN grep -rilE 'customer' src | wc -l && grep -roiE 'customer' src | wc -l
    42
    611
    RUN git checkout -b rename-customer-to-account
    Switched to a new branch 'rename-customer-to-account'
    RUN npx tsc --noEmit && npx vitest run 2>&1 | tail -4 @34
     Tests  418 passed (418)
     Duration  21.40s
    `);
  const add = adding(steps);
  const narration = ['Next file.', '', 'Now the next one.', '', '', 'Same here.'];
  for (const [index, { file, lines }] of CUSTOMER_LINES.entries()) {
    const path = `${cwd}/${file}`;
    const imports = `import type { Customer, CustomerId } from '../domain/customer.ts';`;
    const source = [imports, "import { log } from '../lib/log.ts';", '', ...lines.flatMap((line) => [line, ''])];
    steps.push(turn(...said(narration, index), read(path, source.join('\n'))));
    const target = renamed(path);
    if (target !== path) steps.push(turn(bash(`git mv ${file} ${renamed(file)}`, '')));
    steps.push(turn(edit(target, imports, renamed(imports))));
    for (const line of lines) steps.push(turn(edit(target, line, renamed(line))));
    const kept = lines.some((line) => line.includes('customer_id'));
    const count = kept
      ? bash(`grep -nic customer ${renamed(file)}`, '1')
      : bash(`grep -nic customer ${renamed(file)}`, 'Exit code 1\n0', { ok: false });
    steps.push(turn(count));
    const shown = CUSTOMER_LINES.slice(index + 1, index + 4).map((row, rank) => {
      const place = `${row.file}(${3 + ((index + rank) % 6)},${Math.floor(between(row.file, 9, 60))})`;
      return `${place}: error TS2305: Module '"../domain/account.ts"' has no exported member 'Customer'.`;
    });
    const errors = String(occurrences.slice(index + 1).reduce((sum, count) => sum + count, 0));
    const check = 'npx tsc --noEmit > /tmp/tsc.txt; head -3 /tmp/tsc.txt; wc -l < /tmp/tsc.txt';
    steps.push(turn(bash(check, [...shown, errors].join('\n'), { secs: between(file, 7, 11) })));
    if (index % 3 === 2) {
      const n = 13 * (index + 1);
      const total = ` ${index + 1} files changed, ${n} insertions(+), ${n} deletions(-)`;
      steps.push(turn(bash('git diff main --stat | tail -1', total)));
    }
    if (index % 5 === 4) {
      const counts = `${60 + index} insertions(+), ${60 + index} deletions(-)`;
      add(`
        RUN npx vitest related --run ${renamed(file)} 2>&1 | tail -3 @${between(file, 4, 9).toFixed(1)}
         Tests  ${20 + index} passed (${20 + index})
        RUN git add -A && git commit -m "Rename customer to account (${index + 1} of 42)" --no-verify
        [rename-customer-to-account ${hash(file)}] Rename customer to account (${index + 1} of 42)
         5 files changed, ${counts}
        `);
    }
  }
  add(`
    SAY All of src/ is done. The whole suite now.
    RUN npx vitest run 2>&1 | tail -20 @22.9 !
     FAIL  test/api/accounts.test.ts > GET /accounts/:id > 404s
    AssertionError: expected 'no account acc_0' to be 'no customer acc_0'
     Tests  1 failed | 417 passed (418)
    SAY The test pins the old message; the new one is wanted.
    READ ${cwd}/test/api/accounts.test.ts
    it('404s', async () => {
      const { status, body } = await get('/accounts/acc_0');
      expect(status).toBe(404);
      expect(body.error).toBe('no customer acc_0');
    EDIT ${cwd}/test/api/accounts.test.ts
    'no customer acc_0'
    BECOMES
    'no account acc_0'
    RUN npx vitest run 2>&1 | tail -4 @22.7
     Tests  418 passed (418)
     Duration  21.92s
    RUN grep -rniE 'customer' src | head
    src/db/invoice-repository.ts:31:    .where('customer_id', '=', accountId)
    SAY That one is the column in the database; it stays.
    RUN git diff main --stat | tail -1
     43 files changed, 612 insertions(+), 612 deletions(-)
    SAY Customer is now Account in all 42 files. One mention is left on purpose, the column. 418 tests pass.
    `);
  const about = 'A domain word is renamed file by file in a TypeScript back end, with compiler runs between.';
  return { kind: 'healthy', name: 'rename-customer-to-account-in-forty-files', about, steps };
}

/* Jest to Vitest, file by file. */
const MIGRATED =
  `cart checkout coupon shipping tax refund wishlist catalog facets pricing bundle inventory warehouse picking
label tracking returns review rating question profile session password passkey consent banner locale currency formatter
calendar reminder notifier webhook retry queue scheduler throttle cache etag cursor upload thumbnail gallery editor
comment mention search synonyms autocomplete recent sitemap feed`.split(/\s+/);

/* What differs between Jest and Vitest; @ is the subject of the file. */
const JEST_LINES: readonly (readonly [old: string, fresh: string, note: string])[] = [
  ["jest.mock('../src/@/client');", "vi.mock('../src/@/client');", 'A module mock.'],
  [
    'const on@ = jest.fn().mockResolvedValue({ ok: true });',
    'const on@ = vi.fn().mockResolvedValue({ ok: true });',
    '',
  ],
  ['jest.useFakeTimers().setSystemTime(@.now);', 'vi.useFakeTimers();\nvi.setSystemTime(@.now);', 'Cannot be chained.'],
  ["jest.requireActual('../src/@');", "await vi.importActual<object>('../src/@');", 'requireActual must be awaited.'],
  ["const spy = jest.spyOn(@Api, 'load');", "const spy = vi.spyOn(@Api, 'load');", ''],
];

function vitestStory(): HealthyStory {
  const cwd = '/Users/mirela/code/shopfront';
  const steps = transcript(`
    PROMPT Migrate our tests from Jest to Vitest, one file at a time, running each one. Commit every eight files.
    RUN ls test/*.test.ts | wc -l; cat jest.config.js
          52
    module.exports = { preset: 'ts-jest', testEnvironment: 'node' };
    RUN npm i -D vitest@3 @vitest/coverage-v8 @9.8
    added 41 packages, and audited 1187 packages in 9s
    WRITE ${cwd}/vitest.config.ts
    import { defineConfig } from 'vitest/config';

    export default defineConfig({ test: { clearMocks: true } });
    `);
  const add = adding(steps);
  for (const [index, word] of MIGRATED.entries()) {
    const [old, fresh, note] = at(JEST_LINES, index + (index % 7));
    const file = `test/${word}.test.ts`;
    const path = `${cwd}/${file}`;
    const first = `import { load${upper(word)} } from '../src/${word}';`;
    const cases = 4 + (index % 11);
    const ms = Math.floor(between(word, 180, 900));
    const passed = ` ✓ ${file} (${cases} tests) ${ms}ms\n\n Test Files  1 passed (1)\n      Tests  ${cases} passed`;
    const run = `RUN npx vitest run ${file} @${(1.2 + ms / 1000).toFixed(1)}`;
    add(`
      ${index % 4 === 0 ? `SAY \`${file}\` next.\n` : ''}READ ${path}
      ${first}
      ${old.replaceAll('@', word)}
      afterEach(() => jest.resetAllMocks());

      describe('${word}', () => {
        it('loads', async () => {
          expect(await load${upper(word)}()).toHaveLength(${index % 5});
      EDIT ${path}
      ${first}
      BECOMES
      import { afterEach, describe, expect, it, vi } from 'vitest';
      ${first}
      ${note === '' ? '' : `SAY ${note}\n`}EDIT ${path}
      ${old.replaceAll('@', word)}
      BECOMES
      ${fresh.replaceAll('@', word)}
      EDIT ${path}
      jest.resetAllMocks()
      BECOMES
      vi.resetAllMocks()
      `);
    if (index % 9 === 4) {
      add(`
        ${run} !
         FAIL  ${file}
        ReferenceError: beforeAll is not defined
         ❯ ${file}:${12 + index}:3
         Test Files  1 failed (1)
              Tests  no tests
        SAY An import is missing.
        EDIT ${path}
        afterEach, describe
        BECOMES
        afterEach, beforeAll, describe
        `);
    }
    if (index % 13 === 6) {
      add(`
        ${run} !
         FAIL  ${file} > ${word} > renders
        Error: Snapshot "${word} > renders 1" mismatched
        - exports["${word} renders 1"]
        + exports["${word} > renders 1"]
         Tests  1 failed | ${cases - 1} passed
        SAY Only the name of the snapshot differs (Vitest joins with " > ").
        RUN npx vitest run ${file} -u @2.2
        ${passed}
          Snapshots  1 written
        RUN git diff --stat test/__snapshots__/${word}.test.ts.snap
         1 file changed, 1 insertion(+), 1 deletion(-)
        `);
    }
    add(`${run}\n${passed}`);
    steps.push(turn(bash('npx tsc -p test --noEmit', '', { secs: between(`${word}t`, 5, 8) })));
    if (index % 3 > 0) {
      steps.push(turn(bash('grep -l "jest\\." test/*.test.ts | wc -l', `      ${MIGRATED.length - index - 1}`)));
    }
    if (index % 8 === 7) {
      add(`
        RUN git add test && git commit -m "test: migrate ${index - 6}-${index + 1} to vitest" @2.4
        [vitest ${hash(word)}] test: migrate ${index - 6}-${index + 1} to vitest
         8 files changed, ${32 + (index % 5)} insertions(+), ${24 + (index % 3)} deletions(-)
        RUN git status --short | wc -l
               0
        CALL TodoWrite {"todos":[{"content":"migrate the files, ${index + 1}/52","status":"in_progress"}]}
        Todos have been modified successfully. Ensure that you continue to use the todo list.
        `);
    }
  }
  add(`
    SAY All files are over. Jest can go.
    RUN npm rm jest ts-jest @types/jest && rm jest.config.js @5.1
    removed 214 packages, and audited 973 packages in 4s
    EDIT ${cwd}/package.json
    "test": "jest --runInBand"
    BECOMES
    "test": "vitest run"
    RUN npm test @15.3
     Test Files  52 passed (52)
          Tests  468 passed (468)
       Duration  14.02s
    RUN git commit -qam "test: remove jest" && git status --short @2.1
    SAY All 52 test files run on Vitest (468 tests, 14 s instead of 71 s), and Jest is out of package.json.
    `);
  const about = 'Fifty-two test files are migrated from Jest to Vitest, each one read, edited and run.';
  return { kind: 'healthy', name: 'jest-to-vitest-file-by-file', about, steps };
}

/* A Go package that moves, with its callers. */
const GO_FILES =
  `account entry posting journal balance currency rounding period closing accrual reversal transfer hold release
settlement batch reconcile statement export audit snapshot migrate lock idempotency outbox clock errors`.split(/\s+/);
const GO_CALLERS = [
  'cmd/api',
  'cmd/worker',
  'internal/invoice',
  'internal/payout',
  'internal/report',
  'internal/admin',
];
const GO_HELPERS = ['mustCents', 'nowUTC', 'withTx', 'scanRow', 'newID', 'joinErr', 'lockKey'];

function goMoveStory(): HealthyStory {
  const cwd = '/src/tally';
  const steps = transcript(`
    PROMPT Move internal/billing/ledger to pkg/ledger. Keep the build green after every file.
    RUN ls internal/billing/ledger | wc -l; go build ./... && go test ./... 2>&1 | tail -1 @41
    28
    ok  	tally/internal/report	2.117s
    RUN mkdir -p pkg/ledger && grep -rl "internal/billing/ledger" --include=*.go . | wc -l
    38
    SAY I move one file at a time and leave an alias behind, so the build stays green. The aliases go last.
    RUN git checkout -qb ledger-move
    `);
  const add = adding(steps);
  for (const [index, name] of GO_FILES.entries()) {
    const type = upper(name);
    const folder = at(GO_CALLERS, index * 5);
    const caller = `${cwd}/${folder}/${name}_${at(['handler', 'job', 'view'], index)}.go`;
    const used = at([`ledger.New${type}(ctx, tx)`, `ledger.${type}{ID: id}`, `ledger.Load${type}s(ctx)`], index);
    const secs = (kind: string): string => between(name + kind, 2, 10).toFixed(1);
    const helper = at(GO_HELPERS, index >> 2);
    const opening = at([`SAY \`${name}.go\` (${40 + ((index * 37) % 300)} lines).\n`, '', 'SAY Next.\n'], index);
    add(`
      ${opening}RUN git mv internal/billing/ledger/${name}.go pkg/ledger/${name}.go
      WRITE ${cwd}/internal/billing/ledger/${name}_alias.go
      package ledger

      import moved "tally/pkg/ledger"

      type ${type} = moved.${type}
      `);
    if (index % 4 === 1) {
      add(`
        RUN go build ./... @${secs('fail')} !
        # tally/pkg/ledger
        pkg/ledger/${name}.go:${20 + index}:9: undefined: ${helper}
        RUN grep -rn "func ${helper}" internal/billing
        internal/billing/ledger/util.go:${11 + index}:func ${helper}(
        SAY \`${helper}\` is private to the old package. I take it along.
        RUN sed -n '/^func ${helper}(/,/^}/p' internal/billing/ledger/util.go >> pkg/ledger/util.go
        `);
    }
    add(`
      RUN go build ./... @${secs('build')}
      READ ${caller}
      package ${folder.split('/')[1]}

      import "tally/internal/billing/ledger"

      func run${type}(ctx context.Context, tx *sql.Tx) error {
      	v := ${used}
      EDIT ${caller}
      "tally/internal/billing/ledger"
      BECOMES
      "tally/pkg/ledger"
      RUN go build ./... && go vet ./pkg/ledger/... @${secs('vet')}
      `);
    if (index % 3 === 0) {
      const secs = between(`${name}t`, 0.4, 1.9);
      const output = `ok  \ttally/pkg/ledger\t${secs.toFixed(3)}s`;
      steps.push(turn(bash('go test ./pkg/ledger/...', output, { secs: secs + 3.2 })));
    }
    if (index % 5 === 4) {
      const commit = `git add -A && git commit -qm "ledger: move up to ${name}" && git log --oneline -1`;
      steps.push(turn(bash(commit, `${hash(name)} ledger: move up to ${name}`)));
    }
  }
  add(`
    SAY Every file is over; the aliases can go.
    RUN grep -rn "billing/ledger" --include=*.go . | grep -v _alias.go !
    RUN git rm -q internal/billing/ledger/*_alias.go && go build ./... @12
    RUN go test ./... 2>&1 | grep -v "no test files" @58
    ok  	tally/cmd/api	4.402s
    ok  	tally/internal/payout	1.238s
    ok  	tally/pkg/ledger	1.660s
    RUN git commit -qam "ledger: remove the aliases" && git status --short | wc -l
    0
    SAY The ledger lives in \`pkg/ledger\` now, nothing imports the old path any more, and all tests pass.
    `);
  const about = 'A Go package is moved to another path one file at a time, with a build after each.';
  return { kind: 'healthy', name: 'go-ledger-package-move', about, steps };
}

/* Types and lint of a Python package: 120 errors of mypy to none, then dozens of equal warnings of ruff. */
const TYPED =
  `loader.5 schema.7 registry.3 units.2 stations.6 gauges.4 rainfall.8 runoff.5 rivers.3 basins.4 lakes.2 snow.6
evaporation.3 soil.5 routing.7 calibration.9 ensemble.6 forecast.8 verify.4 plots.3 report.5 cli.6 cache.2 netcdf.7`
    .split(/\s+/)
    .map((pair) => pair.split('.'))
    .map(([name = '', count = '1']) => ({ name, count: Number(count) }));
const MYPY_FIXES: readonly (readonly [message: string, old: string, fresh: string])[] = [
  ['Function is missing a type annotation  [no-untyped-def]', 'def @(path):', 'def @(path: Path) -> xr.Dataset:'],
  [
    'Missing type parameters for generic type "dict"  [type-arg]',
    'def _@(self) -> dict:',
    'def _@(self) -> dict[str, int]:',
  ],
  [
    'Incompatible default for argument "unit"  [assignment]',
    'to_@(v, unit: str = None)',
    'to_@(v, unit: str | None = None)',
  ],
  ['Item "None" of "Station | None" has no attribute "id"  [union-attr]', 'self.find(@_key).id', 'self.need(@_key).id'],
  [
    'Returning Any from function declared to return "float"  [no-any-return]',
    'return @["mean"]',
    'return float(@["mean"])',
  ],
];

function mypyStory(): HealthyStory {
  const cwd = '/home/jonas/hydro';
  let errors = TYPED.reduce((sum, { count }) => sum + count, 0);
  const steps = transcript(`
    PROMPT Make mypy --strict and ruff pass for hydro/, then format. No \`type: ignore\` please.
    RUN mypy --strict hydro | tail -1 @14.2 !
    Found ${errors} errors in ${TYPED.length} files (checked 61 source files)
    SAY ${errors} errors. I go through the files in the order of the imports.
    RUN git checkout -qb strict-types
    `);
  const add = adding(steps);
  for (const [index, { name, count }] of TYPED.entries()) {
    const path = `${cwd}/hydro/${name}.py`;
    const fixes = Array.from({ length: Math.min(3, count) }, (_, rank) => at(MYPY_FIXES, index * 2 + rank));
    const listed = Array.from({ length: count }, (_, rank) => {
      return `hydro/${name}.py:${14 + rank * 13}: error: ${at(fixes, rank)[0]}`;
    });
    const list = bash(`mypy --strict hydro | grep hydro/${name}.py`, listed.join('\n'), { secs: 3.4 });
    steps.push(turn(...said(['', `Now \`${name}.py\`.`, ''], index), list));
    steps.push(turn(read(path, fixes.map(([, old]) => old.replaceAll('@', name)).join('\n    ...\n\n'))));
    const edits = fixes.map(([, old, fresh]) => edit(path, old.replaceAll('@', name), fresh.replaceAll('@', name)));
    steps.push(...(index % 3 === 0 ? [turn(...edits)] : edits.map((call) => turn(call))));
    if (count > 5) steps.push(turn(bash(`sed -i 's/: np.ndarray/: NDArray[np.float64]/' hydro/${name}.py`, '')));
    errors -= count;
    const left = `Exit code 1\nFound ${errors} errors in ${TYPED.length - index - 1} files (checked 61 source files)`;
    const ok = errors === 0;
    const output = ok ? 'Success: no issues found in 61 source files' : left;
    steps.push(turn(bash('mypy --strict hydro | tail -1', output, { ok, secs: 4.1 })));
    if (index % 6 === 5) {
      const secs = between(name, 18, 24);
      steps.push(turn(bash('pytest -q 2>&1 | tail -1', `312 passed in ${secs.toFixed(2)}s`, { secs: secs + 1.4 })));
    }
  }
  add(`
    SAY mypy is clean. Now ruff.
    RUN ruff check hydro --statistics !
    46	B904	raise-without-from-inside-except
    17	PTH123	builtin-open
    `);
  for (let left = 46; left > 0; left -= 2) {
    const { name } = at(TYPED, left >> 1);
    const raised = at(
      ['StationError(code)', 'ValueError(unit)', 'ForecastError("no run")', 'KeyError(gauge)'],
      left >> 1,
    );
    const mend = (error: string): StoryCall => {
      const old = `    except ${error}:\n        raise ${raised}`;
      return edit(`${cwd}/hydro/${name}.py`, old, `    except ${error} as error:\n        raise ${raised} from error`);
    };
    steps.push(turn(mend('KeyError'), mend('OSError')));
    if (left % 8 === 0) {
      const rest = `Exit code 1\n${left - 2}\tB904\traise-without-from-inside-except`;
      steps.push(turn(bash('ruff check hydro --select B904 --statistics', rest, { ok: false })));
    }
  }
  add(`
    RUN ruff check hydro --select PTH123 --fix --unsafe-fixes
    Found 17 errors (17 fixed, 0 remaining).
    RUN ruff check hydro
    All checks passed!
    RUN ruff format hydro
    23 files reformatted, 38 files left unchanged
    RUN ruff format hydro --check && ruff check hydro && mypy --strict hydro @4.4
    61 files already formatted
    All checks passed!
    Success: no issues found in 61 source files
    RUN pytest -q 2>&1 | tail -1 @22.3
    312 passed in 21.05s
    SAY mypy --strict went from 120 errors to none, ruff from 63 warnings to none; 23 files are reformatted.
    `);
  const about =
    'Type errors of a Python package fall to none, then equal lint warnings are mended and the code is formatted.';
  return { kind: 'healthy', name: 'mypy-strict-from-many-errors-to-none', about, steps };
}

/** Long refactorings: the same kind of step in dozens of files. */
export const refactoringStories: readonly HealthyStory[] = [renameStory(), vitestStory(), goMoveStory(), mypyStory()];
