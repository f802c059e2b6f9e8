import type { HealthyStory, StoryCall, StoryStep } from '../story.ts';
import { bash, edit, read, turn, write } from '../story.ts';

// ---- twelve edits, each followed by the same line of git status ----

const TOKENS = '/home/lea/sites/almanac/styles/tokens.scss';

const TOKEN_CHANGES: readonly (readonly [string, string, string?])[] = [
  ['$ink: #222;', '$ink: #1b1f23;', 'The text colour first.'],
  ['$paper: #fff;', '$paper: #fdfcf9;'],
  ['$accent: blue;', '$accent: #2457c5;'],
  ['$danger: red;', '$danger: #b3261e;', 'Plain red has too little contrast on paper.'],
  ['$radius: 3px;', '$radius: 0.375rem;'],
  ['$gap: 16px;', '$gap: clamp(0.75rem, 2vw, 1.25rem);', 'The gap may grow with the window.'],
  ['$font-body: Arial, sans-serif;', "$font-body: 'Source Sans 3', system-ui, sans-serif;"],
  ['$font-code: Courier, monospace;', "$font-code: 'JetBrains Mono', ui-monospace, monospace;"],
  ['$size-body: 14px;', '$size-body: 1rem;', '14 px is small, so I take the size of the browser.'],
  ['$leading: 1.2;', '$leading: 1.55;'],
  ['$shadow: 0 0 10px #888;', '$shadow: 0 1px 3px rgb(27 31 35 / 12%);'],
  ['$width: 960px;', '$width: 68ch;', 'And the width of the column.'],
];

const sameStatus: HealthyStory = {
  kind: 'healthy',
  name: 'edits-with-the-same-git-status',
  about: 'Twelve design tokens change one by one; git status shows the same single line each time.',
  steps: [
    {
      prompt:
        'Bring styles/tokens.scss in line with the new brand sheet (docs/brand.md). Nothing but this file may ' +
        'change, the last helper left generated files all over the place.',
    },
    turn(
      read(TOKENS, TOKEN_CHANGES.map(([before]) => before).join('\n')),
      read(
        '/home/lea/sites/almanac/docs/brand.md',
        `# Brand sheet 2025

Ink #1b1f23 on paper #fdfcf9. Accent #2457c5, danger #b3261e.
Corners 6 px at the default size. Gaps are fluid, 12 to 20 px.
Source Sans 3 for text, JetBrains Mono for code; text at the size of the browser, leading 1.55.
Shadows are soft (12 % ink). A column is 68 characters wide.`,
      ),
    ),
    ...TOKEN_CHANGES.flatMap(([before, after, say]) => [
      turn(...(say ? [say] : []), edit(TOKENS, before, after)),
      turn(bash('git status --short', ' M styles/tokens.scss')),
    ]),
    turn(
      'All tokens are changed. One build, into a folder outside of the repository, to see that Sass accepts them.',
      bash('npx sass --no-source-map styles/main.scss /tmp/main.css && wc -c /tmp/main.css', '18342 /tmp/main.css', {
        secs: 5.4,
      }),
    ),
    turn('The twelve tokens follow the brand sheet. `styles/tokens.scss` is the only file that changed.'),
  ],
};

// ---- a TODO.md that is written again after each useful call ----

const API = '/home/ben/work/meals-api';

const APP_JS = `const express = require('express');
const files = require('./routes/files');
const search = require('./routes/search');
const meals = require('./routes/meals');

const app = express();
app.use(express.json());
app.use('/files', files);
app.use('/search', search);
app.use('/meals', meals);
app.get('*', (req, res) => res.send(404));

module.exports = app;
`;

const FILES_JS = `const { Router } = require('express');
const store = require('../store');

const router = Router();

router.get('/:name?', async (req, res, next) => {
  try {
    res.json(await store.files(req.params.name));
  } catch (err) {
    next(err);
  }
});

module.exports = router;
`;

const SEARCH_JS = `const { Router } = require('express');
const index = require('../search-index');

module.exports = Router().get('/', async (req, res) => {
  res.json(await index.find(req.param('q'), { limit: 20 }));
});
`;

