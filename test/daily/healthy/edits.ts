import type { HealthyStory } from '../story.ts';
import { bash, edit, read, turn, write } from '../story.ts';

// ---- twelve one-line edits of one Python file ----

const INVOICES = '/home/mara/code/ledgerly/billing/invoices.py';

const INVOICES_SOURCE = `"""Invoices: numbers, totals, due dates, reminders."""
from datetime import date, timedelta
from decimal import Decimal

from billing.models import Customer, Invoice, Line

TAX = Decimal("0.19")


def next_number(last):
    prefix, count = last.rsplit("-", 1)
    return f"{prefix}-{int(count) + 1:05d}"


def line_total(line):
    return (line.price * line.quantity).quantize(Decimal("0.01"))


def net_total(lines):
    return sum((line_total(line) for line in lines), Decimal(0))


def tax_of(net, rate=TAX):
    return (net * rate).quantize(Decimal("0.01"))


def due_date(issued, days=14):
    due = issued + timedelta(days=days)
    return due + timedelta(days=max(0, 7 - due.isoweekday())) if due.isoweekday() > 5 else due


def is_overdue(invoice, today):
    return invoice.paid_on is None and invoice.due < today


def overdue(invoices, today):
    return [one for one in invoices if is_overdue(one, today)]


def by_customer(invoices):
    groups: dict[int, list[Invoice]] = {}
    for one in invoices:
        groups.setdefault(one.customer.id, []).append(one)
    return groups


def reminder_level(invoice, today):
    late = (today - invoice.due).days
    return 0 if late <= 0 else min(3, 1 + late // 14)


def reminder_fee(level):
    return {0: Decimal(0), 1: Decimal(0), 2: Decimal("2.50")}.get(level, Decimal("7.50"))


def address_block(customer):
    return "\\n".join(filter(None, [customer.name, customer.street, f"{customer.zip} {customer.city}"]))


def find_line(invoice, sku):
    return next((line for line in invoice.lines if line.sku == sku), None)
`;

const SIGNATURES: readonly (readonly [string, string, string?])[] = [
  ['def next_number(last):', 'def next_number(last: str) -> str:', "I'll annotate the functions from top to bottom."],
  ['def line_total(line):', 'def line_total(line: Line) -> Decimal:'],
  ['def net_total(lines):', 'def net_total(lines: list[Line]) -> Decimal:'],
  ['def tax_of(net, rate=TAX):', 'def tax_of(net: Decimal, rate: Decimal = TAX) -> Decimal:'],
  ['def due_date(issued, days=14):', 'def due_date(issued: date, days: int = 14) -> date:', 'Next, the dates.'],
  ['def is_overdue(invoice, today):', 'def is_overdue(invoice: Invoice, today: date) -> bool:'],
  ['def overdue(invoices, today):', 'def overdue(invoices: list[Invoice], today: date) -> list[Invoice]:'],
  ['def by_customer(invoices):', 'def by_customer(invoices: list[Invoice]) -> dict[int, list[Invoice]]:'],
  ['def reminder_level(invoice, today):', 'def reminder_level(invoice: Invoice, today: date) -> int:'],
  ['def reminder_fee(level):', 'def reminder_fee(level: int) -> Decimal:'],
  ['def address_block(customer):', 'def address_block(customer: Customer) -> str:', 'Two are left.'],
  ['def find_line(invoice, sku):', 'def find_line(invoice: Invoice, sku: str) -> Line | None:'],
];

const untypedLines = INVOICES_SOURCE.split('\n').flatMap((line, at) => (line.startsWith('def ') ? [at + 1] : []));

const oneLineEdits: HealthyStory = {
  kind: 'healthy',
  name: 'twelve-one-line-edits-of-one-file',
  about: 'Type hints are added to the functions of a Python module, one line at a time.',
  steps: [
    { prompt: 'billing/invoices.py is the last module without type hints. Please make it pass mypy --strict.' },
    turn(
      'I will look at the module and at what mypy says about it.',
      read(INVOICES, INVOICES_SOURCE),
      bash(
        'mypy --strict billing/invoices.py',
        [
          'Exit code 1',
          ...untypedLines.map(
            (at) => `billing/invoices.py:${at}: error: Function is missing a type annotation  [no-untyped-def]`,
          ),
          `Found ${untypedLines.length} errors in 1 file (checked 1 source file)`,
        ].join('\n'),
        { ok: false, secs: 7.2 },
      ),
    ),
    ...SIGNATURES.map(([before, after, say]) => turn(...(say ? [say] : []), edit(INVOICES, before, after))),
    turn(
      'Now let me check the whole module again.',
      bash('mypy --strict billing/invoices.py', 'Success: no issues found in 1 source file', { secs: 4.8 }),
    ),
    turn('`billing/invoices.py` is fully typed now: all twelve functions have annotations and `mypy --strict` passes.'),
  ],
};

