// A field whose text counts after a short rest: what is typed stays in the field, whatever the rest of the page does,
// and takes effect when nothing more is typed for a while. Knows neither the state nor what the text is for.

import { useLayoutEffect, useRef, useState } from "/insight/vendor/preact.js";

/**
 * Follow what is typed into a field. `text` is the text that counts, `rest` the milliseconds without a key before what
 * is typed becomes it, `onSettle(typed)` makes it so. Returns {typed, settle, handlers}: what the field shows, a way to
 * let a text count at once, and the field's listeners.
 *
 * The text that counts is taken into the field only where it came from elsewhere; the field's own, coming back, would
 * overwrite the keys pressed in between. What an input method is still composing is no text yet.
 */
export function useTyped(text, rest, onSettle) {
  const [typed, setTyped] = useState(text);
  const own = useRef({ settled: text, timer: null }).current;
  const stop = () => clearTimeout(own.timer);
  const settle = (wanted) => {
    stop();
    setTyped(wanted);
    if (wanted === own.settled) return;
    own.settled = wanted;
    onSettle(wanted);
  };
  const type = (event) => {
    const wanted = event.target.value;
    stop();
    setTyped(wanted);
    if (!event.isComposing) own.timer = setTimeout(() => settle(wanted), rest);
  };
  // Before the next key can come, unlike an effect after the paint.
  useLayoutEffect(() => {
    if (text === own.settled) return;
    stop();
    own.settled = text;
    setTyped(text);
  }, [text]);
  useLayoutEffect(() => stop, []);
  const handlers = { onInput: type, onCompositionEnd: type, onBlur: (event) => settle(event.target.value) };
  return { typed, settle, handlers };
}