const MEALS_JS = `const { Router } = require('express');
const store = require('../store');

const router = Router();

router.del('/:id', async (req, res) => {
  await store.removeMeal(req.params.id);
  res.redirect('back');
});

module.exports = router;
`;

const CHANGELOG = `# Changelog

## Unreleased

## 3.4.0

- Meals can be searched by ingredient.
`;

interface Task {
  readonly text: string;
  readonly say?: string;
  readonly call: StoryCall;
}

const EXPRESS_TASKS: readonly Task[] = [
  {
    text: 'install express 5',
    say: 'The new version first.',
    call: bash('npm install express@5', 'added 12 packages, removed 9 packages, changed 21 packages in 4s', {
      secs: 4.6,
    }),
  },
  {
    text: 'app.js: the catch-all route needs a name',
    call: edit(`${API}/src/app.js`, "app.get('*', (req, res)", "app.get('/{*path}', (req, res)"),
  },
  {
    text: 'app.js: res.send(status) is gone',
    call: edit(`${API}/src/app.js`, 'res.send(404)', 'res.sendStatus(404)'),
  },
  {
    text: 'files.js: optional parameters are written in braces',
    say: '`/:name?` throws in Express 5.',
    call: edit(`${API}/src/routes/files.js`, "router.get('/:name?', async", "router.get('{/:name}', async"),
  },
  {
    text: 'files.js: rejected promises reach the error handler by themselves',
    call: edit(
      `${API}/src/routes/files.js`,
      `async (req, res, next) => {
  try {
    res.json(await store.files(req.params.name));
  } catch (err) {
    next(err);
  }
});`,
      'async (req, res) => {\n  res.json(await store.files(req.params.name));\n});',
    ),
  },
  {
    text: 'search.js: req.param() is gone',
    call: edit(`${API}/src/routes/search.js`, "req.param('q')", 'req.query.q'),
  },
  {
    text: 'meals.js: router.del() is gone',
    call: edit(`${API}/src/routes/meals.js`, "router.del('/:id'", "router.delete('/:id'"),
  },
  {
    text: "meals.js: redirect('back') is gone",
    say: 'The magic word `back` has to be written out.',
    call: edit(`${API}/src/routes/meals.js`, "res.redirect('back')", "res.redirect(req.get('Referrer') || '/meals')"),
  },
  {
    text: 'run the tests',
    say: 'Now let me run the tests.',
    call: bash('npm test', '\n> meals-api@3.4.0 test\n> mocha\n\n\n  58 passing (2s)\n  1 pending', { secs: 5.1 }),
  },
  {
    text: 'changelog',
    call: edit(`${API}/CHANGELOG.md`, '## Unreleased\n', '## Unreleased\n\n- Express 5. Node 18 or later is needed.\n'),
  },
];

const todoFile = (done: number): StoryCall => {
  const lines = EXPRESS_TASKS.map(({ text }, at) => `- [${at < done ? 'x' : ' '}] ${text}`);
  const path = `${API}/TODO.md`;
  const content = `# Express 4 to 5\n\n${lines.join('\n')}\n`;
  return done === 0
    ? write(path, content)
    : write(path, content, { output: `The file ${path} has been updated successfully.` });
};

const todoMd: HealthyStory = {
  kind: 'healthy',
  name: 'todo-file-written-after-each-step',
  about: 'An upgrade to Express 5 in ten steps; a TODO.md is written again after each of them.',
  steps: [
    { prompt: 'Upgrade the API to Express 5. Keep a TODO.md up to date after every step, so that I can follow you.' },
    turn(
      "I'll read what is affected.",
      read(`${API}/src/app.js`, APP_JS),
      read(`${API}/src/routes/files.js`, FILES_JS),
      read(`${API}/src/routes/search.js`, SEARCH_JS),
      read(`${API}/src/routes/meals.js`, MEALS_JS),
      read(`${API}/CHANGELOG.md`, CHANGELOG),
    ),
    turn('Ten things are to be done.', todoFile(0)),
    ...EXPRESS_TASKS.flatMap(({ say, call }, at) => [
      turn(...(say ? [say] : []), call),
      turn(...(at % 4 === 3 ? ['Ticking it off.'] : []), todoFile(at + 1)),
    ]),
    turn('The API runs on Express 5: 58 tests pass (the pending one was pending before), and TODO.md is ticked off.'),
  ],
};

