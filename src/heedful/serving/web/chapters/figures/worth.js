// What a translation loses without each of its heads, one square for each.

import { html } from "/insight/vendor/preact.js";
import { KINDS } from "/insight/drawing.js";
import { mostWorth } from "../rules.js";
import { exampleOf, useTrace } from "../traces.js";
import { chapterWords } from "../words.js";
import { Figure, stateFor } from "./frame.js";

export function WorthFigure({ figure }) {
  const said = chapterWords();
  const example = exampleOf(figure);
  const answer = useTrace(example, { headChanges: true });
  const changes = answer.data?.head_changes;
  const most = changes ? mostWorth(changes) : null;
  const caption = () => said.worth.most({ place: said.place(most), change: said.worth.change(most.change) });
  const open = () => stateFor(example, { view: "heads", off: `${most.kind}.${most.layer}.${most.head}` });
  const strength = (change) => Math.max(0, change / most.change);
  return html`
    <${Figure} name="worth" answers=${[answer]} caption=${caption} open=${open}>${() => html`
      <p class="side">${said.worth.title}</p>
      <div class="worths">${KINDS.map((kind) => html`<div key=${kind}>
        <p class="side">${said.grid(kind)}</p>
        ${changes[kind].map((heads, layer) => html`<p key=${layer} class="squares">${heads.map((change, head) => html`<span
          key=${head} tabindex="0" role="img" title=${`${said.place({ kind, layer, head })}: ${said.worth.change(change)}`}
          aria-label=${`${said.place({ kind, layer, head })}: ${said.worth.change(change)}`}
          class=${most.kind === kind && most.layer === layer && most.head === head ? "most" : ""}
          style=${{ background: `rgb(var(--against) / ${Math.sqrt(strength(change))})` }}></span>`)}</p>`)}
      </div>`)}</div>`}
    <//>`;
}
