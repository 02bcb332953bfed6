// The view "heads": switches for all heads, and what becomes of the translation without those that are off.

import { html, useEffect, useState } from "/insight/vendor/preact.js";
import { useBetween } from "/insight/attention_map.js";
import { Card } from "/insight/parts.js";
import { WithTrace } from "../sentence.js";
import { extras } from "../tracing.js";
import { ablation, followSwitches, headsIn, nameOf, off, ranked, switchOff, toggle } from "./heads_ablation.js";
import { about, Switches, Worth } from "./heads_switches.js";
import { words } from "./heads_words.js";
import { Differing } from "./translate_output.js";

const NUM_RANKED = 8;
const NEGLIGIBLE = 0.0005; // a change in the log-probability that three digits do not show

const named = ([kind, layer, head], form) => words()[form](words().nameOfUse(kind), layer + 1, head + 1);

function Verdict({ trace, found }) {
  const said = words();
  const { change } = found;
  const verdict = Math.abs(change) < NEGLIGIBLE ? said.none : change < 0 ? said.lost(change) : said.won(change);
  return html`<p class="verdict">${found.text === trace.target.text && said.same} ${verdict}</p>`;
}

/** The two translations one above the other, and in words what the difference means. */
function Outcome({ trace }) {
  const said = words();
  const { status, data: found, error } = ablation.value;
  const language = trace.target.language;
  return html`
    <section class="outcome" aria-label=${said.title} aria-busy=${status === "loading"}>
      <div class="row">
        <p class="label">${said.whole}</p>
        <p class="text" lang=${language}>${trace.target.text}</p>
        <p class="numbers">${said.logProb(trace.forcedLogProb)}</p>
      </div>
      <div class=${status === "loading" ? "row without stale" : "row without"} role="status">
        <p class="label">${off.value.length > 0 ? said.without(off.value.length) : said.grid}</p>
        ${off.value.length === 0 && html`<p class="empty">${said.nothingOff}</p>`}
        ${off.value.length > 0 && found && html`
          <p class="text" lang=${language}><${Differing} before=${trace.target.text} text=${found.text} /></p>
          <p class="numbers">
            ${said.logProb(found.logProb)}${said.listing}${said.oldLogProb(found.oldLogProb, found.change)}</p>
          <${Verdict} trace=${trace} found=${found} />`}
        ${off.value.length > 0 && !found && status === "loading" && html`<p class="empty">${said.computing}</p>`}
        ${error && html`<p class="refusal" role="alert">${said.failed(error)}</p>`}
      </div>
      <${Switched} trace=${trace} />
    </section>`;
}

/** The heads that are off, each to be switched on again, and switches for many at once. */
function Switched({ trace }) {
  const said = words();
  const half = Math.floor(headsIn(trace).length / 2);
  return html`
    <div class="switched">
      ${off.value.map((head) => html`<button
        key=${nameOf(...head)} type="button" class="chip" aria-label=${said.on(named(head, "name"))}
        onClick=${() => toggle([head])}
      >${named(head, "short")} <span aria-hidden="true">×</span></button>`)}
      ${off.value.length > 0 && html`
        <button type="button" class="plain" onClick=${() => switchOff([])}>${said.allOn}</button>`}
      ${ranked.value && html`<button
        type="button" class="plain" onClick=${() => switchOff(ranked.value.slice(-half).map((one) => one.head))}
      >${said.halfOff(half)}</button>`}
    </div>`;
}

function Grid({ trace, layers, changes, most }) {
  const said = words();
  const [pointed, setPointed] = useState(null);
  const names = new Set(off.value.map((head) => nameOf(...head)));
  const weighing = extras.heads.value;
  const depths = trace.attention.map((use) => use.layers.length);
  const isStacked = Math.max(...depths) > 2 * Math.min(...depths); // the shallow uses stand one above the other
  const lacking = ["source", "target"].filter((side) => !useBetween(trace, side, side));
  return html`
    <${Card} title=${said.grid} hint=${said.gridHint}>
      <p class="caption" aria-live="polite">${pointed ? about(pointed, trace.entropy, changes) : said.hint}</p>
      <div class=${isStacked ? "head-uses stacked" : "head-uses"}>
        ${trace.attention.map((use) => html`<${Switches}
          key=${use.name} use=${use} layers=${layers} entropy=${trace.entropy} changes=${changes} most=${most}
          isOff=${(name) => names.has(name)} onPoint=${setPointed}
        />`)}
      </div>
      ${lacking.length > 0 && html`<p class="empty">${said.lacking(lacking)}</p>`}
      <p class="legend">
        <span><i class="useful"></i>${said.useful}</span><span><i class="harmful"></i>${said.harmful}</span>
        ${weighing?.status === "loading" && html`
          <span class="busy" data-on="true" role="status">${said.weighing}</span>`}
        ${weighing?.error && html`<span class="refusal" role="alert">${said.failed(weighing.error)}</span>`}
      </p>
    <//>`;
}

function Important({ most }) {
  const said = words();
  const isOff = (head) => off.value.some((one) => nameOf(...one) === nameOf(...head));
  return html`
    <${Card} title=${said.important} hint=${said.importantHint}>
      <ol class="ranking">
        ${ranked.value.slice(0, NUM_RANKED).map(({ head, change }) => html`<li key=${nameOf(...head)}>
          <button type="button" role="switch" aria-checked=${!isOff(head)} onClick=${() => toggle([head])}>
            <span>${named(head, "name")}</span><${Worth} change=${change} most=${most} />
            <span class="number">${said.value(change)}</span>
          </button>
        </li>`)}
      </ol>
    <//>`;
}

export function HeadsPage() {
  const said = words();
  useEffect(followSwitches, []);
  const changes = extras.heads.value?.data ?? null;
  const most = Math.max(NEGLIGIBLE, ...(ranked.value ?? []).map((one) => Math.abs(one.change)));
  return html`
    <h1>${said.title}</h1>
    <p class="lead">${said.lead}</p>
    <${WithTrace}>${({ data, layers }) => data.attention.length === 0
      ? html`<p class="empty">${said.noHeads}</p>`
      : html`
      <${Outcome} trace=${data} />
      <${Grid} trace=${data} layers=${layers} changes=${changes} most=${most} />
      ${ranked.value && html`<${Important} most=${most} />`}`}
    <//>`;
}