// ---- sixty calls in fifteen files ----

interface Module {
  readonly name: string;
  readonly doc: string;
  readonly before: string;
  readonly after: string;
  readonly tests: number;
  readonly say?: string;
}

const MODULES: readonly Module[] = [
  {
    name: 'paths',
    doc: 'Where field notes keeps its files.',
    before: `import os


def home():
    return os.environ.get("FIELDNOTES_HOME") or os.path.join(os.path.expanduser("~"), ".fieldnotes")
`,
    after: `import os
from pathlib import Path


def home() -> Path:
    return Path(os.environ.get("FIELDNOTES_HOME") or Path.home() / ".fieldnotes")
`,
    tests: 3,
    say: 'I begin with `paths`, on which the others depend.',
  },
  {
    name: 'config',
    doc: 'The configuration file.',
    before: `import os
import tomllib

from fieldnotes.paths import home


def load():
    path = os.path.join(home(), "config.toml")
    if not os.path.exists(path):
        return {}
    with open(path, "rb") as file:
        return tomllib.load(file)
`,
    after: `import tomllib

from fieldnotes.paths import home


def load():
    path = home() / "config.toml"
    return tomllib.loads(path.read_text()) if path.exists() else {}
`,
    tests: 5,
  },
  {
    name: 'notes',
    doc: 'Notes on the disk.',
    before: `import os


def names(folder):
    return sorted(os.path.splitext(one)[0] for one in os.listdir(folder) if one.endswith(".md"))
`,
    after: `from pathlib import Path


def names(folder: Path):
    return sorted(one.stem for one in folder.glob("*.md"))
`,
    tests: 8,
  },
  {
    name: 'photos',
    doc: 'Photos that belong to a note.',
    before: `import os

KINDS = (".jpg", ".jpeg", ".heic")


def of_note(folder, note):
    base = os.path.join(folder, note)
    if not os.path.isdir(base):
        return []
    return [os.path.join(base, one) for one in os.listdir(base) if one.lower().endswith(KINDS)]
`,
    after: `from pathlib import Path

KINDS = {".jpg", ".jpeg", ".heic"}


def of_note(folder: Path, note: str):
    base = folder / note
    return [one for one in base.iterdir() if one.suffix.lower() in KINDS] if base.is_dir() else []
`,
    tests: 6,
  },
  {
    name: 'backup',
    doc: 'Daily copies.',
    before: `import os
import shutil
from datetime import date


def backup(source, target):
    today = os.path.join(target, date.today().isoformat())
    if os.path.exists(today):
        shutil.rmtree(today)
    shutil.copytree(source, today)
    return today
`,
    after: `import shutil
from datetime import date
from pathlib import Path


def backup(source: Path, target: Path) -> Path:
    today = target / date.today().isoformat()
    if today.exists():
        shutil.rmtree(today)
    shutil.copytree(source, today)
    return today
`,
    tests: 4,
    say: '`shutil` takes paths as well, so only the joins change here.',
  },
  {
    name: 'export',
    doc: 'Notes as HTML.',
    before: `import os

import markdown


def export(path, out):
    name = os.path.basename(path).replace(".md", ".html")
    with open(path) as file:
        html = markdown.markdown(file.read())
    with open(os.path.join(out, name), "w") as file:
        file.write(html)
`,
    after: `from pathlib import Path

import markdown


def export(path: Path, out: Path) -> None:
    html = markdown.markdown(path.read_text())
    (out / path.with_suffix(".html").name).write_text(html)
`,
    tests: 7,
  },
  {
    name: 'gpx',
    doc: 'Tracks of a walk.',
    before: `import os
import xml.etree.ElementTree as ET


def newest(folder):
    tracks = [os.path.join(folder, one) for one in os.listdir(folder) if one.endswith(".gpx")]
    return ET.parse(max(tracks, key=os.path.getmtime)) if tracks else None
`,
    after: `import xml.etree.ElementTree as ET
from pathlib import Path


def newest(folder: Path):
    latest = max(folder.glob("*.gpx"), key=lambda one: one.stat().st_mtime, default=None)
    return ET.parse(latest) if latest else None
`,
    tests: 5,
  },
  {
    name: 'lock',
    doc: 'One writer at a time.',
    before: `import os


class Lock:
    def __init__(self, folder):
        self.path = os.path.join(folder, ".lock")

    def __enter__(self):
        os.close(os.open(self.path, os.O_CREAT | os.O_EXCL))

    def __exit__(self, *_):
        os.remove(self.path)
`,
    after: `from pathlib import Path


class Lock:
    def __init__(self, folder: Path):
        self.path = folder / ".lock"

    def __enter__(self):
        self.path.touch(exist_ok=False)

    def __exit__(self, *_):
        self.path.unlink()
`,
    tests: 4,
    say: '`touch(exist_ok=False)` opens with O_EXCL too, so the lock stays safe.',
  },
  {
    name: 'cache',
    doc: 'A cache of weather answers.',
    before: `import json
import os
import time


def get(folder, key, ttl=3600):
    path = os.path.join(folder, key + ".json")
    if not os.path.isfile(path) or time.time() - os.path.getmtime(path) > ttl:
        return None
    return json.load(open(path))
`,
    after: `import json
import time
from pathlib import Path


def get(folder: Path, key: str, ttl: int = 3600):
    path = folder / f"{key}.json"
    if not path.is_file() or time.time() - path.stat().st_mtime > ttl:
        return None
    return json.loads(path.read_text())
`,
    tests: 9,
    say: 'The old code never closed this file.',
  },
  {
    name: 'templates',
    doc: 'Templates of new notes.',
    before: `import os

HERE = os.path.dirname(os.path.abspath(__file__))


def template(kind):
    with open(os.path.join(HERE, "templates", "%s.md" % kind)) as file:
        return file.read()
`,
    after: `from pathlib import Path

HERE = Path(__file__).resolve().parent


def template(kind: str) -> str:
    return (HERE / "templates" / f"{kind}.md").read_text()
`,
    tests: 2,
  },
  {
    name: 'species',
    doc: 'The list of species.',
    before: `import csv
import os


def species(folder):
    found = {}
    for root, _, files in os.walk(folder):
        for name in files:
            if name == "species.csv":
                with open(os.path.join(root, name)) as file:
                    found.update({row["id"]: row for row in csv.DictReader(file)})
    return found
`,
    after: `import csv
from pathlib import Path


def species(folder: Path):
    found = {}
    for path in folder.rglob("species.csv"):
        with path.open() as file:
            found.update({row["id"]: row for row in csv.DictReader(file)})
    return found
`,
    tests: 6,
  },
  {
    name: 'trash',
    doc: 'Deleted notes stay for a month.',
    before: `import os
import time


def empty(folder, days=30):
    limit = time.time() - days * 86400
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if os.stat(path).st_mtime < limit:
            os.unlink(path)
`,
    after: `import time
from pathlib import Path


def empty(folder: Path, days: int = 30) -> None:
    limit = time.time() - days * 86400
    for path in folder.iterdir():
        if path.stat().st_mtime < limit:
            path.unlink()
`,
    tests: 3,
  },
  {
    name: 'sync',
    doc: 'What has to be sent to the phone.',
    before: `import hashlib
import os


def fingerprint(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def changed(folder, known):
    paths = [os.path.join(folder, one) for one in os.listdir(folder)]
    return [one for one in paths if known.get(os.path.relpath(one, folder)) != fingerprint(one)]
`,
    after: `import hashlib
from pathlib import Path


def fingerprint(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def changed(folder: Path, known: dict[str, str]):
    return [one for one in folder.iterdir() if known.get(one.name) != fingerprint(one)]
`,
    tests: 11,
    say: 'The folder is flat, so `relpath` is just the name.',
  },
  {
    name: 'importer',
    doc: 'Notes of other applications.',
    before: `import os
import zipfile


def unpack(archive, folder):
    target = os.path.join(folder, os.path.splitext(os.path.basename(archive))[0])
    os.makedirs(target, exist_ok=True)
    zipfile.ZipFile(archive).extractall(target)
    return target
`,
    after: `import zipfile
from pathlib import Path


def unpack(archive: Path, folder: Path) -> Path:
    target = folder / archive.stem
    target.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(archive) as file:
        file.extractall(target)
    return target
`,
    tests: 5,
  },
  {
    name: 'cli',
    doc: 'The command line.',
    before: `import os
import sys

from fieldnotes import export, notes, paths


def main():
    folder = os.path.join(paths.home(), "notes")
    out = os.path.realpath(sys.argv[1])
    for name in notes.names(folder):
        export.export(os.path.join(folder, name + ".md"), out)
`,
    after: `import sys
from pathlib import Path

from fieldnotes import export, notes, paths


def main():
    folder = paths.home() / "notes"
    out = Path(sys.argv[1]).resolve()
    for name in notes.names(folder):
        export.export(folder / f"{name}.md", out)
`,
    tests: 4,
    say: 'Last, the command line, which brings all of them together.',
  },
];

