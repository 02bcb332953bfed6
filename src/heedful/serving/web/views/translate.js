// The view "translate": a text beside its translation, and what can be known about it without looking inside.

import { batch, html, useEffect, useState } from "/insight/vendor/preact.js";
import { Card } from "/insight/parts.js";
import { LanguageMenu } from "../language_menu.js";
import { directions, nameOf, target } from "../served.js";
import { change, follow, OF_SENTENCE, queryWith, state } from "../state.js";
import { useTyped } from "../typing.js";
import { answer, followQuestion, question, textOf } from "./translate_asking.js";
import { Another, Differing, Heard, Shaded } from "./translate_output.js";
import { foundTerms, TermsField } from "./translate_terms.js";
import { EXAMPLES, words } from "./translate_words.js";

const REST = 300; // milliseconds without typing before the text counts
const MOST_LOOKED_INTO = 1000; // characters
const SAID = ["unchanged", "unknown_language", "unchanged_sentence", "unknown_sentence", "missing_term"];

/** Another text, or other languages: what was chosen inside the last one does not hold. */
const set = (changes) => change({ ...OF_SENTENCE, ...changes });

const isRead = (code) => directions.value.some((one) => one.code === code);

const otherThan = (code) => directions.value.find((one) => one.code === code)?.targets.find((one) => one !== code);

function chooseSource(code) {
  set({ source: code, target: code === target.value ? otherThan(code) : target.value });
}

function chooseTarget(code) {
  const isSame = code === state.source.value;
  set({ source: isSame ? target.value : state.source.value, target: code });
}

function swap() {
  const { detected } = answer.value;
  const found = isRead(detected) ? detected : otherThan(target.value);
  const from = state.source.value === "auto" ? found : state.source.value;
  const text = textOf(answer.value) || state.text.value;
  set({ source: target.value, target: from === target.value ? otherThan(from) : from, text });
}

function Direction() {
  const said = words();
  const { detected } = answer.value;
  const codes = directions.value.map((one) => one.code);
  const found = state.source.value === "auto" && detected;
  return html`
    <div class="side">
      <${LanguageMenu}
        label=${said.from} codes=${codes} value=${state.source.value} detect=${said.detect} onChoose=${chooseSource}
      />
      ${found && html`<span class="detected">${isRead(found)
        ? said.detected(nameOf(found))
        : found === "und" ? said.unnamed : said.unknown(nameOf(found))}</span>`}
    </div>
    <button type="button" class="swap plain" title=${said.swap} aria-label=${said.swap} onClick=${swap}>⇄</button>
    <div class="side">
      <${LanguageMenu} label=${said.to} codes=${codes} value=${target.value} onChoose=${chooseTarget} />
    </div>`;
}

function Text() {
  const said = words();
  const { typed, settle, handlers } = useTyped(state.text.value, REST, (text) => set({ text }));
  return html`
    <div class="pane source">
      <textarea
        aria-label=${said.source} placeholder=${said.placeholder} value=${typed} rows="4" spellcheck=${false} dir="auto"
        class=${typed.length > 240 ? "long" : ""} lang=${state.source.value === "auto" ? null : state.source.value}
        ...${handlers}
      ></textarea>
      <div class="under">
        <span class="count">${typed.length.toLocaleString("en")}</span>
        ${typed && html`<button type="button" class="plain" onClick=${() => settle("")}>${said.clear}</button>`}
      </div>
    </div>`;
}

/** A button that copies, and says so for a moment. */
function Copy({ text, label }) {
  const said = words();
  const [note, setNote] = useState(null);
  const copy = async () => {
    const hasWorked = await navigator.clipboard?.writeText(text).then(() => true, () => false);
    setNote(hasWorked ? said.copied : said.notCopied);
    setTimeout(() => setNote(null), 1500);
  };
  return html`<button type="button" class="plain" onClick=${copy}>
    <span aria-live="polite">${note ?? label}</span></button>`;
}

function Look({ isAnother }) {
  const said = words();
  const text = state.text.value;
  if (!text.trim()) return null;
  if (text.length > MOST_LOOKED_INTO) return html`<span class="hint">${said.lookLong}</span>`;
  const changes = { view: "attention", prefix: null }; // what is shown here was not continued by hand
  return html`<a class="look" href=${queryWith(changes)} onClick=${(event) => follow(event, changes)}>
    ${isAnother ? said.lookOwn : said.look} →</a>`;
}

function Refusal({ error, status }) {
  const said = words();
  const sentence = status === "crowded"
    ? said.crowded(error.seconds)
    : error.status === 413 ? said.tooMuch(error.sentence) : said.refused(error.sentence);
  return html`<p class="refusal" role="alert">${sentence}</p>`;
}

/** What is to be known about the translation, each kind once. */
function Warnings({ warnings }) {
  const said = words();
  const found = new Map(warnings.map(({ code, message }) => [code, message]));
  const isThere = found.delete("unchanged");
  const into = otherThan(target.value);
  return html`
    ${isThere && into && html`<p class="notice">${said.already(nameOf(target.value))}
      <button type="button" class="plain" onClick=${() => chooseTarget(into)}>
        ${said.translateInto(nameOf(into))}</button></p>`}
    ${[...found].map(([code, message]) => html`<p key=${code} class="notice" title=${message}>
      ${code === "missing_term" ? said.missingTerms(message.replace(/^.*?: /, ""))
        : Object.hasOwn(said.warnings, code) ? said.warnings[code] : message}</p>`)}`;
}

