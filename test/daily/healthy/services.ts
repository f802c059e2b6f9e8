import type { HealthyStory, StoryStep } from '../story.ts';
import { adding, at, between, hash, transcript } from './refactorings.ts';

const json = (value: object): string => JSON.stringify(value);

const SUBJECTS = `Cannot log in after password reset;Invoice shows the wrong VAT id;Export stuck at 0 %;
Please delete my account;App crashes on Android 15;How do I add a second user?;Charged twice in March;
Dark mode unreadable in reports;Refund still missing;API returns 429 since Monday;Webhook signature does not match;
Two-factor code never arrives;Typo on pricing page;CSV import drops umlauts;Can I pay by SEPA?;
Calendar sync shows UTC;Login loop in Safari;Feature request: tags;Spam sent from our form;Change of company name;
Print layout cuts off totals;SSO with Entra fails;Trial ended too early;Lost all filters;Cannot upload PDF over 10 MB;
Where is my receipt?;Permission denied for viewer role;Duplicate contacts after import;Mobile push comes twice;
Broken link in newsletter;Upgrade button greyed out;Search finds nothing;Time zone of reminders wrong;
Cancel subscription;Is there an EU region?;Slow dashboard every morning;Wrong currency on quote;
Attachment missing in mail;Rate limit too low for us;Thank you!`
  .replaceAll('\n', '')
  .split(';');

/* Forty tickets, then the mails and appointments that follow from them. */
function ticketStory(): HealthyStory {
  const steps = transcript(`
    PROMPT Triage all open tickets (queue, priority), answer the ones about billing by a draft, and book slots for bugs.
    CALL mcp__desk__list_tickets {"status":"open","limit":50} @1.3
    ${json({ total: SUBJECTS.length, ids: SUBJECTS.map((_, index) => 70_310 + index) })}
    `);
  const add = adding(steps);
  for (const [index, subject] of SUBJECTS.entries()) {
    const id = 70_310 + index;
    const billing = /invoice|charged|refund|pay|receipt|currency|cancel|trial/i.test(subject);
    const bug = /crash|stuck|loop|wrong|fails|missing|never|drops|twice|not match/i.test(subject);
    const queue = billing ? 'billing' : bug ? 'engineering' : 'support';
    const priority = /crash|log in|loop|SSO|twice|Spam/i.test(subject) ? 'high' : bug ? 'normal' : 'low';
    const ticket = { id, subject, from: `${hash(subject).slice(0, 4)}@customer.example`, messages: 1 + (index % 3) };
    const secs = between(subject, 0.2, 0.7).toFixed(2);
    const update = `CALL mcp__desk__update_ticket ${json({ id, queue, priority })} @${secs}\nok`;
    const say = at(['', '', 'Next ticket.', '', '', '', `${queue}, ${priority}.`], index);
    add(`
      CALL mcp__desk__get_ticket {"id":${id}} @0.4
      ${json(ticket)}
      ${say === '' ? '' : `SAY ${say}\n`}${update}
      `);
    if (index === 23) {
      add(`
        SAY That one should be engineering; filters are stored on the server.
        CALL mcp__desk__update_ticket ${json({ id, queue: 'engineering', priority: 'normal' })} @0.4
        ok
        `);
    }
    if (billing) {
      const text = `Hello, thank you for writing about "${subject}". We look at your account and answer by tomorrow.`;
      add(`CALL mcp__mail__create_draft ${json({ to: ticket.from, re: id, text })} @0.9\n{"status":"draft saved"}`);
    }
  }
  const days = ['2025-05-12', '2025-05-13', '2025-05-14'];
  for (const date of days) {
    const events = [
      { at: '09:30', title: 'Stand-up' },
      { at: '14:00', title: at(['Retro', 'Planning', '1:1'], days.indexOf(date)) },
    ];
    add(`CALL mcp__calendar__list_events {"date":"${date}"} @0.5\n${json(events)}`);
    for (const start of ['10:00', '10:30', '11:00', '15:00']) {
      add(`CALL mcp__calendar__create_event ${json({ date, start, minutes: 30, title: 'Bug slot' })} @0.6\nok`);
    }
  }
  add(`
    CALL mcp__desk__count {"status":"open","queue":null} @0.3
    0
    SAY All 40 tickets have a queue and a priority, the drafts for billing are in your mail (none is sent), and
    twelve bug
    slots of half an hour are in the calendar from Monday to Wednesday.
    `);
  const about =
    'Forty tickets are triaged through an MCP server that always answers ok, then drafts and appointments follow.';
  return { kind: 'healthy', name: 'forty-tickets-with-drafts-and-slots', about, steps };
}

