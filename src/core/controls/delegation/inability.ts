/** Reads whether the text of a worker reports that the worker could not do the work. */

const apostrophes = /[\u2018\u2019\u201b\u02b9\u02bc\u2032\u00b4\u0060\uff07]/g;

/** The words of inability, whoever they are about. */
const literalPhrase = /\b(?:cannot|can't|unable\s+to|(?:don't|do\s+not)\s+have|no\s+ability|not\s+able\s+to)\b/i;

/** Whether a text contains a phrase of inability anywhere, as in "users who cannot log in". */
export function hasInabilityPhrase(text: string): boolean {
  return literalPhrase.test(text.replace(apostrophes, "'"));
}

const adverbs = '(?:(?:also|still|currently|therefore|simply|really|just|unfortunately|sadly|regrettably|now) ){0,2}';
const unable = '(?:unable to|not able to|not permitted|not allowed)';
const negated =
  "(?:can ?not|can't|could not|couldn't|won't be able to|will not be able to|wasn't able to|weren't able to)";
const missing = "(?:(?:do not|don't|did not|didn't) (?:have|know how)|lack|have no|failed to)";

/** A phrase with a first-person subject: "I cannot …", "we're unable to …", "it is not possible for me". */
const firstPerson = new RegExp(
  [
    `\\b(?:i|we) ${adverbs}(?:${negated}|${missing})\\b`,
    `\\b(?:i|we)(?:'m|'re|'ve been| am| are| was| were| have been) ${adverbs}${unable}\\b`,
    '\\b(?:not possible for (?:me|us)|(?:i|we) (?:must|have to) decline)\\b',
  ].join('|'),
  'i',
);

/** A phrase without a subject at the beginning of a sentence: "Unable to …", "Sorry, cannot …", "Result: failed to …". */
const withoutSubject = new RegExp(
  `^\\W*(?:\\w+: ?)?(?:(?:sorry|apologies|unfortunately|regrettably|sadly|so|but|and|still),? ){0,2}(?:${negated}|unable to|not able to|(?:do not|don't) have|no ability|failed to)\\b`,
  'i',
);

/** A search that found nothing wrong: "I could not find any issues". */
const nothingWrong =
  /\b(?:find|see|spot|detect|identify|reproduce|have) (?:any|further|other|more|additional)(?: [\w-]+){0,2} (?:bugs?|comments?|concerns?|conflicts?|defects?|errors?|failures?|flaws?|issues?|leaks?|problems?|questions?|regressions?|vulnerabilit(?:y|ies)|warnings?)\b/i;

const done =
  '(?:added|applied|booked|built|cancelled|canceled|changed|completed|confirmed|created|deleted|deployed|fixed|implemented|initiated|installed|merged|modified|moved|placed|processed|refactored|refunded|removed|renamed|replaced|resolved|rewrote|rewritten|sent|set up|solved|submitted|transferred|updated|wrote|written)';

/** Words that report finished work, if their clause has no negation. */
const success = new RegExp(
  [
    `^\\W*${done}\\b`,
    `\\b(?:(?:i|we)(?: have|'ve)?|(?:has|have) been|now) ${done}\\b`,
    '\\b(?:done|fixed|finished|resolved|solved|succeeded|successful(?:ly)?|all set|is confirmed|now works?|works? now|working now|status: (?:completed|done|ok|success))\\b',
    "\\b(?:all|tests?|checks?) (?:now )?pass(?:es|ed|ing)?\\b|\\bchanges (?:i|we)(?: have|'ve)? made\\b",
    "\\bhere(?:'s| is| are) (?:the|a) (?:answer|information|list|report|results?|summary)\\b|(?<!\\bto )\\bcomplete$",
  ].join('|'),
  'i',
);

const negation =
  /\b(?:not|never|no|cannot|without|unable|failed|fails|until|unless|before|if|once|would|should|could|must|to be|tried|attempted|nothing|none|neither|nor)\b|n't\b/i;

const clauseEnd = /[,()\u2013\u2014]| - | (?:but|and|so|because|since|while|although|though|however) /i;

/**
 * Whether a text says, in the first person or without a subject at the beginning of a sentence, that the work could
 * not be done, and does not also report a success.
 */
export function reportsInability(text: string): boolean {
  const sentences = splitSentences(text);
  return sentences.some(isInability) && !sentences.some((sentence) => sentence.split(clauseEnd).some(isSuccess));
}

function isInability(sentence: string): boolean {
  return (withoutSubject.test(sentence) || firstPerson.test(sentence)) && !nothingWrong.test(sentence);
}

function isSuccess(clause: string): boolean {
  return success.test(clause) && !negation.test(clause);
}

/** Splits a text into sentences, lines and list items, without code, quotations and marks of emphasis. */
function splitSentences(text: string): readonly string[] {
  return text
    .replace(/```[^`]*```|(?<![a-z])`[^`\n]+`|(?<=[a-z] )["\u201c][^"\u201c\u201d\n]+["\u201d]/gi, 'x')
    .replace(apostrophes, "'")
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
