import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { storeSuite } from '../testing/index.ts';
import { sqliteStore } from './sqlite.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchgear-sqlite-'));
after(() => rmSync(folder, { recursive: true, force: true }));

storeSuite('in a file', (clock, place) => sqliteStore({ path: join(folder, `${place}.db`), clock }), 'shared');