const moduleSteps = ({ name, doc, before, after, tests, say }: Module, at: number): StoryStep[] => {
  const path = `/home/yuki/fieldnotes/src/fieldnotes/${name}.py`;
  const secs = 1.1 + (at % 5) * 0.15;
  return [
    turn(...(say ? [say] : []), read(path, `"""${doc}"""\n${before}`)),
    turn(edit(path, before, after)),
    turn(bash(`ruff check src/fieldnotes/${name}.py`, 'All checks passed!', { secs: 0.2 })),
    turn(
      bash(
        `python -m pytest -q tests/test_${name}.py`,
        `${'.'.repeat(tests).padEnd(73)}[100%]\n${tests} passed in ${(0.06 + tests * 0.011).toFixed(2)}s`,
        { secs },
      ),
    ),
  ];
};

const sixtyCalls: HealthyStory = {
  kind: 'healthy',
  name: 'sixty-calls-in-fifteen-files',
  about: 'Fifteen Python modules move from os.path to pathlib: each is read, edited, linted and tested.',
  steps: [
    {
      prompt:
        'Move src/fieldnotes from os.path to pathlib, module by module: paths, config, notes, photos, backup, ' +
        'export, gpx, lock, cache, templates, species, trash, sync, importer, cli. Lint and test each one of them.',
    },
    ...MODULES.flatMap(moduleSteps),
    turn(
      'All fifteen modules use pathlib now, each of them was linted and tested. `os` is left only for the environment.',
    ),
  ],
};

