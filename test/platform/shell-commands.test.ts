/** The simple commands of shell scripts: their words, files and folders. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { visitShellCommands } from '../../src/platform/shell-commands.ts';
import type { ShellCommand } from '../../src/platform/shell-reading.ts';

function commandsOf(script: string): { readonly commands: readonly ShellCommand[]; readonly isComplete: boolean } {
  const commands: ShellCommand[] = [];
  const isComplete = visitShellCommands(script, { cwd: '/', variables: { HOME: '/home/ann' } }, (command) => {
    commands.push(command);
    return undefined;
  });
  return { commands, isComplete };
}

/** Scripts with the words of their commands. */
const words: readonly (readonly [script: string, expected: readonly string[]])[] = [
  ['echo a; rm b', ['echo a', 'rm b']],
  ['a && b || c | d & e', ['a', 'b', 'c', 'd', 'e']],
  [`rm 'a b' "c d" e\\ f`, ['rm a b c d e f']],
  ['X=1 rm a # rm b', ['rm a']],
  ['printf "" | while read f; do rm "$f"; done', ['printf ', 'read f', 'rm ']],
  ['echo "rm a" > b; sh b', ['echo rm a', 'sh b', 'rm a']],
  ["alias x='rm a'\nx b", ['alias x=rm a', 'x b', 'rm a b']],
  ['A=x; rm $A "$A" ${A}y $B', ['', 'rm x x xy $B']],
  ['for f in a b; do rm $f; done', ['rm a', 'rm b']],
  ['for a in 1 2; do for b in 3 4; do rm $a$b; done; done', ['rm 13', 'rm 14', 'rm 23', 'rm 24']],
  ['while true; do rm a; done', ['true', 'rm a']],
  ['if a; then b; elif c; then d; else e; fi; f', ['a', 'b', 'c', 'd', 'e', 'f']],
  ['case $x in a|b) c;; (d) e;; esac; f', ['c', 'e', 'f']],
  ['f() { rm "$1"; }; f a', ['rm $1', 'f a', 'rm a']],
  ['{ a; b; }; (c; d)', ['a', 'b', 'c', 'd']],
  ['((1 + 2)); ((a); b)', ['a', 'b']],
  ['[[ a > b && c ]] && d', ['d']],
  ['rm $(echo a b) `echo c`', ['echo a b', 'echo c', 'rm a b c']],
  ['rm "$(echo a b)"', ['echo a b', 'rm a b']],
  ['rm {a,b}.{c,d} {} {1..3}', ['rm a.c a.d b.c b.d {} {1..3}']],
  ['sudo -u ann env -i A=1 nice -n 5 rm a', ['rm a']],
  ['echo a | xargs -n 1 rm', ['echo a', 'rm a']],
  ['bash -c "rm a"', ['bash -c rm a', 'rm a']],
  ['eval "A=b"; rm $A', ['eval A=b', '', 'rm b']],
  ['cat <<EOF\n$(rm a)\nEOF\nrm b', ['rm a', 'cat', 'rm b']],
  ["cat <<'EOF'\n$(rm a)\nEOF\nrm b", ['cat', 'rm b']],
  ['cat <<A <<B; c\na\nA\nb\nB\nd', ['cat', 'c', 'd']],
  ['a \\\n b', ['a b']],
];

for (const [script, expected] of words) {
  test(`the commands of ${JSON.stringify(script)}`, () => {
    const { commands, isComplete } = commandsOf(script);
    assert.deepEqual(
      commands.map((command) => command.words.join(' ')),
      expected,
    );
    assert.equal(isComplete, true);
  });
}

/** Scripts with the folders of their last command. */
const folders: readonly (readonly [script: string, expected: readonly string[]])[] = [
  ['cd /usr; a', ['/usr']],
  ['cd /usr && cd bin && a', ['/usr/bin']],
  ['(cd /usr); a', ['/']],
  ['(cd /usr; a)', ['/usr']],
  ['cd /usr | b; a', ['/']],
  ['cd /usr; cd -; a', ['/']],
  ['pushd /usr; popd; a', ['/']],
  ['pushd /usr; a', ['/usr']],
  ['cd /usr & a', ['/']],
  ['cd /nowhere; a', ['/nowhere', '/']],
  ['cd /nowhere && a', ['/nowhere']],
  ['cd /nowhere || exit 1; a', ['/nowhere']],
  ['set -e; cd /nowhere; a', ['/nowhere']],
  ['mkdir /new; cd /new; a', ['/new']],
  ['if x; then cd /usr; fi; a', ['/', '/usr']],
  ['x && cd /usr; a', ['/usr', '/']],
  ['$(cd /usr); a', ['/']],
  ['bash -c "cd /usr"; a', ['/']],
  ['f() { cd /usr; }; f; a', ['/usr']],
];

for (const [script, expected] of folders) {
  test(`the folders after ${JSON.stringify(script)}`, () => {
    assert.deepEqual(commandsOf(script).commands.at(-1)?.folders, expected);
  });
}

test('redirections name the files that a command writes', () => {
  const writes = (script: string) => commandsOf(script).commands.flatMap((command) => command.writes);
  assert.deepEqual(writes('a > b 2>> c 3>| d &> e >& f 2>&1 >&- < g'), ['b', 'c', 'd', 'e', 'f']);
  assert.deepEqual(writes('{ a; } > b; (c) >> d; for x in y; do z; done 2> e'), ['b', 'd', 'e']);
  assert.deepEqual(writes('a <> b; exec {fd}> c; > d'), ['b', 'c', 'd']);
});

test('a script with too many commands, levels or values is not read as a whole', () => {
  assert.equal(commandsOf('a;'.repeat(1_000)).isComplete, true);
  assert.equal(commandsOf('a;'.repeat(1_001)).isComplete, false);
  assert.equal(commandsOf('{ '.repeat(60)).isComplete, false);
  assert.equal(commandsOf(`rm ${'{a,b}'.repeat(10)}`).isComplete, false);
  assert.equal(commandsOf(`a ${'b'.repeat(140_000)}`).isComplete, false);
});
