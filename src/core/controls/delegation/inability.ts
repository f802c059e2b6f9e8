/** Reads whether the text of a worker reports that the worker could not do the work. */

const apostrophes = /[\u2018\u2019\u201b\u02b9\u02bc\u2032\u00b4\u0060\uff07]/g;

/** The words of inability, whoever they are about. */
const literalPhrase = /\b(?:cannot|can't|unable\s+to|(?:don't|do\s+not)\s+have|no\s+ability|not\s+able\s+to)\b/i;

/** Whether a text contains a phrase of inability anywhere, as in "users who cannot log in". */
export function hasInabilityPhrase(text: string): boolean {
  return literalPhrase.test(text.replace(apostrophes, "'"));
}

/** Groups alternatives of a pattern. */
const either = (...alternatives: readonly string[]) => `(?:${alternatives.join('|')})`;
/** A pattern that is compiled when it is used first: most processes read no text of a worker. */
const pattern = (...alternatives: readonly string[]): Pick<RegExp, 'test'> => {
  let compiled: RegExp | undefined;
  return {
    test(text) {
      compiled ??= new RegExp(alternatives.join('|'), 'i');
      return compiled.test(text);
    },
  };
};

const adverbs = '(?:(?:also|still|currently|therefore|simply|really|just|unfortunately|sadly|regrettably|now) ){0,2}';
const unable = either('unable to', 'not able to', 'not permitted', 'not allowed');
const future = "(?:won't|will not|wasn't|weren't) (?:be )?able to";
const negated = either('can ?not', "can't", 'can no longer', 'could not', "couldn't", future);
/** What nobody misses: "I have no objections". */
const notMissed = '(?! (?:objections?|preferences?|complaints?|doubts?|seat)\\b)';
const noHaving = `(?:do not|don't|did not|didn't) ${adverbs}(?:have(?! to\\b)|know how)`;
const missing = either(noHaving, 'lack', `have no${notMissed}`, 'failed to');
/** States in which nobody goes on: "I'm stuck", "we are out of ideas". */
const stuck = either(
  ...['blocked', 'stuck', 'at a loss', 'out of (?:ideas|options|my depth)', 'not authori[sz]ed', 'not capable of'],
  ...['not in a position to', 'not equipped'],
);
const gaveUp = either(
  ...['g[ai]ve up', 'had to (?:abandon|abort|give up|stop)', 'stopped trying', 'ran out of', 'never (?:got|received)'],
  ...['know of no', "(?:do not|don't) (?:know the answer|see any file)", "(?:did not|didn't) (?:manage|succeed)"],
  ...['have nothing to', "(?:haven't|have not) (?:got|managed|succeeded|found|received|downloaded)"],
);
/** What somebody else has to supply first: "I'd need access to the project". */
const needed = either(
  ...['more information', 'further information', 'additional information', 'access', 'permission', 'credentials'],
  "(?:the|a|an|your) [\\w' -]{0,40}(?:access|key|number|password|permission|token|date)",
);
const failing = either('failed', 'fails', 'kept', 'keeps', 'reject', 'rejected', 'refused', 'denied', 'timed out');
/** Verbs that are negated in praise and in passing: "I can't thank you enough". */
const inPassing = '(?! (?:be (?:better|happier|more)|believe|complain|help but|recommend|stress|thank|wait)\\b)';
/** "I searched everywhere but cannot find it": the subject stands before another verb. */
const attempted = either('tried', 'searched', 'looked', 'checked', 'attempted', 'investigated', 'asked', 'called');

