// The terms of the glossary as one types them, and what the server is asked for: a line is a term, "=" and what it
// becomes, with "|" between forms that are as good. A tab, as spreadsheets write it, and the signs of a Chinese
// keyboard do as well. Pure functions: text in, data out.

const BETWEEN = /[=＝\t]/;
const OR = /[|｜\t]/;

const trimmed = (parts) => parts.map((part) => part.trim()).filter(Boolean);

/**
 * What a text of terms says: {pairs: [[term, form] …], terms: how many there are, unread: numbers of lines, from 1,
 * that are none}. Blank lines and those that begin with # say nothing.
 */
export function termsOf(text) {
  const found = { pairs: [], terms: 0, unread: [] };
  for (const [number, line] of text.split("\n").entries()) {
    if (!line.trim() || line.startsWith("#")) continue;
    const at = line.search(BETWEEN);
    const [source, forms] = [line.slice(0, Math.max(at, 0)).trim(), trimmed(line.slice(at + 1).split(OR))];
    if (!source || forms.length === 0) {
      found.unread.push(number + 1);
      continue;
    }
    found.terms += 1;
    found.pairs.push(...forms.map((form) => [source, form]));
  }
  return found;
}
