// The text a language model has written, as it comes.

import { html } from "/insight/vendor/preact.js";
import { LikelyText } from "/insight/likely_text.js";
import { Card } from "/insight/parts.js";
import { textWords } from "/insight/text_words.js";
import { language } from "../state.js";
import { chosen, written } from "./writing_stream.js";

export function WrittenText({ onContinue }) {
  const said = textWords(language());
  const { status, prompt, pieces, error } = written.value;
  const told = status === "writing" ? said.writing(pieces.length) : said.written(pieces.length);
  return html`
    <${Card} title=${said.text} hint=${said.textHint}>
      ${status === "failed" && html`<p class="refusal" role="alert">${said.failed(error)}</p>`}
      ${status === "none" ? html`<p class="empty">${said.empty}</p>` : html`
        <p class="caption" role="status"><span class="busy" data-on=${status === "writing"}>${told}</span></p>
        <${LikelyText} prompt=${prompt} pieces=${pieces} chosen=${chosen} words=${said} onContinue=${onContinue} />`}
    <//>`;
}
