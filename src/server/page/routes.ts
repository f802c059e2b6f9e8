/** The routes of the page: its HTML at `/`, and its script and style sheet, whose names change with their content. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { HttpError } from '../../http/http-error.ts';
import { securityHeaders } from '../http/respond.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { loadPageFiles, type PageFile } from './page-files.ts';

export const pageRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/',
    summary: 'The page.',
    access: 'open',
    isDocument: true,
    media: 'text/html',
    answer: 'The HTML of the page, which has no data and no secret.',
    handle: async ({ request, response }) => sendPageFile(request, response, 'index.html', 'no-store'),
  }),
  defineRoute({
    method: 'GET',
    path: '/page/{file}',
    summary: 'The script and the style sheet of the page.',
    access: 'open',
    media: '*/*',
    answer: 'The file; its name changes with its content.',
    handle: async ({ request, response, params }) =>
      sendPageFile(request, response, params.file!, 'public, max-age=31536000, immutable'),
  }),
];

async function sendPageFile(
  request: IncomingMessage,
  response: ServerResponse,
  name: string,
  caching: string,
): Promise<undefined> {
  const files = await loadPageFiles();
  if (files.size === 0)
    throw new HttpError(503, 'page_missing', 'the page was not built: run npm run bundle in the checkout');
  const file = files.get(name);
  if (file === undefined) throw new HttpError(404, 'not_found', 'the page has no such file');
  const headers = { ...securityHeaders, 'cache-control': caching, etag: file.tag, vary: 'accept-encoding' };
  if (request.headers['if-none-match'] === file.tag) {
    response.writeHead(304, headers).end();
    return;
  }
  const { body, encoding } = chooseForm(file, request.headers['accept-encoding']);
  response.writeHead(200, {
    ...headers,
    'content-type': file.media,
    'content-length': body.length,
    ...(encoding !== undefined && { 'content-encoding': encoding }),
  });
  response.end(body);
}

/** The smallest form of a file that the client takes; a refusal (`br;q=0`) is honoured. */
function chooseForm(
  { plain, brotli, gzip }: PageFile,
  accepted: string | string[] | undefined,
): { readonly body: Buffer; readonly encoding?: 'br' | 'gzip' } {
  const names = String(accepted ?? '')
    .split(',')
    .map((each) =>
      each
        .trim()
        .toLowerCase()
        .split(/\s*;\s*/),
    )
    .filter(([, quality]) => !/^q=0(?:\.0*)?$/.test(quality ?? ''))
    .map(([name]) => name);
  if (names.includes('br')) return { body: brotli, encoding: 'br' };
  if (names.includes('gzip')) return { body: gzip, encoding: 'gzip' };
  return { body: plain };
}
