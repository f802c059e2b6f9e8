/** The section that several controls of a task share. */

import { choice, share } from './setting.ts';

/** The name and meaning of the section `task`. */
export const taskSection = { name: 'task', doc: 'The limits of one task; a task past a limit halts.' } as const;

/** The fields of `task` that belong to no single control. */
export const noticeFields = {
  notice_share: share('Share of a limit at which a notice is given.', 0.8, 'lower'),
  at_limit: choice(
    'At a limit: halt and close the answer, also throw an error, or first ask a person whether to double the limit.',
    [['close', 'error'], 'ask'],
    'close',
    'error',
    'ask',
  ),
} as const;
