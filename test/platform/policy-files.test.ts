import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { findPolicyFiles, listPolicyFolders } from '../../src/platform/policy-files.ts';

/** Folders `top/home/repository/package/src`, where `repository` is one. */
function tree(context: TestContext) {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'switchgear-search-')));
  context.after(() => rmSync(top, { recursive: true, force: true }));
  const home = join(top, 'home');
  const repository = join(home, 'repository');
  const deep = join(repository, 'package', 'src');
  mkdirSync(deep, { recursive: true });
  mkdirSync(join(repository, '.git'));
  return { top, home, repository, deep, homes: { env: { HOME: home }, userHome: home } };
}

test('the search goes up to the root of the repository and no further', (context) => {
  const { home, repository, deep, homes } = tree(context);
  writeFileSync(join(home, 'switchgear.toml'), '');
  assert.deepEqual(listPolicyFolders(deep, homes), [deep, join(repository, 'package'), repository]);
  assert.deepEqual(findPolicyFiles(deep, homes), []);
  writeFileSync(join(repository, 'switchgear.yml'), '');
  assert.deepEqual(findPolicyFiles(deep, homes), [join(repository, 'switchgear.yml')]);
  writeFileSync(join(repository, 'package', 'switchgear.json'), '');
  assert.deepEqual(findPolicyFiles(deep, homes), [join(repository, 'package', 'switchgear.json')], 'the nearest');
});

test('the root of a worktree or submodule, whose .git is a file, ends the search', (context) => {
  const { repository, deep, homes } = tree(context);
  writeFileSync(join(repository, 'package', '.git'), 'gitdir: elsewhere');
  writeFileSync(join(repository, 'switchgear.toml'), '');
  assert.deepEqual(findPolicyFiles(deep, homes), []);
});

test('outside of a repository only the folder itself is searched', (context) => {
  const { home, homes } = tree(context);
  const folder = join(home, 'plain', 'folder');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(home, 'plain', 'switchgear.toml'), '');
  assert.deepEqual(findPolicyFiles(folder, homes), []);
  assert.deepEqual(listPolicyFolders(folder, homes), [folder]);
});

test('nothing above a home folder is searched, also where the repository begins there', (context) => {
  const { top, home, homes } = tree(context);
  mkdirSync(join(top, '.git'));
  const folder = join(home, 'notes');
  mkdirSync(folder);
  writeFileSync(join(top, 'switchgear.toml'), '');
  assert.deepEqual(listPolicyFolders(folder, homes), [folder, home]);
  assert.deepEqual(findPolicyFiles(folder, homes), []);
  const link = join(top, 'link');
  symlinkSync(home, link);
  const byLink = { env: { HOME: link }, userHome: '/nowhere' };
  assert.deepEqual(listPolicyFolders(folder, byLink), [folder, home], 'a home that is a link');
});
