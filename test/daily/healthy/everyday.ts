import type { HealthyStory } from '../story.ts';
import { bash, turn } from '../story.ts';
import { adding, at, between, hash, transcript } from './refactorings.ts';

/* A generator of clients that is run again after each change of a template. */
function generatorStory(): HealthyStory {
  const cwd = '/home/rui/sdkgen';
  const steps = transcript(`
    PROMPT The generated Kotlin SDK has the problems of issue #77. Change the templates (not the output) one at a time.
    RUN gh issue view 77 | tail -12 @1.4
    - [ ] KDoc for every method   - [ ] nullable query parameters   - [ ] enums with unknown values
    RUN ls templates && ./gradlew -q generate && git diff --stat @31
    api.mustache  enum.mustache  model.mustache  client.mustache  auth.mustache  paging.mustache  errors.mustache
    `);
  const add = adding(steps);
  const changes: readonly (readonly [template: string, old: string, fresh: string])[] = [
    ['api', '  suspend fun {{name}}(', '  /** {{summary}} */\n  suspend fun {{name}}('],
    ['api', '{{param}}: {{type}}', '{{param}}: {{type}}{{^required}}? = null{{/required}}'],
    ['enum', 'enum class {{name}} {', 'enum class {{name}}(val raw: String) {'],
    ['enum', '{{#values}}{{.}}, {{/values}}', '{{#values}}{{.}}("{{raw}}"), {{/values}}UNKNOWN("")'],
    ['model', 'data class {{name}}(', '@Serializable\ndata class {{name}}('],
    ['model', 'val {{field}}: {{type}}', '@SerialName("{{raw}}") val {{field}}: {{type}}'],
    ['model', 'val {{field}}: Date', 'val {{field}}: Instant'],
    ['client', 'HttpClient()', 'HttpClient(engine) { install(HttpTimeout) }'],
    ['auth', 'header("Authorization", token)', 'header("Authorization", "Bearer ${token.current()}")'],
    ['paging', 'fun pages(): List<{{item}}>', 'fun pages(): Flow<{{item}}>'],
    ['errors', 'throw RuntimeException(body)', 'throw ApiException(status, body)'],
    ['errors', 'class ApiException(', 'open class ApiException('],
    ['api', '  /** {{summary}} */', '  /** {{summary}} {{#deprecated}}Deprecated.{{/deprecated}} */'],
    ['api', '{{#imports}}', '{{#sortedImports}}'],
  ];
  for (const [index, [template, old, fresh]] of changes.entries()) {
    const path = `${cwd}/templates/${template}.mustache`;
    const files = { api: 41, enum: 63, model: 188, client: 1, auth: 1, paging: 12, errors: 2 }[template] ?? 1;
    const lines = files * (2 + (index % 3));
    const stat = ` ${files + 1} files changed, ${lines} insertions(+), ${Math.round(lines * 0.7)} deletions(-)`;
    const fails = index === 3 || index === 9;
    add(`
      READ ${path}
      {{>licence}}
      ${old}
      EDIT ${path}
      ${old}
      BECOMES
      ${fresh}
      RUN ./gradlew -q generate @${between(fresh, 24, 33).toFixed(1)}
      RUN git diff --stat | tail -1
      ${stat}
      `);
    if (fails) {
      const [wrong, right] = index === 3 ? ['UNKNOWN("")', 'UNKNOWN("");'] : ['Flow<', 'kotlinx.coroutines.flow.Flow<'];
      add(`
        RUN ./gradlew -q compileKotlin @38 !
        e: sdk/src/${index === 3 ? 'OrderState.kt:9:1 Expecting member' : 'Pager.kt:4:17 Unresolved: Flow'}
        EDIT ${path}
        ${wrong}
        BECOMES
        ${right}
        RUN ./gradlew -q generate @27
        RUN git diff --stat | tail -1
        ${stat}
        `);
    }
    const opening = index % 3 === 2 ? 'SAY Good. Commit, then the next template.\n' : '';
    add(`
      RUN ./gradlew -q compileKotlin @${between(`${fresh}k`, 36, 52).toFixed(1)}
      ${opening}RUN git commit -qam "templates: ${template} (${index + 1})" && git log --oneline -1
      ${hash(fresh)} templates: ${template} (${index + 1})
      `);
  }
  add(`
    SAY A second run must change nothing.
    RUN ./gradlew -q generate && git status --short @26
    RUN ./gradlew -q check @96
    SAY All points of #77 are in the templates, in ${changes.length} commits. The SDK compiles and its tests pass.
    `);
  const about = 'A generator is run again after each change of a template, with the size of the diff after it.';
  return { kind: 'healthy', name: 'kotlin-sdk-templates-and-generator', about, steps };
}

