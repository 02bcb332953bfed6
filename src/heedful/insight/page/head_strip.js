// Which heads of a layer are shown: their mean, one of them, or several, each in its colour.

import { chooseHeads } from "./attention_map.js";
import { headColour } from "./lines.js";
import { html, useRef } from "./vendor/preact.js";

/**
 * From the mean, a click shows one head; then a click adds or removes one, and the last cannot be removed. A
 * double-click shows one head alone, and all of them when it was alone already.
 */
export function HeadStrip({ look: { heads, count }, state, words }) {
  const [group, before] = [useRef(null), useRef(null)];
  const all = [...Array(count).keys()];
  const toggle = (head) => {
    if (heads === null) chooseHeads(state, [head]);
    else if (!heads.includes(head)) chooseHeads(state, [...heads, head].sort((a, b) => a - b));
    else if (heads.length > 1) chooseHeads(state, heads.filter((one) => one !== head));
  };
  const solo = (head, was) => chooseHeads(state, was?.length === 1 && was[0] === head ? all : [head]);
  const onClick = (head) => (event) => {
    if (event.detail < 2) before.current = heads; // a double-click must know what was shown before its two clicks
    toggle(head);
  };
  const onKeyDown = (event) => {
    const buttons = [...group.current.querySelectorAll("button")];
    const here = buttons.indexOf(event.target);
    const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (move && !event.shiftKey) buttons[(here + move + buttons.length) % buttons.length].focus();
    else if (event.key === "Enter" && event.shiftKey && here > 1) solo(here - 2, heads);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const isOn = (head) => heads !== null && heads.includes(head);
  const isAll = heads?.length === count && count > 1;
  const first = heads === null ? "mean" : heads[0];
  return html`
    <div class="choice heads" role="group" aria-label=${words.head} ref=${group} onKeyDown=${onKeyDown}>
      <span>${words.head}</span>
      <button
        type="button" aria-pressed=${heads === null} tabindex=${first === "mean" ? 0 : -1} title=${words.meanHint}
        onClick=${() => chooseHeads(state, null)}
      >${words.mean}</button>
      <button
        type="button" aria-pressed=${isAll} tabindex="-1" title=${words.everyHint}
        onClick=${() => chooseHeads(state, all)}
      >${words.every}</button>
      ${all.map(
        (head) => html`<button
          key=${head} type="button" aria-pressed=${isOn(head)} aria-label=${words.nameOfHead(head)}
          tabindex=${first === head ? 0 : -1} title=${words.headHint}
          style=${{ "--own": isOn(head) ? `rgb(${headColour(head, heads.length > 1)})` : "" }}
          onClick=${onClick(head)} onDblClick=${() => solo(head, before.current)}
        >${head + 1}</button>`,
      )}
    </div>`;
}