/** A phrase with a first-person subject: "I cannot …", "we're unable to …", "it is not possible for me". */
const firstPerson = pattern(
  `\\b(?:i|we) ${adverbs}${either(negated, missing)}\\b${inPassing}`,
  `\\b(?:i|we)(?:'m|'re|'ve been| am| are| was| were| have been) ${adverbs}${unable}\\b`,
  "\\b(?:i|we)(?:'ve not| have not| haven't) been able to\\b",
  `\\b(?:i|we)(?:'ve| have)? ${attempted}\\b.{1,200}? (?:but|and) ${adverbs}${negated}\\b`,
  '\\b(?:not possible for (?:me|us)|(?:i|we) (?:must|have to) decline)\\b',
  `\\b(?:i|we)(?:'m|'re| am| are| was| were) ${adverbs}${stuck}\\b`,
  `\\b(?:i|we) ${adverbs}${gaveUp}\\b`,
  `\\b(?:i|we)(?:'d| would|'ll| will)? ${adverbs}(?:need|require) ${needed}\\b`,
  `\\b(?:i|we)(?:'ve| have)? (?:tried|attempted)\\b.{1,120}? but\\b.{1,80}?\\b${failing}\\b`,
  "\\b(?:i|we)(?:'ve| have)? (?:looked|searched) .{1,120}? but\\b.{0,40}?(?:\\bnowhere|\\bnot in|n't in)\\b",
  "\\b(?:i|we)(?:'ve| have)? (?:looked|searched)\\b.{1,120}? found nothing\\b",
  '\\bmy (?:attempts?|search|query)\\b.{0,60}? (?:failed|came back empty|found nothing|was rejected|were rejected)\\b',
  '\\b(?:i|we) .{1,120}? and (?:had to (?:abandon|abort|give up|stop)|gave up)\\b',
  '\\bnothing (?:more |else )?(?:that )?(?:i|we) can do\\b|\\bwith the permissions (?:i|we)\\b',
  '\\b(?:i|we) (?:am|are) .{0,60}? without access to\\b|\\b(?:i|we) \\w+ nothing out\\b',
);

const assignment = either(
  ...['booking', 'build', 'compilation', 'crawl', 'deployment', 'job', 'migration', 'operation', 'order', 'report'],
  ...['refund', 'request', 'task', 'transfer', 'upload', 'work', 'appointment', 'this', 'it'],
);
const notFinished = either(
  "(?:could not|couldn't|can't|cannot|can not) be (?:completed|done|finished|fulfilled|carried out)",
  "(?:did not|didn't) (?:go through|succeed)",
  '(?:has|have) not been (?:made|done|issued|completed|sent|booked|finished)',
);

/** The work itself as the subject: "the deployment did not go through", "no booking was made". */
const workUnfinished = pattern(
  `\\b(?:the|that|my|our)? ?${assignment} ${notFinished}\\b(?! (?:without|by|until|yet)\\b)`,
  `\\bno ${assignment} (?:was|were|has been|have been) (?:made|placed|created|sent|issued)\\b`,
  '\\bnothing (?:was|has been|could be) (?:saved|done|made|sent|booked|created|written|delivered)\\b',
);

/** An answer whose first words are the outcome: "Task aborted", "Incomplete", "Unsuccessful: …". */
const failedOutcome = pattern(
  '^\\W*(?:(?:task|request|job|operation|result|status):? )?' +
    either('aborted', 'incomplete', 'blocked', 'unsuccessful', 'not (?:done|completed|possible)') +
    '(?=$|[:,])',
  '^\\W*(?:nope|no luck|no success)\\b',
);

const label = '(?:\\w+ (?:blocked|failed|failure|error|incomplete)|\\w+): ?';
const sorry = '(?:sorry|apologies|unfortunately|regrettably|sadly|so|but|and|still),? ';
const openings = `(?:${label})?(?:${sorry}){0,2}`;
const bareMissing = either("(?:do not|don't) have(?! to\\b)", 'no ability', 'failed to');

/** A phrase without a subject at the beginning of a sentence: "Unable to …", "Sorry, cannot …". */
const withoutSubject = pattern(`^\\W*${openings}${either(negated, 'unable to', 'not able to', bareMissing)}\\b`);

const troubles = either(
  ...['bug', 'comment', 'concern', 'conflict', 'defect', 'error', 'failure', 'flaw', 'issue', 'leak', 'problem'],
  ...['question', 'regression', 'vulnerabilit', 'warning'],
);

/** A search that found nothing wrong, "I could not find any issues", and what was told to others. */
const nothingWrong = pattern(
  "\\bnothing (?:that )?(?:i|we) (?:can|could)(?: ?not|n?'t)\\b",
  '\\b(?:told|informed) (?:[\\w-]+ ){1,3}(?:that )?(?:i|we)\\b',
  `\\b(?:find|see|spot|detect|identify|reproduce|have) (?:any|further|other|more)(?: [\\w-]+){0,2} ${troubles}`,
);