// ---- twelve edits of six lines each in one Go file ----

const HANDLERS = '/srv/build/parcelhub/internal/api/handlers.go';

interface Handler {
  readonly name: string;
  readonly arg: string;
  readonly call: string;
  readonly what: string;
  readonly key: string;
  readonly value: string;
  readonly status: string;
  readonly answer: string;
}

const HANDLER_LIST: readonly Handler[] = [
  {
    name: 'getParcel',
    arg: 'id := r.PathValue("id")',
    call: 'parcel, err := s.store.Parcel(r.Context(), id)',
    what: 'load parcel',
    key: 'parcel',
    value: 'id',
    status: 'StatusInternalServerError',
    answer: 'writeJSON(w, parcel)',
  },
  {
    name: 'listParcels',
    arg: 'depot := r.URL.Query().Get("depot")',
    call: 'parcels, err := s.store.ParcelsAt(r.Context(), depot)',
    what: 'list parcels',
    key: 'depot',
    value: 'depot',
    status: 'StatusInternalServerError',
    answer: 'writeJSON(w, parcels)',
  },
  {
    name: 'createParcel',
    arg: 'var in NewParcel',
    call: 'err := json.NewDecoder(r.Body).Decode(&in)',
    what: 'decode parcel',
    key: 'remote',
    value: 'r.RemoteAddr',
    status: 'StatusBadRequest',
    answer: 'writeJSON(w, s.store.Add(in))',
  },
  {
    name: 'track',
    arg: 'code := r.PathValue("code")',
    call: 'events, err := s.tracker.Events(r.Context(), code)',
    what: 'read tracking events',
    key: 'code',
    value: 'code',
    status: 'StatusBadGateway',
    answer: 'writeJSON(w, events)',
  },
  {
    name: 'label',
    arg: 'id := r.PathValue("id")',
    call: 'pdf, err := s.labels.Render(r.Context(), id)',
    what: 'render label',
    key: 'parcel',
    value: 'id',
    status: 'StatusInternalServerError',
    answer: 'writePDF(w, pdf)',
  },
  {
    name: 'quote',
    arg: 'form := quoteForm(r)',
    call: 'price, err := s.rates.Quote(form.From, form.To, form.Grams)',
    what: 'quote',
    key: 'from',
    value: 'form.From',
    status: 'StatusUnprocessableEntity',
    answer: 'writeJSON(w, price)',
  },
  {
    name: 'cancel',
    arg: 'id := r.PathValue("id")',
    call: 'refund, err := s.store.Cancel(r.Context(), id, s.clock.Now())',
    what: 'cancel parcel',
    key: 'parcel',
    value: 'id',
    status: 'StatusConflict',
    answer: 'writeJSON(w, refund)',
  },
  {
    name: 'depots',
    arg: 'country := r.PathValue("country")',
    call: 'depots, err := s.store.Depots(r.Context(), country)',
    what: 'list depots',
    key: 'country',
    value: 'country',
    status: 'StatusInternalServerError',
    answer: 'writeJSON(w, depots)',
  },
  {
    name: 'pickup',
    arg: 'slot := r.FormValue("slot")',
    call: 'booking, err := s.pickups.Book(r.Context(), slot)',
    what: 'book pickup',
    key: 'slot',
    value: 'slot',
    status: 'StatusConflict',
    answer: 'writeJSON(w, booking)',
  },
  {
    name: 'proof',
    arg: 'id := r.PathValue("id")',
    call: 'image, err := s.blobs.Get(r.Context(), "proof/"+id)',
    what: 'fetch proof of delivery',
    key: 'parcel',
    value: 'id',
    status: 'StatusNotFound',
    answer: 'writeImage(w, image)',
  },
  {
    name: 'webhook',
    arg: 'sig := r.Header.Get("X-Signature")',
    call: 'event, err := s.hooks.Verify(r.Body, sig)',
    what: 'verify webhook',
    key: 'remote',
    value: 'r.RemoteAddr',
    status: 'StatusUnauthorized',
    answer: 's.queue <- event',
  },
  {
    name: 'export',
    arg: 'month := r.PathValue("month")',
    call: 'rows, err := s.reports.Monthly(r.Context(), month)',
    what: 'export month',
    key: 'month',
    value: 'month',
    status: 'StatusInternalServerError',
    answer: 'writeCSV(w, rows)',
  },
];

