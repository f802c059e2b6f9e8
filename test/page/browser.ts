/** A real Chromium for a file of tests, and pages of it that write down everything a page must not do. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after } from 'node:test';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { root } from '../harness/source.ts';
import { findProgram, missingService, testWith } from '../services.ts';

/** `test` for tests that open a page. */
export const testWithBrowser = testWith('chromium');

/** Waits of a page on a busy machine end after this time. */
export const patienceMs = 20_000;

let browser: Promise<Browser> | undefined;

/** The browser of this file of tests, which is started once and closed after the last test. */
function startBrowser(): Promise<Browser> {
  const missing = missingService('chromium');
  if (missing !== undefined) throw new Error(missing);
  const isRoot = process.getuid?.() === 0;
  browser ??= chromium.launch({
    executablePath: findProgram('chromium')!,
    args: isRoot ? ['--no-sandbox'] : [],
  });
  return browser;
}
after(async () => (await browser)?.close());

/** Code that runs in pages is text: the types of this project have no DOM. */
const violationReporter = `document.addEventListener('securitypolicyviolation', (event) => {
  reportViolation(event.violatedDirective + ' blocked ' + event.blockedURI);
});`;

export interface WatchedPage {
  readonly page: Page;
  /** What the page did wrong: errors and warnings on its console, requests to other origins, breaches of its CSP. */
  readonly problems: readonly string[];
  close(): Promise<void>;
}

export interface PageOptions extends BrowserContextOptions {
  /** Problems that a test causes itself, such as a server that is away. */
  readonly expected?: RegExp;
  /** Runs before the address is opened. */
  readonly before?: (page: Page) => Promise<void>;
}

/** Opens an address in a profile of its own. */
export async function openPage(url: string, { expected, before, ...options }: PageOptions = {}): Promise<WatchedPage> {
  const context = await (await startBrowser()).newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(patienceMs);
  const problems: string[] = [];
  const report = (problem: string) => {
    if (expected?.test(problem) !== true) problems.push(problem);
  };
  const { origin } = new URL(url);
  page.on('console', (message) => {
    const isOfResponse = message.text().startsWith('Failed to load resource: the server responded');
    if (['error', 'warning'].includes(message.type()) && !isOfResponse)
      report(`console: ${message.text()} (${message.location().url})`);
  });
  page.on('pageerror', (error) => report(`error: ${error.stack ?? error.message}`));
  page.on('dialog', (dialog) => {
    report(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('popup', (popup) => report(`popup: ${popup.url()}`));
  context.on('request', (request) => {
    const to = new URL(request.url());
    if (to.origin !== origin && !['data:', 'blob:'].includes(to.protocol)) report(`request: ${request.url()}`);
  });
  page.on('response', async (response) => {
    if (response.status() < 400) return;
    const body = await response.text().catch(() => '');
    report(`response: ${response.status()} to ${response.request().method()} ${response.url()} ${body}`);
  });
  await page.exposeFunction('reportViolation', (words: string) => report(`policy: ${words}`));
  await page.addInitScript({ content: violationReporter });
  await before?.(page);
  await page.goto(url);
  return { page, problems, close: () => context.close() };
}

const axe = readFileSync(join(root, 'node_modules', 'axe-core', 'axe.min.js'), 'utf8');

interface AxeViolation {
  readonly id: string;
  readonly impact: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** Fails with every breach of WCAG 2.2 AA and of the best practices that axe finds on the page as it is now. */
export async function assertAccessible(page: Page, what: string): Promise<void> {
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(axe);
  const violations = await page.evaluate<readonly AxeViolation[]>('axe.run().then((found) => found.violations)');
  const found = violations.flatMap(({ id, impact, help, nodes }) =>
    nodes.slice(0, 5).map(({ html, failureSummary = '' }) => {
      return `${id} (${impact}): ${help}\n    ${html.slice(0, 300)}\n    ${failureSummary.split('\n').at(1) ?? ''}`;
    }),
  );
  assert.equal(found.length, 0, `${what}:\n  ${found.join('\n  ')}`);
}
