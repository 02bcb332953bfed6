// What every page that is complete in one file has: the trace beside it, a bar above, and the language it speaks.

import { html, render, signal, useEffect } from "./vendor/preact.js";

export const trace = JSON.parse(document.getElementById("trace").textContent);

const spoken = signal(navigator.language.startsWith("zh") ? "zh" : "en");

/** Draw a page: `wordsOf(language)` are its words, `Body({ language, words })` is what stands under the bar. */
export function showPage(title, wordsOf, Body) {
  function Page() {
    const language = spoken.value;
    const words = wordsOf(language);
    useEffect(() => {
      document.documentElement.lang = language;
      document.title = `${title} – Heedful`;
    }, [language]);
    return html`
      <div class="bar">
        <strong>Heedful</strong>${words.title}<span class="grow"></span>
        <button type="button" class="plain" onClick=${() => { spoken.value = language === "en" ? "zh" : "en"; }}>
          ${words.other}
        </button>
      </div>
      <${Body} language=${language} words=${words} />`;
  }
  render(html`<${Page} />`, document.getElementById("page"));
}

/** Numbers under the heading, [name, value] each. */
export function Facts({ facts, children = null }) {
  return html`
    <div class="facts">
      ${facts.map(([name, value]) => html`<span key=${name}>${name} <b>${value}</b></span>`)}
      ${children}
    </div>`;
}
