// From the pieces of a translation and their log-probabilities to words with probabilities. Pure functions: text in,
// data out; they know nothing of the page. Words are cut as the server cuts them for its alignments.

import { SPACE_MARK, beginsWord, byteOf } from "../word_bounds.js";
import { withTerms } from "./translate_terms.js";

const LEVELS = [0.75, 0.5, 0.25];

/** Pieces as the letters they write; the bytes of a character are put together. */
function lettersOf(pieces) {
  const bytes = pieces.map(byteOf);
  if (bytes.every(Boolean)) return new TextDecoder().decode(Uint8Array.from(bytes, (one) => parseInt(one, 16)));
  return pieces.join("").replaceAll(SPACE_MARK, "");
}

/** How sure a word is: how often words like it are right where that is known, else its bare probability. */
export const surenessOf = (word) => word.confidence ?? word.probability;

/** How doubtful a number from 0 to 1 is: 0 is sure, 3 is a guess. */
export function levelOf(probability) {
  const level = LEVELS.findIndex((least) => probability >= least);
  return level < 0 ? LEVELS.length : level;
}

/**
 * The text of one unit as a row of {text} and, for words, {text, probability, confidence, pieces: [[letters,
 * probability] …]}; the confidence is null where the server knows none.
 * Joined it is the text again. Where pieces cannot be found in the text, which a tokenizer may have put in order, the
 * text stands as it is, without numbers.
 */
export function wordsOf({ text, tokens, tokenLogProbs, wordConfidences }) {
  const groups = [];
  tokens.forEach((piece, number) => {
    const isSymbol = number === tokens.length - 1 && /^<.+>$/.test(piece) && !byteOf(piece);
    if (isSymbol) return;
    const group = groups.at(-1);
    const one = { piece, logProb: tokenLogProbs[number] ?? -Infinity };
    if (!group || beginsWord(group.at(-1).piece, piece)) groups.push([one]);
    else group.push(one);
  });
  const row = [];
  let at = 0;
  const confidences = wordConfidences?.length === groups.length ? wordConfidences : [];
  for (const [number, group] of groups.entries()) {
    const letters = lettersOf(group.map((one) => one.piece));
    if (!letters) continue;
    const found = text.indexOf(letters, at);
    if (found < 0 || text.slice(at, found).trim()) return [{ text }];
    if (found > at) row.push({ text: text.slice(at, found) });
    row.push({
      text: letters,
      probability: Math.exp(group.reduce((sum, one) => sum + one.logProb, 0)),
      confidence: confidences[number] ?? null,
      pieces: group.map((one) => [lettersOf([one.piece]), Math.exp(one.logProb)]),
    });
    at = found + letters.length;
  }
  if (at < text.length) row.push({ text: text.slice(at) });
  return row;
}

/**
 * The whole text in lines of rows. Units are sentences, or parts of a long one; a line that is blank stays
 * so. Those of one line are found in it one after the other.
 */
export function linesOf(text, units) {
  const rest = [...units];
  return text.split("\n").map((line) => {
    let at = rest[0]?.text ? Math.max(line.indexOf(rest[0].text), 0) : 0; // an indentation or a list marker before it
    const row = at > 0 ? [{ text: line.slice(0, at) }] : [];
    while (rest.length > 0 && rest[0].text && line.startsWith(rest[0].text, at)) {
      const unit = rest.shift();
      row.push(...withTerms(wordsOf(unit), unit.terms ?? []));
      at += unit.text.length;
      if (line[at] === " ") row.push({ text: line[at++] });
    }
    while (rest.length > 0 && !rest[0].text) rest.shift();
    if (at < line.length) row.push({ text: line.slice(at) });
    return row;
  });
}
