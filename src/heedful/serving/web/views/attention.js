// The view of attention on the server's page: what only a server can do for it, and the keys.

import { AttentionView } from "/insight/attention.js";
import { followKey } from "/insight/attention_map.js";
import { useKeys } from "/insight/parts.js";
import { html, useEffect } from "/insight/vendor/preact.js";
import { attentionWords } from "/insight/words.js";
import { postAbout } from "../api.js";
import { WithTrace } from "../sentence.js";
import { language, state } from "../state.js";
import { extras, trace, want } from "../tracing.js";

const ACTIONS = { openCell: (place) => postAbout(trace.peek().data, "cell", place) };

function onKey(event) {
  const { data, layers } = trace.peek();
  if (!data || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest?.("input[type=text], textarea, select")) return;
  if (event.key === "Escape") state.cell.value = null;
  else if (!followKey(event, data, layers, state)) return;
  event.preventDefault();
}

export function AttentionPage() {
  useKeys(onKey);
  const { status, request } = trace.value;
  useEffect(() => {
    if (status === "ready") want("attribution");
  }, [status, request]);
  return html`<${WithTrace}>${({ data, layers }) => html`<${AttentionView}
    trace=${data} layers=${layers} state=${state} words=${attentionWords(language())}
    attribution=${extras.attribution.value ?? { status: "loading" }} actions=${ACTIONS}
  />`}<//>`;
}