const LANGUAGES =
  `bg:Начало:Запази:дни cs:Domů:Uložit:dní da:Hjem:Gem:dage de:Start:Speichern:Tage el:Αρχική:Αποθήκευση:ημέρες
es:Inicio:Guardar:días et:Avaleht:Salvesta:päeva fi:Etusivu:Tallenna:päivää fr:Accueil:Enregistrer:jours
ga:Baile:Sábháil:lá hr:Početna:Spremi:dana hu:Kezdőlap:Mentés:nap is:Heim:Vista:dagar it:Inizio:Salva:giorni
ja:ホーム:保存:日 ko:홈:저장:일 lt:Pradžia:Įrašyti:dienos lv:Sākums:Saglabāt:dienas mt:Dar:Issejvja:ġranet
nb:Hjem:Lagre:dager nl:Start:Opslaan:dagen pl:Start:Zapisz:dni pt:Início:Guardar:dias ro:Acasă:Salvează:zile
ru:Главная:Сохранить:дней sk:Domov:Uložiť:dní sl:Domov:Shrani:dni sv:Hem:Spara:dagar tr:Giriş:Kaydet:gün
uk:Головна:Зберегти:днів`
    .split(/\s+/)
    .map((row) => row.split(':'))
    .map(([code = '', home = '', save = '', days = '']) => ({ code, home, save, days }));

/* Thirty translations: two keys are renamed and one is new in each; then the page of the docs about it. */
function translationStory(): HealthyStory {
  const keys = 'nav.home → menu.home, btn.save → action.save';
  const steps = transcript(`
    PROMPT Rename keys in all locales/*.json (${keys}), add "trial.left" to each, and document how it is done.
    RUN ls locales/*.json | wc -l && jq -r 'keys|length' locales/en.json
    31
    412
    EDIT /home/sanna/klubb/locales/en.json
    "nav.home": "Home",
    BECOMES
    "menu.home": "Home",
      "trial.left": "{n} days",
    RUN npm run -s i18n:check 2>&1 | tail -1 @2.1 !
    30 of 31 locales differ from en
    `);
  const add = adding(steps);
  for (const [index, { code, home, save, days }] of LANGUAGES.entries()) {
    const path = `/home/sanna/klubb/locales/${code}.json`;
    const order = index % 11 === 7 ? `"nav.home" : "${home}",` : `"nav.home": "${home}",`;
    if (index % 10 === 0) add(`RUN git status --short | wc -l\n${index + 1}`);
    add(`
      READ ${path}
      {
        ${order}
        "btn.save": "${save}",
        "club.members": "{n} · ${code}",
      ${index % 6 === 2 ? 'SAY Next language.\n' : ''}EDIT ${path}
      ${order}
      BECOMES
      "menu.home": "${home}",
        "trial.left": "{n} ${days}",${code === 'ja' ? ',' : ''}
      ALSO EDIT ${path}
      "btn.save"
      BECOMES
      "action.save"
      `);
    if (index === 14) {
      add(`
        RUN jq -e . locales/ja.json > /dev/null !5
        jq: parse error: Expected separator between values at line 4, column 18
        EDIT ${path}
        "trial.left": "{n} ${days}",,
        BECOMES
        "trial.left": "{n} ${days}",
        `);
    }
    add(`RUN jq -e 'keys|length' locales/${code}.json\n413`);
    if (index % 5 === 4) {
      const left = LANGUAGES.length - index - 1;
      const text = left === 0 ? 'all 31 locales agree' : `${left} of 31 locales differ from en`;
      add(`RUN npm run -s i18n:check 2>&1 | tail -1 @2.2${left === 0 ? '' : ' !'}\n${text}`);
    }
  }
  add(`
    RUN grep -rnE "nav\\.home|btn\\.save" src | wc -l
    9
    RUN grep -rlE "nav\\.home|btn\\.save" src | xargs sed -i 's/nav\\.home/menu.home/g; s/btn\\.save/action.save/g'
    RUN grep -rnE "nav\\.home|btn\\.save" src | wc -l
    0
    `);
  const texts = [
    'Add it to en.json.',
    'Change it in all files at once.',
    'Use {n} and ICU.',
    'Write to i18n@.',
    'Run it.',
  ];
  for (const [index, part] of [
    'Adding a key',
    'Renaming a key',
    'Plurals',
    'Asking a translator',
    'Checks',
  ].entries()) {
    add(`
      EDIT /home/sanna/klubb/docs/translations.md
      <!-- more -->
      BECOMES
      ## ${part}

      ${at(texts, index)}

      <!-- more -->
      ${index === 2 ? 'SAY And how it looks:\n' : ''}RUN npx markdownlint docs/translations.md @1.1
      `);
  }
  add(`
    RUN npx prettier --check locales docs @1.9
    All matched files use Prettier code style!
    RUN npm run -s i18n:check && npm test 2>&1 | tail -1 @19
    all 31 locales agree
    Tests: 166 passed, 166 total
    SAY Both keys are renamed in 31 locales and nine places of the code, trial.left is in 30 languages (please let
    native speakers look at ga and mt), and docs/translations.md tells how.
    `);
  const about = 'Keys are renamed and added in thirty JSON files, then a page of documentation is written.';
  return { kind: 'healthy', name: 'thirty-locales-with-renamed-keys', about, steps };
}

