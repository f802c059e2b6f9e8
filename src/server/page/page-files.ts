/** The files of the page: read once, with their compressed forms and entity tags. */

import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** One file of the page. */
export interface PageFile {
  readonly media: string;
  readonly plain: Buffer;
  readonly brotli: Buffer;
  readonly gzip: Buffer;
  /** A tag that changes with the content. */
  readonly tag: string;
}

/** A checkout and the package have the built page at the same place, seen from this file. */
const builtFolder = fileURLToPath(new URL('../../../dist/page/', import.meta.url));

const medias: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
};

let loaded: Promise<ReadonlyMap<string, PageFile>> | undefined;

/** Loads the files of the page by name; empty if the page was not built. A later call tries again then. */
export async function loadPageFiles(): Promise<ReadonlyMap<string, PageFile>> {
  loaded ??= readPageFiles(builtFolder);
  const files = await loaded;
  if (files.size === 0) loaded = undefined;
  return files;
}

async function readPageFiles(folder: string): Promise<ReadonlyMap<string, PageFile>> {
  const names = await readdir(folder).catch((): string[] => []);
  const files = new Map<string, PageFile>();
  for (const name of names) {
    const media = medias[name.slice(name.lastIndexOf('.') + 1)];
    if (media === undefined) continue;
    const [plain, brotli, gzip] = await Promise.all(
      ['', '.br', '.gz'].map((ending) => readFile(`${folder}${name}${ending}`)),
    );
    files.set(name, { media, plain: plain!, brotli: brotli!, gzip: gzip!, tag: makeTag(plain!) });
  }
  return files;
}

function makeTag(contents: Buffer): string {
  return `"${createHash('sha256').update(contents).digest('base64url').slice(0, 16)}"`;
}
