// How the symbols of a language model are shown, which may be spaces, line ends or parts of characters.

/** A symbol that can be seen: spaces and line ends have signs. */
export function visible(symbol) {
  return symbol.replaceAll("\n", "↵").replaceAll("\t", "⇥").replaceAll(" ", "␣").replaceAll("▁", "␣") || "·";
}

/** The first letters of a symbol, without the space that a word begins with. */
export const shortened = (symbol, numLetters) => visible(symbol.replace(/^ (?=.)/, "")).slice(0, numLetters);

/** Whether text can go on with a symbol: one that is only a part of a character cannot be typed. */
export const isWhole = (symbol) => symbol !== "" && !/^(<0x[0-9A-F]{2}>)+$/.test(symbol) && !symbol.includes("\ufffd");
