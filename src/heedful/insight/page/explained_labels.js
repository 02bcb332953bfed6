// The page of one classifier's decision, complete in one file.

import { unpack } from "./drawing.js";
import { showPage, trace } from "./explained_frame.js";
import { labelWords } from "./label_words.js";
import { Decision, Influences, LabelHeads } from "./labels.js";
import { Card } from "./parts.js";
import { html, signal } from "./vendor/preact.js";

const layers = trace.attention?.map(unpack) ?? null; // none of a text too long for it
const state = { layer: signal(null), head: signal(-1) };

function Body({ words }) {
  return html`
    <${Card} title=${words.decision}><${Decision} data=${trace} words=${words} /><//>
    <${Influences} data=${trace} text=${trace.text} words=${words} />
    <${Card} title=${words.attention} hint=${words.attentionHint}>
      ${layers === null ? html`<p class="empty">${words.longText}</p>`
      : html`<${LabelHeads} tokens=${trace.tokens} layers=${layers} state=${state} words=${words} />`}
    <//>`;
}

showPage(trace.label, labelWords, Body);