/* A form of a shop, worked on with a browser. */
function browserStory(): HealthyStory {
  const url = 'http://localhost:5173';
  const css = '/home/aino/shop/src/checkout/checkout.css';
  const steps = transcript(`
    PROMPT The checkout looks wrong on phones: see the screenshots in #412. Fix it and check every step in the browser.
    RUN npm run dev -- --port 5173 > /tmp/vite.log 2>&1 & sleep 3; tail -2 /tmp/vite.log @3.2
      ➜  Local:   http://localhost:5173/
    CALL mcp__playwright__browser_resize {"width":390,"height":844} @0.2
    ### Ran Playwright code
    CALL mcp__playwright__browser_navigate {"url":"${url}/checkout"} @1.9
    - Page URL: ${url}/checkout
    - Page Title: Checkout
    `);
  const add = adding(steps);
  const shot = (name: string): string => `
    CALL mcp__playwright__browser_take_screenshot {"filename":"${name}.png"} @0.6
    Took the viewport screenshot and saved it as /tmp/playwright-output/${name}.png`;
  const fixes: readonly (readonly [place: string, old: string, fresh: string])[] = [
    ['The summary covers the button.', '.summary { position: fixed; }', '.summary { position: static; }'],
    ['The row of the card is too wide.', '.card-row { width: 420px; }', '.card-row { width: 100%; }'],
    ['The labels are cut off.', 'label { white-space: nowrap; }', 'label { white-space: normal; }'],
    ['Better, but the gap is gone.', '.field + .field { margin: 0; }', '.field + .field { margin-top: 12px; }'],
    ['Still two pixels of horizontal scrolling.', '.page { width: 100vw; }', '.page { width: 100%; }'],
    ['The total should stay in one line.', '.total { flex-wrap: wrap; }', '.total { flex-wrap: nowrap; }'],
    ['The keyboard hides the field.', 'html { height: 100vh; }', 'html { height: 100dvh; }'],
    ['The error text jumps.', '.error { display: none; }', '.error { visibility: hidden; }'],
  ];
  for (const [index, [place, old, fresh]] of fixes.entries()) {
    add(`${shot('checkout')}
    SAY ${place}
    EDIT ${css}
    ${old}
    BECOMES
    ${fresh}
    CALL mcp__playwright__browser_navigate {"url":"${url}/checkout"} @${between(place, 0.8, 1.6).toFixed(1)}
    - Page URL: ${url}/checkout
    - Page Title: Checkout
    `);
    if (index % 3 === 1) {
      add(`
        CALL mcp__playwright__browser_evaluate {"function":"() => document.documentElement.scrollWidth"} @0.2
        ${[0, 424, 0, 0, 392, 0, 0, 390][index]}
        `);
    }
  }
  const fields = [
    ['Name', 'Aino Test'],
    ['Street', 'Kauppakatu 5'],
    ['Postcode', '40100'],
    ['City', 'Jyväskylä'],
  ] as const;
  for (const [round, width] of [390, 360, 768, 1280].entries()) {
    const opening = round === 0 ? 'SAY Now the way through the whole checkout, in four widths.\n' : '';
    add(`
      ${opening}CALL mcp__playwright__browser_resize {"width":${width},"height":844} @0.2
      ### Ran Playwright code
      CALL mcp__playwright__browser_navigate {"url":"${url}/checkout"} @1.1
      - Page URL: ${url}/checkout
      - Page Title: Checkout
      CALL mcp__playwright__browser_snapshot {} @0.3
      - main: - textbox "Name" [ref=e12] - textbox "Street" [ref=e15] - button "Continue" [ref=e31]
      `);
    for (const [index, [element, text]] of fields.entries()) {
      const input = { element, ref: `e${12 + index * 3}`, text };
      add(
        `CALL mcp__playwright__browser_type ${json(input)} @0.3\n### Ran Playwright code\nawait page.fill('${text}')`,
      );
    }
    for (const [rank, next] of ['Continue to delivery', 'Continue to payment', 'Place order'].entries()) {
      add(`
        CALL mcp__playwright__browser_click {"element":"${next}","ref":"e${31 + rank}"} @${(0.3 + rank / 4).toFixed(1)}
        ### Ran Playwright code
        CALL mcp__playwright__browser_snapshot {} @0.3
        - main: - heading "${at(['Delivery', 'Payment', 'Thank you'], rank)}" [level=1] [ref=e${41 + rank}]
        `);
      add(shot(`step-${rank + 2}`));
    }
  }
  add(`
    CALL mcp__playwright__browser_console_messages {} @0.2
    [LOG] [vite] connected.
    RUN npm run lint:css && git diff --stat @4.4
     src/checkout/checkout.css | 16 ++++++++--------
     1 file changed, 8 insertions(+), 8 deletions(-)
    CALL mcp__playwright__browser_close {} @0.2
    No open tabs.
    SAY Eight rules in checkout.css were wrong. The checkout can be walked through to "Thank you" at 390, 360, 768
    and 1280
    pixels, without horizontal scrolling and without messages in the console.
    `);
  const about =
    'A form is mended with a browser server: the same page and screenshot after each edit, then four walks through.';
  return { kind: 'healthy', name: 'phone-checkout-in-the-browser', about, steps };
}