// ---- a large log, read in fourteen windows ----

const LOG = '/var/log/orders/app-2025-05-19.log';

const WINDOW = 120;

const WINDOWS = 14;

const ROUTES = ['GET /orders', 'POST /orders', 'GET /stock', 'PUT /carts', 'GET /carts', 'POST /payments'];

const WORKERS = ['mailer', 'invoice', 'reindex', 'webhook'];

const EVENTS: Readonly<Record<number, string>> = {
  388: 'INFO  deploy    version 8.41.0 takes over from 8.40.3',
  391: 'INFO  db        pool opened, size 20, timeout 5s',
  802: 'WARN  db        pool: 15 of 20 connections in use',
  1046: 'WARN  db        pool: 18 of 20 connections in use',
  1293: 'WARN  db        pool: 20 of 20 connections in use, 3 waiting',
  1297: 'WARN  reindex   transaction open for 804 s, connection not returned',
  1411: 'ERROR db        timeout: no connection within 5s',
  1412: 'ERROR http      POST /orders/91834 503 in 5003ms',
  1566: 'WARN  reindex   transaction open for 1,049 s, connection not returned',
  1644: 'ERROR http      all health checks failed, leaving the load balancer',
};

const logLine = (at: number): string => {
  const ms = 7_200_000 + at * 913 + ((at * 7919) % 611);
  const time = new Date(ms).toISOString().slice(11, 23);
  const id = 91_000 + ((at * 37) % 4_000);
  const event = EVENTS[at];
  if (event !== undefined) return `${time} ${event}`;
  if (at % 11 === 5) {
    return `${time} INFO  ${(WORKERS[at % WORKERS.length] ?? '').padEnd(9)} job ${id} done in ${(at * 31) % 900}ms`;
  }
  if (at % 17 === 3) return `${time} DEBUG cache     ${(at * 13) % 100}% hits, ${(at * 53) % 8_000} keys`;
  const status = at % 29 === 7 ? 404 : 200;
  return `${time} INFO  http      ${ROUTES[(at * 5) % ROUTES.length]}/${id} ${status} in ${4 + ((at * 17) % 180)}ms`;
};