const oldBlock = ({ call, what, value }: Handler): string => `	${call}
	if err != nil {
		log.Printf("${what} %s: %v", ${value}, err)
		http.Error(w, "internal error", 500)
		return
	}`;

const newBlock = ({ call, what, key, value, status }: Handler): string => `	${call}
	if err != nil {
		s.log.ErrorContext(r.Context(), "${what}", "${key}", ${value}, "err", err)
		writeProblem(w, http.${status}, "could not ${what}")
		return
	}`;

const HANDLERS_SOURCE = `package api

import (
	"encoding/json"
	"log"
	"net/http"
)

${HANDLER_LIST.map(
  (one) => `func (s *Server) ${one.name}(w http.ResponseWriter, r *http.Request) {
	${one.arg}
${oldBlock(one)}
	${one.answer}
}
`,
).join('\n')}`;

const HANDLER_TALK: Readonly<Record<string, string>> = {
  getParcel: "Let's go through the handlers in order.",
  createParcel: 'A body that does not parse is the fault of the client, so this one becomes a 400.',
  track: 'The tracker is an upstream service: 502.',
  webhook: 'A wrong signature must be a 401.',
  export: 'The last one.',
};

const blockEdits: HealthyStory = {
  kind: 'healthy',
  name: 'twelve-six-line-edits-of-one-file',
  about: 'The error handling of twelve Go handlers moves to slog and problem documents, one block at a time.',
  steps: [
    {
      prompt:
        'In internal/api/handlers.go every handler answers 500 on any error. Use s.log (slog) and writeProblem ' +
        'with a fitting status instead. Both exist already in server.go.',
    },
    turn(read(HANDLERS, HANDLERS_SOURCE)),
    ...HANDLER_LIST.map((one) => {
      const say = HANDLER_TALK[one.name];
      return turn(...(say ? [say] : []), edit(HANDLERS, oldBlock(one), newBlock(one)));
    }),
    turn(
      '`log` is unused now, so the build should complain about the import.',
      bash('go build ./...', 'Exit code 1\ninternal/api/handlers.go:5:2: "log" imported and not used', {
        ok: false,
        secs: 6.1,
      }),
    ),
    turn(edit(HANDLERS, '\t"encoding/json"\n\t"log"\n', '\t"encoding/json"\n')),
    turn(
      bash('go build ./... && go test ./internal/api/...', 'ok  \tparcelhub.dev/hub/internal/api\t0.412s', {
        secs: 9.7,
      }),
    ),
    turn('All twelve handlers log through slog and answer with a problem document and a fitting status. Tests pass.'),
  ],
};

// ---- eight edits of unrelated lines of one Rust file ----

const MAIN_RS = '/home/tomas/src/dupfind/src/main.rs';