/* Twelve questions of a person in one session. */
function questionStory(): HealthyStory {
  const cwd = '/srv/code/parcelo';
  const route = `export const router = Router();
router.post('/parcels', auth('write'), create);
router.get('/parcels/:id', auth('read'), show);`;
  const steps = transcript(`
    PROMPT I am new here. What does this service do?
    READ ${cwd}/README.md
    # parcelo
    Takes parcels from shops, chooses a carrier and prints the label.
    ALSO RUN ls ${cwd}/src
    carriers  db  http  labels  queue  server.ts
    SAY It takes parcels from shops over HTTP, chooses a carrier, and prints labels from a queue (src/queue,
    src/labels).
    PROMPT Where are the routes?
    CALL Grep {"pattern":"router\\\\.(get|post)","path":"${cwd}/src","output_mode":"files_with_matches"}
    Found 1 file
    src/http/routes.ts
    READ ${cwd}/src/http/routes.ts
    ${route}
    SAY All in src/http/routes.ts: one to create a parcel, one to show it.
    PROMPT who may call POST /parcels?
    READ ${cwd}/src/http/routes.ts
    ${route}
    READ ${cwd}/src/http/auth.ts
    export const auth = (scope: Scope) => (req, res, next) =>
      req.key?.scopes.includes(scope) ? next() : res.sendStatus(403);
    SAY Whoever has an API key with the scope \`write\`; the others get a 403.
    PROMPT And how do I get such a key locally?
    CALL Grep {"pattern":"scopes","path":"${cwd}","glob":"*.{ts,sql,md}","output_mode":"content"}
    db/seed.sql:4:insert into api_keys values ('dev', '{read,write}');
    SAY The seed makes one called \`dev\` with both scopes. \`npm run db:seed\`, then send \`x-api-key: dev\`.
    PROMPT it says 403
    RUN curl -s -o /dev/null -w '%{http_code}' -XPOST -H 'x-api-key: dev' localhost:8080/parcels -d '{}' @0.2
    403
    RUN docker compose exec -T db psql -U parcelo -c 'select * from api_keys' @0.9
     id | scopes
    ----+--------
    (0 rows)
    SAY The table is empty: the seed has not run. Please run \`npm run db:seed\`, or shall I?
    PROMPT yes do it
    RUN npm run -s db:seed @2.4
    INSERT 0 1
    RUN curl -s -o /dev/null -w '%{http_code}' -XPOST -H 'x-api-key: dev' localhost:8080/parcels -d '{}' @0.2
    422
    SAY Done. 422 now, which is right: the body \`{}\` is no parcel.
    PROMPT what is a valid body
    RUN sed -n '/parcelSchema/,/});/p' src/http/schema.ts
    export const parcelSchema = z.object({
      to: address, grams: z.number().int().max(31500), service: z.enum(['std', 'exp']),
    });
    SAY An address in \`to\`, the weight in \`grams\` (at most 31,500) and \`service\`: "std" or "exp".
    PROMPT Do the tests pass for you?
    RUN npm test 2>&1 | tail -3 @17
    Tests: 1 failed, 231 passed, 232 total
    RUN npm test 2>&1 | tail -3 @16.4
    Tests: 232 passed, 232 total
    RUN npm test 2>&1 | tail -3 @16.8
    Tests: 232 passed, 232 total
    SAY In two of three runs. One test failed in the first run; it seems flaky.
    PROMPT which one? try some more
    `);
  const add = adding(steps);
  for (let run = 1; run <= 8; run++) {
    const failed = run === 3 || run === 8;
    const result = failed ? '✕ labels › prints in the order of the queue (412 ms)' : '';
    add(`RUN npx jest 2>&1 | grep ✕ @${between(`q${run}`, 16, 18).toFixed(1)}${failed ? '' : ' !'}\n${result}`);
  }
  add(`
    SAY "labels › prints in the order of the queue", in 2 of 8 runs.
    PROMPT fix it pls
    READ ${cwd}/test/labels.test.ts
    await Promise.all([queue.add('a'), queue.add('b')]);
    expect(printed).toEqual(['a', 'b']);
    EDIT ${cwd}/test/labels.test.ts
    await Promise.all([queue.add('a'), queue.add('b')]);
    BECOMES
    await queue.add('a');
    await queue.add('b');
    RUN for i in $(seq 20); do npx jest test/labels 2>&1 | grep -c ✕; done | sort | uniq -c @44
         20 0
    SAY The test added both at once and expected an order. It adds one after the other now: 20 of 20 runs pass.
    PROMPT Can you go through the diff of Marek's branch before I approve? It is big.
    RUN git fetch -q origin && git diff --stat origin/main...origin/marek/carriers | tail -1 @2.2
     24 files changed, 1630 insertions(+), 402 deletions(-)
    `);
  const carriers = 'dhl ups gls dpd postnl bpost inpost correos ctt posti evri seur'.split(' ');
  for (const carrier of carriers) {
    const lines = Math.floor(between(carrier, 40, 120));
    const timeout = carrier === 'evri' ? '' : ', { timeout: 4000 }';
    add(`
      RUN git diff origin/main...origin/marek/carriers -- src/carriers/${carrier}.ts
      @@ -1,${lines >> 2} +1,${lines} @@
      +export const ${carrier}: Carrier = { maxGrams: ${lines * 250}, services: ['std', 'exp'], quote };
      +const quote = (parcel: Parcel) => get('/${carrier}/quote', parcel${timeout});
      `);
    if (lines % 3 === 0)
      add(
        `RUN git diff origin/main...origin/marek/carriers -- test/carriers/${carrier}.test.ts | grep -c '^+'\n${lines}`,
      );
  }
  add(`
    SAY Twelve carriers of the same form, with tests. One remark: evri.ts asks without a timeout, unlike the others.
    PROMPT Thanks! Write that as a comment, do not approve.
    RUN gh pr comment 91 --body "evri.ts: quote() has no timeout; the other carriers have 4000 ms." @1.6
    https://github.com/parcelo/parcelo/pull/91#issuecomment-2291
    SAY Written; not approved.
    `);
  const about = 'A person asks a dozen questions in one session; files are read again and tests run again for them.';
  return { kind: 'healthy', name: 'newcomer-with-twelve-questions', about, steps };
}