/** What is said of heard sentences beside that they are doubtful: they were left as they are, or lack a term. */
const saidOf = (heard) => heard.flatMap((one) => one.warnings).filter(({ code }) => SAID.includes(code));

function Translated({ chosen }) {
  const said = words();
  const { status, whole, heard, about, error } = answer.value;
  const another = whole?.alternatives[chosen - 1];
  const text = another ?? textOf(answer.value);
  const numTokens = whole?.units.reduce((sum, unit) => sum + unit.tokens.length, 0);
  return html`
    <div class="pane target" aria-busy=${status === "loading"}>
      <div class=${status === "loading" && !heard ? "stale content" : "content"}>
        ${error && html`<${Refusal} error=${error} status=${status} />`}
        ${whole && (another
          ? html`<${Another} before=${whole.text} text=${another} language=${target.value} />`
          : html`<${Shaded} whole=${whole} language=${target.value} />`)}
        ${heard && html`<${Heard} sentences=${heard} language=${target.value} />
          <${Warnings} warnings=${about.concat(saidOf(heard))} />`}
        ${whole && html`<${Warnings} warnings=${whole.warnings} />`}
      </div>
      <p class="unseen" aria-live="polite" lang=${target.value}>${whole || status === "ready" ? text : ""}</p>
      <div class="under">
        <span class="busy" data-on=${status === "loading"}>${status === "loading"
          ? said.busy
          : whole ? said.facts(numTokens, whole.milliseconds) : heard ? said.sentences(heard.length) : ""}</span>
        ${text && html`<${Copy} text=${text} label=${said.copy} />`}
        <${Look} isAnother=${Boolean(another) && whole.units.length > 1} />
      </div>
    </div>`;
}

function Others({ chosen, onChoose }) {
  const said = words();
  const { whole } = answer.value;
  if (!whole?.text || question.value.glossary) return null;
  const rows = [whole.text, ...whole.alternatives];
  return html`
    <${Card} title=${said.others} hint=${whole.alternatives.length > 0 ? said.othersHint : said.nothing}>
      ${whole.alternatives.length > 0 && html`<div class="others" role="radiogroup" aria-label=${said.others}>
        ${rows.map((text, number) => html`<button
          key=${number} type="button" role="radio" aria-checked=${number === chosen} lang=${target.value} dir="auto"
          onClick=${() => onChoose(number)}
        ><span>${number === 0 ? text : html`<${Differing} before=${whole.text} text=${text} />`}</span>
          ${number === 0 && html`<small>${said.best}</small>`}</button>`)}
      </div>`}
    <//>`;
}

/** The request as one would type it; a quote inside single quotes is closed, escaped and opened again. */
function Curl() {
  const said = words();
  const body = JSON.stringify(question.value).replaceAll("'", "'\\''");
  const command = `curl ${location.origin}/translate -H 'content-type: application/json' -d '${body}'`;
  return html`
    <details class="curl">
      <summary>${said.curl}</summary>
      <div class="scroll"><pre><code>${command}</code></pre></div>
      <${Copy} text=${command} label=${said.copyCurl} />
    </details>`;
}

function Examples() {
  const said = words();
  const isKnown = ([from, into]) => directions.value.some((one) => one.code === from && one.targets.includes(into));
  const shown = EXAMPLES.filter(isKnown);
  if (shown.length === 0) return null;
  return html`
    <div class="examples" role="group" aria-label=${said.examples}>
      <h2>${said.examples}</h2>
      ${shown.map(([from, into, text]) => html`<button
        key=${text} type="button" onClick=${() => set({ text, source: "auto", target: into })}
      ><small>${said.into(nameOf(from), nameOf(into))}</small><span lang=${from}>${text}</span></button>`)}
    </div>`;
}

export function TranslatePage() {
  const said = words();
  const { status, whole } = answer.value;
  const [shown, setShown] = useState(null); // another translation of several sentences, which is not looked into
  const isOne = (whole?.units.length ?? 0) < 2;
  // Of one sentence, the one chosen is part of the address; what the search has not found cannot be shown here.
  const chosen = whole?.alternatives.indexOf(isOne ? state.hypothesis.value : shown) + 1 || 0;
  const choose = (number) => batch(() => {
    const text = whole.alternatives[number - 1] ?? null;
    setShown(text);
    state.prefix.value = null;
    state.hypothesis.value = isOne ? text : null;
  });
  useEffect(followQuestion, []);
  useEffect(() => {
    if (status === "ready" && (chosen === 0 || !isOne)) state.hypothesis.value = null;
  }, [status, chosen, isOne, state.hypothesis.value]);
  return html`
    <h1>${said.title}</h1>
    <p class="lead">${said.lead}</p>
    <section class="panes" aria-label=${said.title}>
      <div class="tongues"><${Direction} /></div>
      <${Text} /><${Translated} chosen=${chosen} />
      <${TermsField} found=${status === "ready" ? foundTerms(answer.value) : null} />
    </section>
    <${Others} chosen=${chosen} onChoose=${choose} />
    <${Examples} />
    <${Curl} />`;
}