/* A Sokoban level with a known solution. */
const LEVEL = ['########', '#  ....#', '#   # ##', '## $ $ #', '#  #   #', '# $  $@#', '#   #  #', '########'];
const SOLUTION = 'uluudlddldluuurlururrlldllurrddrdruudrddllldluuuulur';

/* Two puzzles played by moves: Hanoi with six discs, then Sokoban. */
function puzzleStory(): HealthyStory {
  const steps: StoryStep[] = transcript(`
    PROMPT Solve the two puzzles of the puzzle server: "hanoi-6" and then "sokoban-12". One move per call, no shortcuts.
    CALL mcp__puzzles__open {"puzzle":"hanoi-6"} @0.2
    Pegs A, B, C. Six discs on A. Bring all to C. Moves are answered with ok or illegal.
    `);
  const add = adding(steps);
  const pegs: Record<string, number[]> = { A: [6, 5, 4, 3, 2, 1], B: [], C: [] };
  let moves = 0;
  const move = (count: number, from: string, to: string, over: string): void => {
    if (count === 0) return;
    move(count - 1, from, over, to);
    const disc = pegs[from]?.pop() ?? 0;
    pegs[to]?.push(disc);
    moves++;
    const say = moves === 1 ? 'SAY An even number of discs: the smallest goes to B first.\n' : '';
    const show = moves % 16 === 0 ? `\nCALL mcp__puzzles__show {} @0.1\n${json(pegs)}` : '';
    add(`${say}CALL mcp__puzzles__move {"from":"${from}","to":"${to}"} @0.1\nok${show}`);
    move(count - 1, over, to, from);
  };
  move(6, 'A', 'C', 'B');
  add(`
    CALL mcp__puzzles__show {} @0.1
    ${json({ ...pegs, solved: true, moves })}
    SAY Hanoi is solved in 63 moves, the least possible. Now Sokoban.
    CALL mcp__puzzles__open {"puzzle":"sokoban-12"} @0.2
    ${LEVEL.join('\n')}
    `);
  const board = LEVEL.map((line) => [...line]);
  const goals = new Set(
    LEVEL.flatMap((line, y) => [...line].flatMap((cell, x) => ('.*+'.includes(cell) ? [`${x},${y}`] : []))),
  );
  let y = board.findIndex((line) => line.includes('@'));
  let x = board[y]?.indexOf('@') ?? 0;
  const put = (atX: number, atY: number, cell: string): void => {
    const row = board[atY];
    if (row !== undefined) row[atX] = goals.has(`${atX},${atY}`) ? at(['.', '*', '+'], ' $@'.indexOf(cell)) : cell;
  };
  for (const [index, letter] of [...SOLUTION].entries()) {
    const [dx, dy, direction] = { l: [-1, 0, 'left'], r: [1, 0, 'right'], u: [0, -1, 'up'], d: [0, 1, 'down'] }[
      letter
    ] as [number, number, string];
    const pushed = '$*'.includes(board[y + dy]?.[x + dx] ?? '#');
    if (pushed) put(x + 2 * dx, y + 2 * dy, '$');
    put(x, y, ' ');
    x += dx;
    y += dy;
    put(x, y, '@');
    add(`CALL mcp__puzzles__move {"direction":"${direction}"} @0.1\n${pushed ? 'pushed' : 'ok'}`);
    if (index % 18 === 17) add(`CALL mcp__puzzles__show {} @0.1\n${board.map((line) => line.join('')).join('\n')}`);
  }
  add(`
    CALL mcp__puzzles__show {} @0.1
    ${board.map((line) => line.join('')).join('\n')}
    solved in ${SOLUTION.length} moves
    SAY Both are solved: hanoi-6 in 63 moves and sokoban-12 in ${SOLUTION.length}.
    `);
  const about = 'Two puzzles are solved by single moves that are answered with one word.';
  return { kind: 'healthy', name: 'hanoi-and-sokoban-move-by-move', about, steps };
}

