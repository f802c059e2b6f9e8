/** A control of one's own: writing needs a reading first. It judges beside the built-in ones, by the same rules. */

import assert from 'node:assert/strict';
import { allow, type Control, createSwitchgear, refusalOf } from 'switchgear';

interface Reads {
  done: number;
}

/** Denies `write_file` until something was read in the same task. */
const readFirst: Control<Reads> = {
  name: 'read-first',
  scope: 'task',
  initial: () => ({ done: 0 }),
  judge: (state, { action }) =>
    action.name !== 'write_file' || state.done > 0
      ? allow
      : { kind: 'deny', code: 'rule_declined', control: 'read-first', counters: {}, reason: 'read before you write' },
  apply(state, event) {
    if (event.type === 'action-settled' && event.permit.action.name === 'read_file') state.done++;
    return state;
  },
};

const gear = createSwitchgear({ log: 'silent' });
gear.addControl(readFirst);
const tools = gear.guardAll({
  read_file: (path: string) => `the text of ${path}`,
  write_file: (path: string) => `wrote ${path}`,
});

const result = await gear.task({}, () => {
  const tooEarly = tools.write_file('notes.md');
  console.log(`first:  ${refusalOf(tooEarly)?.message}`);
  assert.equal(refusalOf(tooEarly)?.control, 'read-first');
  tools.read_file('notes.md');
  return tools.write_file('notes.md');
});

assert.deepEqual(result, { status: 'done', value: 'wrote notes.md' });
console.log(`after reading:  ${result.value}`);