const MAIN_RS_SOURCE = `use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Parser;

#[derive(Parser)]
#[command(name = "dupfind", about = "find duplicate file")]
struct Args {
    /// Folders to look into
    roots: Vec<PathBuf>,
    /// Ignore files smaller than this many bytes
    #[arg(long, default_value_t = 0)]
    min_size: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn walk(dir: &Path, out: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, out)?;
        } else {
            out.push(path);
        }
    }
    Ok(())
}

fn digest(path: &Path) -> std::io::Result<blake3::Hash> {
    let mut file = File::open(path)?;
    let mut buf = [0u8; 512];
    let mut hasher = blake3::Hasher::new();
    loop {
        let n = file.read(&mut buf)?;
        if n == 0 {
            return Ok(hasher.finalize());
        }
        hasher.update(&buf[..n]);
    }
}

fn group_by_size(files: Vec<PathBuf>, min_size: u64) -> HashMap<u64, Vec<PathBuf>> {
    let mut sizes: HashMap<u64, Vec<PathBuf>> = HashMap::new();
    for file in files {
        if let Ok(meta) = fs::metadata(&file) {
            if meta.len() > min_size {
                sizes.entry(meta.len()).or_insert(Vec::new()).push(file);
            }
        }
    }
    sizes
}

fn print_groups(groups: &[Vec<PathBuf>], json: bool) {
    if json {
        println!("{}", serde_json::to_string(groups).unwrap());
        return;
    }
    for group in groups {
        println!("{} copies", group.len());
        for path in group {
            println!("  {:?}", path);
        }
    }
}

fn main() -> std::io::Result<()> {
    let args = Args::parse();
    let mut files = Vec::new();
    for root in &args.roots {
        walk(root, &mut files)?;
    }
    let mut groups = Vec::new();
    for (_, same_size) in group_by_size(files, args.min_size) {
        let mut hashes: HashMap<blake3::Hash, Vec<PathBuf>> = HashMap::new();
        for file in same_size {
            hashes.entry(digest(&file)?).or_default().push(file);
        }
        groups.extend(hashes.into_values().filter(|g| g.len() > 1));
    }
    print_groups(&groups, args.json);
    Ok(())
}
`;

const reviewEdits: HealthyStory = {
  kind: 'healthy',
  name: 'eight-edits-of-unrelated-lines',
  about: 'Eight comments of a code review are worked into a small Rust command line tool.',
  steps: [
    {
      prompt:
        'Please work in the review of dupfind/src/main.rs: (1) typo in about, (2) roots must be required, (3) no ' +
        'unwrap in walk, (4) do not follow symlinks, (5) a 512 byte buffer is tiny, (6) min_size should be ' +
        'inclusive, (7) or_default, (8) print paths without quotes.',
    },
    turn("I'll start by reading the file.", read(MAIN_RS, MAIN_RS_SOURCE)),
    turn('(1) The typo.', edit(MAIN_RS, 'about = "find duplicate file"', 'about = "Find duplicate files"')),
    turn('(2)', edit(MAIN_RS, '    roots: Vec<PathBuf>,', '    #[arg(required = true)]\n    roots: Vec<PathBuf>,')),
    turn(
      '(3)',
      edit(
        MAIN_RS,
        '        let path = entry.unwrap().path();',
        '        let entry = entry?;\n        let path = entry.path();',
      ),
    ),
    turn(
      '(4) `DirEntry::file_type` does not follow links, unlike `Path::is_dir`.',
      edit(
        MAIN_RS,
        '        if path.is_dir() {\n            walk(&path, out)?;\n        } else {',
        '        let kind = entry.file_type()?;\n        if kind.is_dir() {\n            walk(&path, out)?;\n' +
          '        } else if kind.is_file() {',
      ),
    ),
    turn(edit(MAIN_RS, '    let mut buf = [0u8; 512];', '    let mut buf = vec![0u8; 64 * 1024];')),
    turn(edit(MAIN_RS, 'if meta.len() > min_size {', 'if meta.len() >= min_size {')),
    turn(edit(MAIN_RS, '.or_insert(Vec::new()).push(file);', '.or_default().push(file);')),
    turn('(8) And the paths.', edit(MAIN_RS, 'println!("  {:?}", path);', 'println!("  {}", path.display());')),
    turn(
      'That is everything on the list. Let me run clippy and the tests.',
      bash(
        'cargo clippy --all-targets -- -D warnings',
        '    Checking dupfind v0.4.0 (/home/tomas/src/dupfind)\n' +
          '    Finished `dev` profile [unoptimized + debuginfo] target(s) in 18.34s',
        { secs: 18.6 },
      ),
    ),
    turn(
      bash(
        'cargo test',
        `   Compiling dupfind v0.4.0 (/home/tomas/src/dupfind)
    Finished \`test\` profile [unoptimized + debuginfo] target(s) in 11.02s
     Running tests/cli.rs (target/debug/deps/cli-6f0f4ad0b1b4e2c1)

running 9 tests
.........
test result: ok. 9 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.21s`,
        { secs: 11.8 },
      ),
    ),
    turn('All eight comments are worked in; clippy is quiet and the nine tests pass.'),
  ],
};

// ---- twelve `sed -i` on twelve files ----

