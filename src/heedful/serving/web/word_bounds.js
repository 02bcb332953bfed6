// What a word is, in any script, and where words begin in a row of pieces: text/words.py in JavaScript; a test holds
// the two equal. Character classes are spelled out, since browsers know different versions of Unicode.

export const SPACE_MARK = "▁";
const BYTE = /^<0x([0-9A-F]{2})>$/;

/** Chinese characters, as the inside of a character class (flag u). */
export const HAN =
  "\\u3005\\u3007\\u3021-\\u3029\\u3038-\\u303b\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff\\u{20000}-\\u{3fffd}";

/** All that is written without spaces: Chinese characters, kana, their punctuation, full-width forms; no Hangul. */
export const UNSPACED =
  "\\u2e80-\\u312f\\u3190-\\u9fff\\uf900-\\ufaff\\ufe30-\\ufe4f\\uff00-\\uff9f\\uffe0-\\uffef" +
  "\\u{1aff0}-\\u{1b16f}\\u{1f200}-\\u{1f2ff}\\u{20000}-\\u{3fffd}";

// Asked of a first character only: before a `$`, Chromium 156 does not find characters beyond the first plane.
const ONE_UNSPACED = new RegExp(`^[${UNSPACED}]`, "u");
const isMark = (piece) => !/[\p{L}\p{N}]/u.test(piece);

/** The byte that a piece stands for, as two hexadecimal digits; undefined when it is none. */
export const byteOf = (piece) => BYTE.exec(piece)?.[1];

/** Whether a piece begins a word after the piece `before`. */
export function beginsWord(before, piece) {
  if (before === SPACE_MARK || (BYTE.test(before) && BYTE.test(piece))) return false;
  if (piece.startsWith(SPACE_MARK)) return true;
  return ONE_UNSPACED.test(piece) || ONE_UNSPACED.test([...before].at(-1)) || isMark(piece) !== isMark(before);
}
