/** Declares the loop control. */

import type { Control } from '../../control.ts';
import type { PanelDeclaration } from '../../declare/control-declaration.ts';
import { type RefusalContext, type RefusalTexts, stoppedTexts } from '../../declare/refusal-texts.ts';
import { type FieldsOf, flag, map, secs, share, wholeNumber } from '../../declare/setting.ts';
import { loopWindowMax, pastCallsMax, pointsMax, refusedCallsMax, tokensMax, turnsMax } from '../../limits.ts';
import type { BaseSettings, LoopSettings } from '../../settings.ts';
import { loop } from './loop.ts';
import { adviseOnRepeat, describeRepeat, nameSetting } from './messages.ts';
import type { LoopState } from './state.ts';

/**
 * Tools that are meant to be repeated, and what others do to the world; `off` excludes a tool from the loop control.
 */
const habitNames = ['poll', 'wait', 'read', 'change', 'off'];

const loopFields = {
  enabled: flag('Whether the loop control looks for repetition.', true, true),
  similarity_jaccard_threshold: share('Similarity from which two outputs are alike.', 0.95, 'lower', {
    env: 'BB_CIRCUIT_BREAKER_JACCARD',
  }),
  row_across_outputs: flag(
    'Whether an output that comes again after others counts, if no call came between.',
    true,
    true,
  ),
  window_size: wholeNumber('Outputs in a row that must be alike.', 3, 'lower', { min: 2, max: loopWindowMax }),
  token_cap: wholeNumber('Tokens of each output that are compared.', tokensMax, 'default', { max: tokensMax }),
  row_across_calls: flag('Whether a row of alike outputs continues across calls without news.', false, true),
  refused_repeats: wholeNumber('Times that an unchanged call is refused; the next repeat halts the task.', 2, 'lower', {
    max: refusedCallsMax,
  }),
  turns: wholeNumber('Model turns whose points are added up.', 11, 'higher', { min: 2, max: turnsMax }),
  note_points: wholeNumber('Points at which the model is told that it repeats itself.', 12, 'lower', {
    max: pointsMax,
  }),
  card_points: wholeNumber('Points at which a person gets a card that halts nothing.', 24, 'lower', {
    max: pointsMax,
  }),
  repeats: wholeNumber('Equal results or failures of a call, with nothing new in between.', 5, 'lower', {
    max: pastCallsMax,
  }),
  near_threshold: share('Similarity from which two texts, or two calls, are nearly the same.', 0.76, 'lower'),
  words_alone: flag('Whether nearly the same text counts as a repeat even if the call differs.', false, true),
  repeat_points: wholeNumber(
    'Points of a turn that makes the same call again at once and gets the same result.',
    3,
    'higher',
    {
      max: pointsMax,
    },
  ),
  cycle_points: wholeNumber(
    'Points of a turn that makes the same call again after others and gets the same result.',
    2,
    'higher',
    { max: pointsMax },
  ),
  error_points: wholeNumber('Points of a turn that gets the same error of a tool again.', 4, 'higher', {
    max: pointsMax,
  }),
  other_error_points: wholeNumber('Points of a turn that gets another error.', 2, 'higher', { max: pointsMax }),
  same_answer_points: wholeNumber('Points of a turn that gets the same answer to nearly the same call.', 7, 'higher', {
    max: pointsMax,
  }),
  near_call_points: wholeNumber(
    'Points of a turn with nearly the same text and call, and another answer.',
    4,
    'higher',
    {
      max: pointsMax,
    },
  ),
  near_error_points: wholeNumber(
    'Points of a turn with nearly the same text and call, and another error.',
    6,
    'higher',
    {
      max: pointsMax,
    },
  ),
  words_points: wholeNumber('Points of a turn that repeats a text and makes no call.', 8, 'higher', { max: pointsMax }),
  poll_secs: secs('Time of waiting inside a call after which the same answer is no repeat.', 5, 'higher'),
  tools: map(
    'Tools that are meant to be repeated: `poll`, `wait` or `off`; tools that only `read`, or `change` something. ' +
      'A name may contain `*`.',
    'names',
    'fewer',
    habitNames,
  ),
} as const satisfies FieldsOf<LoopSettings>;

export const loopDeclaration = {
  name: 'loop',
  scope: 'task',
  summary: {
    stops: 'an agent that repeats itself',
    byDefault: 'calls and texts that repeat with nothing new in between; a refused call that is made again unchanged',
    statePer: 'task',
  },
  section: {
    name: 'loop',
    doc: 'When an agent that repeats itself is warned, refused and halted.',
    fields: loopFields,
  },
  codes: {
    output_loop: {
      kind: 'halt',
      means: 'the last texts are nearly the same',
      remedy: 'give the agent a new prompt or another plan',
      settings: ['loop.window_size', 'loop.similarity_jaccard_threshold'],
      isExceeded(actual: number, settings: BaseSettings): boolean {
        return actual >= settings.loop.windowSize;
      },
      texts(context: RefusalContext): RefusalTexts {
        const { actual } = context;
        const summary = `the same output came ${actual} times, and no call in between brought anything new`;
        return stoppedTexts(
          context,
          summary,
          'You are repeating yourself. Stop, and ask the user how to go on.',
          `${summary}; window_size and similarity_jaccard_threshold of [loop] change that`,
        );
      },
    },
    tool_loop: {
      kind: 'deny, halt',
      means: 'a call repeats or keeps failing with nothing new in between, or a refused call came back unchanged',
      remedy: 'try another way; see [loops](../guides/loops.md)',
      settings: ['loop.tools', 'loop.repeats', 'loop.refused_repeats'],
      byCall: true,
      isExceeded(actual: number, settings: BaseSettings): boolean {
        return actual > settings.loop.refusedRepeats;
      },
      texts(context: RefusalContext): RefusalTexts {
        const { name, actual, limit, counters } = context;
        if (counters.evidence !== undefined) {
          const again = Number(actual) > Number(limit) ? ', and it came again although it was refused' : '';
          const repeat = `${describeRepeat(counters)}${again}`;
          return stoppedTexts(context, repeat, adviseOnRepeat(counters), `${repeat}; ${nameSetting(counters)}`);
        }
        return stoppedTexts(
          context,
          `you called '${name}' unchanged ${actual} times although it was refused`,
          'Do not repeat the call. Tell the user what is missing, and ask the user how to go on.',
          `'${name}' was proposed unchanged ${actual} times although it was refused (limit ${limit}); ` +
            'refused_repeats of [loop] changes that',
        );
      },
    },
  },
  create(settings: BaseSettings): Control<LoopState> | undefined {
    return settings.loop.enabled ? loop(settings.loop) : undefined;
  },
} as const satisfies PanelDeclaration;
