// Which words of a text are not in another: the longest common row of words stays, the rest is marked. A Chinese text
// is compared character by character, since it has no spaces to cut it at.

import { HAN } from "./word_bounds.js";

const UNIT = new RegExp(`[${HAN}]|(?:(?![${HAN}])[\\p{L}\\p{M}\\p{N}'’-])+|\\s+|.`, "gsu");

const unitsOf = (text) => text.match(UNIT) ?? [];

/** The parts of `text`, each [part, whether it is new beside `before`]; joined they are the text. */
export function differences(before, text) {
  const [old, now] = [unitsOf(before), unitsOf(text)];
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1));
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      lengths[i][j] = old[i] === now[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  const parts = [];
  const add = (part, isNew) => {
    const isMarked = isNew && part.trim() !== ""; // a space is never what differs
    const last = parts.at(-1);
    if (last && last[1] === isMarked) last[0] += part;
    else parts.push([part, isMarked]);
  };
  let i = 0;
  for (let j = 0; j < now.length; ) {
    if (i < old.length && old[i] === now[j]) {
      add(now[j++], false);
      i++;
    } else if (i < old.length && lengths[i + 1][j] >= lengths[i][j + 1]) {
      i++;
    } else {
      add(now[j++], true);
    }
  }
  return parts;
}