const DOCKERFILES: readonly (readonly [string, string, string])[] = [
  ['auth', 'node:18-alpine', 'node:22-alpine'],
  ['billing', 'node:18-alpine', 'node:22-alpine'],
  ['catalog', 'node:18-alpine', 'node:22-alpine'],
  ['checkout', 'node:18.19-alpine', 'node:22-alpine'],
  ['gateway', 'node:18-alpine', 'node:22-alpine'],
  ['images', 'node:18-bookworm-slim', 'node:22-bookworm-slim'],
  ['inventory', 'node:18-alpine', 'node:22-alpine'],
  ['mailer', 'node:18-alpine', 'node:22-alpine'],
  ['pdf', 'node:18-bookworm-slim', 'node:22-bookworm-slim'],
  ['reviews', 'node:18-alpine', 'node:22-alpine'],
  ['search', 'node:18.20-alpine', 'node:22-alpine'],
  ['shipping', 'node:18-alpine', 'node:22-alpine'],
];

const sedEdits: HealthyStory = {
  kind: 'healthy',
  name: 'sed-over-twelve-dockerfiles',
  about: 'The base image of twelve services is raised with one sed for each Dockerfile.',
  steps: [
    { prompt: 'Node 18 is out of support. Raise the base images of all services to Node 22 (keep the flavour).' },
    turn(
      bash(
        "grep -rn '^FROM node:18' services --include=Dockerfile",
        DOCKERFILES.map(([name, from]) => `services/${name}/Dockerfile:1:FROM ${from}`).join('\n'),
      ),
    ),
    turn('Twelve Dockerfiles, with three flavours and two pinned minor versions. I will change them one by one.'),
    { prompt: 'ok go' },
    ...DOCKERFILES.map(([name, from, to]) =>
      turn(bash(`sed -i 's|^FROM ${from}|FROM ${to}|' services/${name}/Dockerfile`, '')),
    ),
    turn(
      'Nothing must be left.',
      bash("grep -rn '^FROM node:18' services --include=Dockerfile", 'Exit code 1', { ok: false }),
    ),
    turn(
      bash(
        'git diff --stat',
        [
          ...DOCKERFILES.map(([name]) => ` ${`services/${name}/Dockerfile`.padEnd(30)} | 2 +-`),
          ' 12 files changed, 12 insertions(+), 12 deletions(-)',
        ].join('\n'),
      ),
    ),
    turn(
      'And one image as a trial.',
      bash(
        'docker build -q services/checkout',
        'sha256:5a0e9d6b1c4f7b8d2b6f5e0c1b7f29c8e4d61a3f0d9c7b5a2e8f4c6d1b3a5978',
        { secs: 48 },
      ),
    ),
    turn('All twelve services build on Node 22 images now. I built `checkout` as a trial; the rest is up to CI.'),
  ],
};

// ---- twelve new files ----

const LINKS = '/home/priya/work/shortlinks';