const logWindow = (at: number): StoryCall => {
  const offset = at * WINDOW + 1;
  const lines = Array.from({ length: WINDOW }, (_, row) => {
    return `${String(offset + row).padStart(6)}\t${logLine(offset + row)}`;
  });
  return { tool: 'Read', input: { file_path: LOG, offset, limit: WINDOW }, output: lines.join('\n') };
};

const LOG_TALK: Readonly<Record<number, string>> = {
  0: 'The file is too large to be read at once, so I go through it in windows of 120 lines.',
  2: 'Nothing but ordinary traffic so far.',
  4: 'A deploy at line 388. I keep an eye on what changes after it.',
  7: 'The pool went up to 15 of 20 connections, long after the deploy.',
  9: '18 of 20 now. Something does not give its connections back.',
  11: 'All 20 are in use, and `reindex` holds a transaction for thirteen minutes.',
  12: 'Here are the first timeouts; they follow from the empty pool.',
};

const largeLog: HealthyStory = {
  kind: 'healthy',
  name: 'paging-through-a-large-log',
  about: 'The log of an outage is read from the beginning to the end in fourteen windows.',
  steps: [
    {
      prompt:
        'The order service fell over this night. Read its log in full, please do not just grep for ERROR, and tell ' +
        'me what happened in which order.',
    },
    turn(bash(`wc -l ${LOG}`, `${WINDOW * WINDOWS} ${LOG}`)),
    ...Array.from({ length: WINDOWS }, (_, at) => {
      const say = LOG_TALK[at];
      return turn(...(say ? [say] : []), logWindow(at));
    }),
    turn(
      'What happened: version 8.41.0 was deployed (line 388). From then on `reindex` kept a transaction open and ' +
        'did not return its connections; the pool filled up (802, 1046, 1293) until requests timed out (1411), the ' +
        'service then left the load balancer (1644). I would look at what 8.41.0 changed in `reindex`.',
    ),
  ],
};

// ---- a check list of fifteen items ----

interface Item {
  readonly content: string;
  readonly active: string;
  readonly call: StoryCall;
  readonly say?: string;
}

const KIT = '/home/nora/oss/tablekit';

