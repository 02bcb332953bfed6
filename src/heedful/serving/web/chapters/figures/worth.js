// What a translation loses without each of its heads, one square for each.

import { html } from "/insight/vendor/preact.js";
import { least } from "../rules.js";
import { exampleOf, useAbout, useTrace } from "../traces.js";
import { chapterWords } from "../words.js";
import { Figure, stateFor } from "./frame.js";

function Square({ place, change, most }) {
  const said = chapterWords();
  const about = `${said.place(place)}: ${said.worth.change(change)}`;
  const isMost = ["kind", "layer", "head"].every((name) => place[name] === most[name]);
  const strength = Math.sqrt(Math.max(0, change / most.value)); // the root lets small losses be seen
  return html`<span class=${isMost ? "most" : ""} tabindex="0" role="img" title=${about} aria-label=${about}
    style=${{ background: `rgb(var(--against) / ${strength})` }}></span>`;
}

export function WorthFigure({ figure }) {
  const said = chapterWords();
  const example = exampleOf(figure);
  const answer = useAbout(useTrace(example), "heads");
  const changes = answer.data?.heads;
  const most = changes ? least(changes) : null;
  const caption = () => said.worth.most({ place: said.place(most), change: said.worth.change(most.value) });
  const open = () => stateFor(example, { view: "heads", off: `${most.kind}.${most.layer}.${most.head}` });
  return html`
    <${Figure} name="worth" answers=${[answer]} caption=${caption} open=${open}>${() => html`
      <p class="side">${said.worth.title}</p>
      <div class="worths">${Object.keys(changes).map((kind) => html`<div key=${kind}>
        <p class="side">${said.nameOfUse(kind)}</p>
        ${changes[kind].map((heads, layer) => html`<p key=${layer} class="squares">
          ${heads.map((change, head) => html`<${Square}
            key=${head} place=${{ kind, layer, head }} change=${change} most=${most} />`)}</p>`)}
      </div>`)}</div>`}
    <//>`;
}