const REGIONS = [
  'Benelux',
  'DACH',
  'Nordics',
  'France',
  'Iberia',
  'Italy',
  'UK and Ireland',
  'Poland',
  'Baltics',
  'Czechia',
];
const SHEETS = ['Revenue', 'Orders', 'Churn', 'Headcount'] as const;

/* A quarterly report in a spreadsheet, written region by region with the same confirmation each time. */
function reportStory(): HealthyStory {
  const steps = transcript(`
    PROMPT Build the Q1 report in the sheet "Q1 2025": a tab per topic, a block per region, a comment on each, then
    slides.
    CALL mcp__sheets__create_spreadsheet {"title":"Q1 2025"} @1.8
    {"id":"1xQ9-b","url":"https://sheets.example/1xQ9-b"}
    `);
  const add = adding(steps);
  for (const [tab, sheet] of SHEETS.entries()) {
    add(`CALL mcp__sheets__add_tab {"id":"1xQ9-b","title":"${sheet}"} @0.9\nTab added.`);
    for (const [index, region] of REGIONS.entries()) {
      const months = ['Jan', 'Feb', 'Mar'].map((month) => Math.round(between(sheet + region + month, 40, 990)));
      const asked = json({ metric: sheet.toLowerCase(), region, quarter: '2025Q1' });
      const read = `CALL mcp__warehouse__metric ${asked} @1.4\n${json(months)}`;
      const range = `${sheet}!A${2 + index * 4}:D${4 + index * 4}`;
      const change = Math.round(((months[2] ?? 0) / (months[0] ?? 1) - 1) * 100);
      const values = [
        [region, ...months],
        ['change', '', '', `${change} %`],
      ];
      const say = index === 0 && tab > 0 ? `SAY Now ${sheet}.\n` : '';
      add(`
        ${say}${read}
        CALL mcp__sheets__update_range ${json({ id: '1xQ9-b', range, values })} @${between(range, 0.6, 1.5).toFixed(1)}
        Range updated.
        `);
      if (tab === 2 && index === 5) {
        add(`
          CALL mcp__sheets__update_range ${json({ id: '1xQ9-b', range: 'Churn!F1', values: [['in percent']] })} @30 !
          429 Quota exceeded for quota metric 'Write requests' per minute
          RUN sleep 60 @60
          CALL mcp__sheets__update_range ${json({ id: '1xQ9-b', range: 'Churn!F1', values: [['in percent']] })} @0.9
          Range updated.
          `);
      }
    }
    add(
      `CALL mcp__sheets__format {"id":"1xQ9-b","tab":"${sheet}","bold":"A:A","number":"#,##0"} @0.7\nFormat applied.`,
    );
  }
  for (const [index, region] of REGIONS.entries()) {
    const remark = at(['a steady quarter', 'a weak January, then growth', 'fewer, larger orders', 'more churn'], index);
    const text = `${region}: ${remark}.`;
    add(`CALL mcp__slides__append_section ${json({ deck: 'q1', title: region, text })} @1.2\nSection added.`);
  }
  add(`
    CALL mcp__sheets__get_range {"id":"1xQ9-b","range":"Revenue!A1:D41"} @0.8
    {"rows":40,"empty":0}
    SAY The sheet "Q1 2025" has four tabs with ten regions each, and the deck has a section for every region.
    `);
  const about = 'A report of forty blocks is written into a spreadsheet; every write is confirmed by the same words.';
  return { kind: 'healthy', name: 'quarterly-sheet-region-by-region', about, steps };
}

/** Work through MCP servers. */
export const serviceStories: readonly HealthyStory[] = [ticketStory(), browserStory(), puzzleStory(), reportStory()];