const done = either(
  ...['added', 'applied', 'booked', 'built', 'cancell?ed', 'changed', 'completed', 'confirmed', 'created', 'deleted'],
  ...['deployed', 'fixed', 'implemented', 'initiated', 'installed', 'merged', 'modified', 'moved', 'placed'],
  ...['processed', 'refactored', 'refunded', 'removed', 'renamed', 'replaced', 'resolved', 'rewrote', 'rewritten'],
  ...[
    'attached',
    'closed',
    'linked',
    'scheduled',
    'sent',
    'set up',
    'solved',
    'submitted',
    'transferred',
    'updated',
    'wrote',
    'written',
  ],
);

/** Words that report finished work, if their clause has no negation. */
const success = pattern(
  `^\\W*${done}\\b`,
  `\\b(?:(?:i|we)(?: have|'ve)?|(?:has|have) been|now) ${done}\\b`,
  '\\b(?:done|fixed|finished|resolved|solved|succeeded|successful(?:ly)?|all set|(?:is|are) (?:booked|confirmed))\\b',
  '\\b(?:second|third|next|other|last)(?: one| \\w+)? worked\\b',
  '\\b(?:now works?|works? now|working now|status: (?:completed|done|ok|success))\\b',
  "\\b(?:all|tests?|checks?) (?:now )?pass(?:es|ed|ing)?\\b|\\bchanges (?:i|we)(?: have|'ve)? made\\b",
  `\\b(?:all|every|each|\\d+)(?: [\\w-]+){1,3} (?:(?:is|are|was|were) )?${either(done, 'imported', 'exported')}\\b`,
  `\\b(?:answer|draft|list|proof|report|results?|solution|summary|table|translation) (?:is|are) (?:attached|below)\\b`,
  "\\bhere(?:'s| is| are) (?!what|why|how|(?:the|my) (?:error|problem|question|reason))[\\w']+|(?<!\\bto )\\bcomplete$",
  "^[\\w' -]{1,40} (?:works|worked|(?:is|are) (?:available|fine|ok|okay|correct))\\W*$",
);

const negation = pattern(
  '\\b(?:not|never|no|cannot|without|unable|failed|fails|nothing|none|neither|nor|tried|attempted)\\b',
  "\\b(?:until|unless|before|if|once|would|should|could|must|to be)\\b|n't\\b",
);

const clauseEnd = /[,()\u2013\u2014]| - | (?:but|and|so|because|since|while|although|though|however) /i;

/**
 * Whether a text says, in the first person or without a subject at the beginning of a sentence, that the work could
 * not be done, and does not also report a success.
 */
export function reportsInability(text: string): boolean {
  const sentences = splitSentences(text);
  return sentences.some(isInability) && !sentences.some((sentence) => sentence.split(clauseEnd).some(isSuccess));
}

function isInability(sentence: string, at: number): boolean {
  if (at === 0 && failedOutcome.test(sentence)) return true;
  const isUnable = withoutSubject.test(sentence) || firstPerson.test(sentence) || workUnfinished.test(sentence);
  return isUnable && !nothingWrong.test(sentence);
}

function isSuccess(clause: string): boolean {
  return success.test(clause) && !negation.test(clause);
}

/** Words in quotation marks after words, also after "said:", and lines that quote. */
const quotation = new RegExp(
  [
    '(?<=[a-z][:,]? )["\\u201c][^"\\u201c\\u201d\\n]+["\\u201d]',
    "(?<=[a-z][:,]? )'[^'\\n](?:[^'\\n]|'(?=\\w)){0,400}'(?!\\w)",
    '^ *>.*$',
  ].join('|'),
  'gim',
);

/** Splits a text into sentences, lines and list items, without code, quotations and marks of emphasis. */
function splitSentences(text: string): readonly string[] {
  return text
    .replace(/```[^`]*```|(?<![a-z])`[^`\n]+`/gi, 'x')
    .replace(apostrophes, "'")
    .replace(quotation, 'x')
    .replace(/\\n/g, '\n')
    .replace(/[*_#>"\u201c\u201d]+/g, '')
    .replace(/\s+/g, (space) =>
      space.includes('\n') ? (space.indexOf('\n') < space.lastIndexOf('\n') ? '\n\n' : '\n') : ' ',
    )
    .split(/(?<![.!?;])[.!?;]+(?=\s|$)|\n(?![a-z])/) // A line that goes on with a small letter is a wrapped one.
    .map((sentence) =>
      sentence
        .replace(/\s/g, ' ')
        .trim()
        .replace(/^(?:[-+\u2022]|\d+[.)]) /, ''),
    )
    .filter((sentence) => sentence !== '');
}