/* A list of things to do: a commit after each, many looks at the status, and the file read again before each edit. */
function todoStory(): HealthyStory {
  const path = '/home/ewa/notatki/src/app.rs';
  const tasks: readonly (readonly [title: string, old: string, fresh: string])[] = [
    ['quit on Ctrl-Q', 'KeyCode::Esc => quit(),', 'KeyCode::Esc | ctrl!(q) => quit(),'],
    [
      'ask before quitting unsaved',
      'fn quit(&mut self) {',
      'fn quit(&mut self) {\n    if self.dirty && !self.confirm() { return }',
    ],
    ['show the word count', 'let bar = vec![self.name()];', 'let bar = vec![self.name(), self.words()];'],
    ['wrap long lines', 'Paragraph::new(text)', 'Paragraph::new(text).wrap(Wrap { trim: false })'],
    [
      'search with /',
      "KeyCode::Char('n') => self.next(),",
      "KeyCode::Char('/') => self.search(),\nKeyCode::Char('n') => self.next(),",
    ],
    ['highlight hits', 'Span::raw(line)', 'self.highlight(line)'],
    ['save by rename', 'fs::write(&self.path, text)?;', 'fs::write(&tmp, text)?;\nfs::rename(&tmp, &self.path)?;'],
    ['keep the cursor of a file', 'cursor: 0,', 'cursor: state.cursor_of(&path),'],
    [
      'list of recent files',
      'Screen::Edit => self.edit(),',
      'Screen::Edit => self.edit(),\nScreen::Recent => self.recent(),',
    ],
    ['theme from the config', 'Color::Blue', 'self.config.theme.accent'],
    ['undo', 'self.text.insert(at, c);', 'self.undo.push(&self.text);\nself.text.insert(at, c);'],
    ['redo', 'ctrl!(z) => self.undo(),', 'ctrl!(z) => self.undo(),\nctrl!(y) => self.redo(),'],
    [
      'bracketed paste',
      'Event::Key(key) => self.key(key),',
      'Event::Key(key) => self.key(key),\nEvent::Paste(s) => self.paste(&s),',
    ],
    [
      'help with ?',
      'Screen::Recent => self.recent(),',
      'Screen::Recent => self.recent(),\nScreen::Help => self.help(),',
    ],
    ['version flag', 'let args = Args::parse();', 'let args = Args::parse(); // clap gives --version'],
  ];
  const missing: Readonly<Record<number, readonly [error: string, place: string, added: string]>> = {
    2: [
      'error[E0599]: no method named `words` found',
      'impl App {',
      'fn words(&self) -> Span { count(&self.text).into() }',
    ],
    6: ['error[E0425]: cannot find value `tmp`', 'fn save(&self) {', 'let tmp = self.path.with_extension("tmp");'],
    10: ['error[E0609]: no field `undo` on type `&mut App`', 'struct App {', 'undo: Undo,'],
  };
  const todos = (done: number): string => {
    const status = (index: number): string => (index < done ? 'completed' : index === done ? 'in_progress' : 'pending');
    const list = tasks.map(([content], index) => ({ content, status: status(index) }));
    return `CALL TodoWrite ${JSON.stringify({ todos: list })}
Todos have been modified successfully. Ensure that you continue to use the todo list to track your progress.`;
  };
  const steps = transcript(`
    PROMPT Work through TODO.md from top to bottom, with a commit after each point.
    READ /home/ewa/notatki/TODO.md
    ${tasks.map(([title]) => `- [ ] ${title}`).join('\n')}
    RUN git status
    On branch main
    nothing to commit, working tree clean
    ${todos(0)}
    `);
  const add = adding(steps);
  for (const [index, [title, old, fresh]] of tasks.entries()) {
    const changed = `On branch main
Changes not staged for commit:
	modified:   src/app.rs

no changes added to commit (use "git add" and/or "git commit -a")`;
    const before = tasks.slice(Math.max(0, index - 3), index).map((task) => task[2]);
    const source = ['impl App {', ...before, old, '}'].join('\n');
    steps.push(...transcript(`${index % 3 === 1 ? `SAY Now: ${title}.\n` : ''}READ ${path}\n${source}`));
    add(`EDIT ${path}\n${old}\nBECOMES\n${fresh}`);
    const [error, place, added] = missing[index] ?? [];
    if (error !== undefined) {
      add(`
        RUN cargo check -q @${between(`${title}c`, 2, 5).toFixed(1)} !101
        ${error}
          --> src/app.rs:${88 + index * 7}:13
        READ ${path}
        ${source.replace(old, fresh)}
        EDIT ${path}
        ${place}
        BECOMES
        ${place}
            ${added}
        `);
    }
    add(`
      RUN git status
      ${changed}
      RUN git diff --stat
       src/app.rs | ${3 + (index % 4)} ++-
       1 file changed, ${2 + (index % 4)} insertions(+), 1 deletion(-)
      `);
    steps.push(turn(bash('cargo check -q', '', { secs: between(title, 2, 6) })));
    add(`
      RUN cargo test -q 2>&1 | tail -2 @${between(`${title}t`, 6, 14).toFixed(1)}
      test result: ok. ${57 + index} passed; 0 failed; 0 ignored; 0 measured; 0 filtered out
      RUN git add -A && git commit -m "${title}"
      [main ${hash(title)}] ${title}
       1 file changed, ${2 + (index % 4)} insertions(+), 1 deletion(-)
      RUN git status
      On branch main
      nothing to commit, working tree clean
      ${todos(index + 1)}
      `);
  }
  add(`
    RUN sed -i 's/\\[ \\]/[x]/' TODO.md && cargo fmt && git commit -qam "All points are done" && git status --short @0.9
    RUN git log --oneline | head -3
    ${hash('todo-end')} All points are done
    ${hash('version flag')} version flag
    ${hash('help with ?')} help with ?
    SAY All ${tasks.length} points of TODO.md are done, each in its own commit; the tests pass after every one.
    `);
  const about = 'A list of fifteen points is worked off, with the same file read, checked and committed for each.';
  return { kind: 'healthy', name: 'todo-list-with-a-commit-per-point', about, steps };
}

/** The small work of every day. */
export const everydayStories: readonly HealthyStory[] = [
  generatorStory(),
  translationStory(),
  questionStory(),
  todoStory(),
];