const ITEMS: readonly Item[] = [
  {
    content: 'Update the main branch',
    active: 'Updating the main branch',
    call: bash('git switch main && git pull --ff-only', "Already on 'main'\nAlready up to date.", { secs: 1.2 }),
  },
  {
    content: 'Run the linter',
    active: 'Running the linter',
    call: bash('pnpm lint', '> tablekit@2.6.1 lint\n> biome check .\n\nChecked 143 files in 212ms. No fixes applied.', {
      secs: 1.4,
    }),
  },
  {
    content: 'Check the types',
    active: 'Checking the types',
    call: bash('pnpm tsc --noEmit', '', { secs: 8.8 }),
  },
  {
    content: 'Run the unit tests',
    active: 'Running the unit tests',
    say: 'Now let me run the tests.',
    call: bash('pnpm test', ' Test Files  61 passed (61)\n      Tests  704 passed (704)\n   Duration  11.43s', {
      secs: 12.6,
    }),
  },
  {
    content: 'Run the browser tests',
    active: 'Running the browser tests',
    call: bash('pnpm playwright test', 'Running 38 tests using 4 workers\n\n  38 passed (27.9s)', { secs: 29.3 }),
  },
  {
    content: 'Audit the dependencies',
    active: 'Auditing the dependencies',
    call: bash('pnpm audit --prod', 'No known vulnerabilities found', { secs: 1.9 }),
  },
  {
    content: 'Raise the version',
    active: 'Raising the version',
    say: 'There are new features and no breaking ones, so it is a minor version.',
    call: edit(`${KIT}/package.json`, '"version": "2.6.1"', '"version": "2.7.0"'),
  },
  {
    content: 'Date the changelog',
    active: 'Dating the changelog',
    call: edit(`${KIT}/CHANGELOG.md`, '## Unreleased', '## 2.7.0 (2025-06-11)'),
  },
  {
    content: 'Build the packages',
    active: 'Building the packages',
    call: bash(
      'pnpm build',
      'ESM dist/index.js     48.21 KB\nDTS dist/index.d.ts   19.77 KB\nBuild success in 6104ms',
      {
        secs: 7.3,
      },
    ),
  },
  {
    content: 'Check the size of the bundle',
    active: 'Checking the size of the bundle',
    call: bash('pnpm size-limit', '  Size limit: 15 kB\n  Size:       13.92 kB gzipped', { secs: 5.7 }),
  },
  {
    content: 'Check the exports of the package',
    active: 'Checking the exports of the package',
    call: bash('pnpm attw --pack . --profile esm-only', 'tablekit v2.7.0\n\n No problems found 🌟', { secs: 6.4 }),
  },
  {
    content: 'Try the tarball in an empty project',
    active: 'Trying the tarball in an empty project',
    say: 'The packed package has to work outside of the workspace too.',
    call: bash(
      'pnpm pack --pack-destination /tmp && cd "$(mktemp -d)" && npm init -y >/dev/null && npm i ' +
        '/tmp/tablekit-2.7.0.tgz && node -e "import(\'tablekit\').then((kit) => console.log(Object.keys(kit).length))"',
      '/tmp/tablekit-2.7.0.tgz\n\nadded 1 package in 812ms\n27',
      { secs: 5.2 },
    ),
  },
  {
    content: 'Build the documentation',
    active: 'Building the documentation',
    call: bash('pnpm docs:build', 'building client + server bundles...\nrendering pages...\nbuild complete in 9.84s.', {
      secs: 11.1,
    }),
  },
  {
    content: 'Check the links of the documentation',
    active: 'Checking the links of the documentation',
    call: bash('lychee --offline docs/.vitepress/dist', '🔍 412 Total ✅ 409 OK 🚫 0 Errors 👻 3 Excluded', {
      secs: 2.2,
    }),
  },
  {
    content: 'Commit and tag',
    active: 'Committing and tagging',
    say: 'Everything is fine, so I commit and tag. I do not push.',
    call: bash(
      'git commit -qam "Release 2.7.0" && git tag v2.7.0 && git log --oneline -1 --decorate',
      'e41c0a7 (HEAD -> main, tag: v2.7.0) Release 2.7.0',
      { secs: 0.4 },
    ),
  },
];

const checkList = (done: number): StoryCall => ({
  tool: 'TodoWrite',
  input: {
    todos: ITEMS.map(({ content, active }, at) => ({
      content,
      status: at < done ? 'completed' : at === done ? 'in_progress' : 'pending',
      activeForm: active,
    })),
  },
  output:
    'Todos have been modified successfully. Ensure that you continue to use the todo list to track your progress. ' +
    'Please proceed with the current tasks if applicable',
});

const longCheckList: HealthyStory = {
  kind: 'healthy',
  name: 'check-list-of-fifteen-items',
  about: 'A release is prepared along a list of fifteen items, which is rewritten after every item.',
  steps: [
    { prompt: 'Prepare the next release of tablekit along RELEASING.md. Commit and tag, but do not push or publish.' },
    turn(
      read(`${KIT}/RELEASING.md`, ITEMS.map(({ content }, at) => `${at + 1}. ${content}`).join('\n')),
      read(`${KIT}/package.json`, '{\n  "name": "tablekit",\n  "version": "2.6.1",\n  "type": "module"\n}'),
      read(
        `${KIT}/CHANGELOG.md`,
        '# Changelog\n\n## Unreleased\n\n- Columns can be pinned to the right.\n- Faster sort.',
      ),
    ),
    turn("Fifteen items. I'll keep them in a list.", checkList(0)),
    ...ITEMS.flatMap(({ say, call }, at) => [turn(...(say ? [say] : []), call), turn(checkList(at + 1))]),
    turn('Release 2.7.0 is prepared: all fifteen items are done, commit and tag are there, nothing was pushed.'),
  ],
};

/** Honest work of many calls. */
export const longStories: readonly HealthyStory[] = [sameStatus, todoMd, sixtyCalls, largeLog, longCheckList];
