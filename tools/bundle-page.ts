/**
 * Makes the page of `switchgear serve` from `dashboard/`: one script and one style sheet with the hash of their content
 * in their names, and the HTML that loads them; each also compressed. Without an argument they go to `dist/page/`.
 */

import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('../', import.meta.url));

/** Builds the page into a folder. Several builds of the same sources may run at once: they write the same files. */
export async function bundlePage(folder: string): Promise<void> {
  const { outputFiles } = await build({
    entryPoints: ['src/main.tsx', 'styles/index.css'].map((path) => ({
      in: join(root, 'dashboard', path),
      out: 'page',
    })),
    entryNames: '[name]-[hash]',
    outdir: folder,
    tsconfig: join(root, 'dashboard', 'tsconfig.json'),
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    target: ['es2022', 'chrome123', 'firefox120', 'safari17.5'],
    legalComments: 'none',
    logLevel: 'warning',
  });
  const files = new Map(outputFiles.map(({ path, contents }) => [basename(path), Buffer.from(contents)]));
  const [script, style] = ['.js', '.css'].map((ending) => [...files.keys()].find((name) => name.endsWith(ending)));
  if (script === undefined || style === undefined) throw new Error('the page has no script or no style sheet');
  const html = readFileSync(join(root, 'dashboard', 'index.html'), 'utf8');
  files.set('index.html', Buffer.from(html.replace('SCRIPT', script).replace('STYLE', style)));
  mkdirSync(folder, { recursive: true });
  for (const [name, contents] of files) {
    writeFile(folder, `${name}.br`, brotliCompressSync(contents));
    writeFile(folder, `${name}.gz`, gzipSync(contents, { level: 9 }));
    writeFile(folder, name, contents);
  }
  for (const name of readdirSync(folder)) {
    if (!files.has(name.replace(/\.(?:br|gz)$/, '')) && !name.endsWith('.new'))
      rmSync(join(folder, name), { force: true });
  }
}

/** Writes a file at once: a server may read the folder. */
function writeFile(folder: string, name: string, contents: Buffer): void {
  const path = join(folder, `${name}.${process.pid}.new`);
  writeFileSync(path, contents);
  renameSync(path, join(folder, name));
}

if (import.meta.main) await bundlePage(process.argv[2] ?? join(root, 'dist', 'page'));