const NEW_FILES: readonly (readonly [string, string, string?])[] = [
  [
    'package.json',
    `{
  "name": "shortlinks",
  "private": true,
  "type": "module",
  "scripts": { "start": "node src/server.ts", "test": "node --test test/*.test.ts" },
  "dependencies": { "better-sqlite3": "^12.0.0", "fastify": "^5.2.0" },
  "devDependencies": { "@types/node": "^24.0.0", "typescript": "^5.8.0" }
}
`,
    "I'll set the project up file by file, beginning with the manifest.",
  ],
  [
    'tsconfig.json',
    `{
  "compilerOptions": { "target": "es2023", "module": "nodenext", "strict": true, "noEmit": true },
  "include": ["src", "test"]
}
`,
  ],
  ['.gitignore', 'node_modules\n*.sqlite\n.env\n'],
  [
    'src/env.ts',
    `export const env = {
  port: Number(process.env.PORT ?? 3000),
  database: process.env.DATABASE ?? 'links.sqlite',
  base: process.env.BASE_URL ?? 'http://localhost:3000',
};
`,
    'Now the sources.',
  ],
  [
    'src/slug.ts',
    `const ALPHABET = '23456789abcdefghjkmnpqrstuvwxyz';

export function slug(length = 6): string {
  const bytes = crypto.getRandomValues(new Uint8Array(length));
  return Array.from(bytes, (byte) => ALPHABET[byte % ALPHABET.length]).join('');
}
`,
  ],
  [
    'src/db.ts',
    `import Database from 'better-sqlite3';

export function open(file: string) {
  const db = new Database(file);
  db.pragma('journal_mode = WAL');
  db.exec('create table if not exists links (slug text primary key, url text not null, hits integer default 0)');
  return db;
}

export type Db = ReturnType<typeof open>;
`,
  ],
  [
    'src/routes/health.ts',
    `import type { FastifyInstance } from 'fastify';

export async function health(app: FastifyInstance) {
  app.get('/health', async () => ({ ok: true }));
}
`,
  ],
  [
    'src/routes/links.ts',
    `import type { FastifyInstance } from 'fastify';
import type { Db } from '../db.ts';
import { slug } from '../slug.ts';

export function links(db: Db) {
  const insert = db.prepare('insert into links (slug, url) values (?, ?)');
  const hit = db.prepare('update links set hits = hits + 1 where slug = ? returning url');
  return async (app: FastifyInstance) => {
    app.post<{ Body: { url: string } }>('/links', async (request, reply) => {
      const name = slug();
      insert.run(name, new URL(request.body.url).href);
      return reply.code(201).send({ slug: name });
    });
    app.get<{ Params: { slug: string } }>('/:slug', async (request, reply) => {
      const row = hit.get(request.params.slug) as { url: string } | undefined;
      return row ? reply.redirect(row.url) : reply.code(404).send({ error: 'no such link' });
    });
  };
}
`,
    'The heart of it: creating a link and following it.',
  ],
  [
    'src/app.ts',
    `import fastify from 'fastify';
import type { Db } from './db.ts';
import { health } from './routes/health.ts';
import { links } from './routes/links.ts';

export function build(db: Db) {
  const app = fastify({ logger: process.env.NODE_ENV === 'production' });
  app.register(health);
  app.register(links(db));
  return app;
}
`,
  ],
  [
    'src/server.ts',
    `import { build } from './app.ts';
import { open } from './db.ts';
import { env } from './env.ts';

await build(open(env.database)).listen({ port: env.port, host: '0.0.0.0' });
`,
  ],
  [
    'test/links.test.ts',
    `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { build } from '../src/app.ts';
import { open } from '../src/db.ts';

test('a link is created and followed', async () => {
  const app = build(open(':memory:'));
  const made = await app.inject({ method: 'POST', url: '/links', payload: { url: 'https://example.org/a' } });
  assert.equal(made.statusCode, 201);
  const followed = await app.inject({ url: \`/\${made.json().slug}\` });
  assert.equal(followed.headers.location, 'https://example.org/a');
});

test('an unknown link is a 404', async () => {
  const answer = await build(open(':memory:')).inject({ url: '/nothing' });
  assert.equal(answer.statusCode, 404);
});
`,
    'A test for both routes.',
  ],
  [
    'Dockerfile',
    `FROM node:24-slim
WORKDIR /app
COPY package*.json ./
RUN npm ci --omit=dev
COPY src src
USER node
CMD ["node", "src/server.ts"]
`,
  ],
];

const newFiles: HealthyStory = {
  kind: 'healthy',
  name: 'twelve-new-files-in-a-row',
  about: 'A small link shortener is set up from nothing: twelve new files, then install and test.',
  steps: [
    { prompt: 'Set up a link shortener in this empty folder: Fastify 5, SQLite, TypeScript run by Node, with tests.' },
    turn(bash('ls -la && node --version', 'total 8\ndrwxr-xr-x 2 priya priya 4096 .\nv24.4.1')),
    ...NEW_FILES.map(([path, content, say]) => turn(...(say ? [say] : []), write(`${LINKS}/${path}`, content))),
    turn(
      bash('npm install', 'added 87 packages, and audited 88 packages in 9s\n\nfound 0 vulnerabilities', { secs: 9.4 }),
    ),
    turn(
      'Now let me run the tests.',
      bash(
        'npm test',
        `
> test
> node --test test/*.test.ts

✔ a link is created and followed (41.6ms)
✔ an unknown link is a 404 (3.2ms)
ℹ tests 2
ℹ pass 2
ℹ fail 0`,
        { secs: 4.2 },
      ),
    ),
    turn('The link shortener is ready: `npm start` serves it on port 3000, and both tests pass.'),
  ],
};

/** Honest work that consists mostly of edits. */
export const editStories: readonly HealthyStory[] = [oneLineEdits, blockEdits, reviewEdits, sedEdits, newFiles];
