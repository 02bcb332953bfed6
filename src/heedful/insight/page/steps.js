// Decoding, one token after the other: where the model looked and what it thought likely when it wrote each of them.
// Steps, plays and hears ← → and p by itself; whoever surrounds it says through `actions` what else can be done:
// `attribute()` computes an attribution, `continueFrom(step, tokenId)` lets the translation go on with another token.

import { html, useEffect } from "./vendor/preact.js";
import { chooseHeads, useBetween } from "./attention_map.js";
import { decodingWords, minused, percentOf } from "./decoding_words.js";
import { headOf, shade, spelled } from "./drawing.js";
import { Card, Choice } from "./parts.js";
import { Player, usePlayKeys, usePlaying, within } from "./player.js";

/** The step that is shown: the state's, as far as the translation goes. */
export function shownStep(trace, state) {
  return within(state.step, trace.target.tokens.length - 1);
}

/** The ids that are no text: nothing can be read in them, and nothing follows the end. */
export function symbolIds(trace) {
  const nodes = trace.beam?.nodes ?? [];
  const last = nodes.length ? nodes[nodes.length - 1].step : 0;
  return new Set([
    ...[...trace.inputs, ...trace.target.tokens].filter((token) => token.isSpecial).map((token) => token.id),
    // At the last step whatever stands there may be an end: the length allowed may have been reached.
    ...nodes.filter((node) => node.isEnd && node.step < last).map((node) => node.tokenId),
  ]);
}

/** The nodes of a beam that lead to one, itself last. */
export function pathTo(beam, node) {
  const path = [];
  for (let at = node; at; at = beam.nodes[at.parent]) path.unshift(at);
  return path;
}

/** The steps at which a term was written, and nothing was chosen; what one has chosen oneself is not among them. */
const givenSteps = ({ beam, prefix = 0 }) =>
  new Set(beam ? pathTo(beam, beam.nodes[beam.chosen]).filter((node) => node.isForced && node.step >= prefix)
    .map((node) => node.step) : []);

export function DecodingView({ trace, layers, state, language, actions }) {
  const said = decodingWords(language);
  const step = shownStep(trace, state);
  const [atSource, atWritten] = ["source", "target"].map((at) => layers[useBetween(trace, "target", at)?.name]);
  const place = chosenHead(atSource ?? atWritten, state);
  const last = trace.target.tokens.length - 1;
  const playing = usePlaying(trace.target, state.step, last);
  usePlayKeys(playing, state.step, last);
  const given = givenSteps(trace);
  const isCopied = Boolean(trace.fertilities); // then nothing is written before: all copies of the source are read
  const [cross, own] = [atSource, atWritten].map((use) => use && headOf(use[place.layer], place.head)[step]);
  return html`
    <${Card} title=${said.decoding} hint=${said.decodingHint}>
      ${place && html`<div class="tools"><${HeadChoice} place=${place} state=${state} said=${said} /></div>`}
      <${Player}
        playing=${playing} place=${state.step} last=${last} label=${said.step} said=${said}
        told=${said.stepOf(step + 1, last + 1)}
      />
      <p class="unseen" aria-live="polite">${playing.isPlaying ? "" : announced(trace, step, said)}</p>
      <p class="label">${said.output}</p>
      <div class="chips stacked">
        ${trace.target.tokens.map(
          (token, number) => html`<${WrittenChip}
            key=${number} token=${token} trace=${trace} number=${number} step=${step} state=${state} said=${said}
            isGiven=${given.has(number)}
          />`,
        )}
      </div>
      <div class="two">
        <div>
          <${SourceRow}
            trace=${trace} step=${step} row=${cross} state=${state} said=${said} actions=${actions}
          />
          <p class="label">${isCopied ? said.copied : own ? said.written : said.writtenBefore}</p>
          <div class="chips stacked read">
            ${(isCopied ? trace.inputs : trace.inputs.slice(0, step + 1)).map(
              (token, number) => html`<${WeightChip} key=${number} token=${token} weight=${own?.[number]} />`,
            )}
          </div>
        </div>
        <${LikelyTokens} trace=${trace} step=${step} said=${said} actions=${actions} />
      </div>
    <//>`;
}

/** A step in words, for those who hear the page. */
function announced(trace, step, said) {
  const { tokens } = trace.target;
  return said.stepSaid(step + 1, tokens.length, spelled(tokens[step]), percentOf(trace.steps[step].logProb));
}

/** The layer and head the rows are of, null without attention; what another model left behind is kept in bounds. */
function chosenHead(use, state) {
  if (!use) return null;
  const [last, count] = [use.length - 1, use[0].shape[0]];
  return {
    layers: use.length,
    heads: count,
    layer: Math.max(0, Math.min(state.layer.value ?? last, last)),
    head: Math.max(-1, Math.min(state.head.value, count - 1)),
  };
}

function HeadChoice({ state, place, said }) {
  const counted = (count) => [...Array(count).keys()].map((number) => [number, String(number + 1)]);
  return html`
    <${Choice}
      label=${said.layer} options=${counted(place.layers)} value=${place.layer}
      onChoose=${(layer) => { state.layer.value = layer; }}
    />
    <${Choice}
      label=${said.head} options=${[[-1, said.mean], ...counted(place.heads)]} value=${place.head}
      onChoose=${(head) => chooseHeads(state, head < 0 ? null : [head])}
    />`;
}

function WrittenChip({ token, trace, number, step, state, said, isGiven }) {
  const numForced = trace.prefix ?? 0; // the last of them was chosen, those before it were kept
  const isForced = number === numForced - 1 || isGiven;
  const why = isGiven ? said.forcedNode : isForced ? said.forced : number < numForced ? said.kept : null;
  const probability = percentOf(trace.steps[number].logProb);
  const names = ["chip", token.isSpecial && "special", number > step && "later", isForced && "forced"];
  return html`
    <button
      type="button" class=${names.filter(Boolean).join(" ")} aria-current=${number === step ? "step" : null}
      title=${why ? `${probability} · ${why}` : probability}
      style=${{ background: `rgb(var(--heat) / ${0.32 * Math.exp(trace.steps[number].logProb)})` }}
      onClick=${() => { state.step.value = number; }}
    >${spelled(token)}<small>${probability}</small></button>`;
}

/** A token shaded by a weight; without one it is only named. */
function WeightChip({ token, weight = null }) {
  const style = { background: `rgb(var(--heat) / ${0.7 * shade(weight ?? 0)})` };
  return html`<span class=${token.isSpecial ? "chip special" : "chip"} style=${style}>
    ${spelled(token)}${weight !== null && html`<small>${weight.toFixed(3)}</small>`}</span>`;
}

/** The source, shaded by where the token being written looks, or by what it rests on. */
function SourceRow({ trace, step, row, state, said, actions }) {
  const canAttribute = Boolean(trace.attribution || actions?.attribute);
  const isAttribution = canAttribute && state.shading.value === "attribution";
  useEffect(() => {
    if (isAttribution && !trace.attribution) actions.attribute();
  });
  const parts = isAttribution ? trace.attribution?.[step] : null;
  const largest = Math.max(1e-9, ...(parts ?? []).map(Math.abs));
  const attributed = (token, number) => {
    const part = parts?.[number] ?? 0;
    const hue = part < 0 ? "--against" : "--heat";
    const style = { background: `rgb(var(${hue}) / ${(0.7 * Math.abs(part)) / largest})` };
    return html`<span key=${number} class=${token.isSpecial ? "chip special" : "chip"} style=${style}>
      ${spelled(token)}<small>${parts ? minused(part, 2, true) : "…"}</small></span>`;
  };
  return html`
    ${canAttribute
      ? html`<${Choice}
          label=${said.source} options=${[["attention", said.byAttention], ["attribution", said.byAttribution]]}
          value=${state.shading.value} onChoose=${(shading) => { state.shading.value = shading; }}
        />`
      : html`<p class="label">${said.source} ${said.byAttention}</p>`}
    ${isAttribution && html`<p class="label">${parts ? said.attributionHint : said.attributing}</p>`}
    <div class="chips stacked source">
      ${trace.source.tokens.map((token, number) =>
        isAttribution
          ? attributed(token, number)
          : html`<${WeightChip} key=${number} token=${token} weight=${row?.[number]} />`,
      )}
    </div>`;
}

/** What could have been written at a step; where the surroundings can, each of it can be chosen instead. */
function LikelyTokens({ trace, step, said, actions }) {
  const { top, rank, logProb } = trace.steps[step];
  const written = trace.target.tokens[step];
  const choices = top.map((one, number) => ({ ...one, rank: number }));
  if (!choices.some((one) => one.id === written.id)) choices.push({ ...written, rank, logProb });
  const symbols = symbolIds(trace);
  return html`
    <div>
      <p class="label">${said.likely(step + 1)}${actions?.continueFrom && html`<br />${said.likelyHint}`}</p>
      <div class="top ranked" role="table" aria-label=${said.likely(step + 1)}>
        ${choices.map((one) => {
          const isWritten = one.id === written.id;
          const canChoose = actions?.continueFrom && !isWritten && !symbols.has(one.id);
          const bar = { width: `${100 * Math.exp(one.logProb)}%` };
          return html`
            <div role="row" class="candidate" key=${one.id}>
              <span role="cell" class="rank" aria-label=${`${said.rank} ${one.rank + 1}`}>${one.rank + 1}</span>
              <span role="cell" class=${isWritten ? "written" : "other"}>
                ${canChoose
                  ? html`<button
                      type="button" class="goes-on" title=${said.goOn} aria-label=${said.goOnWith(spelled(one))}
                      onClick=${() => actions.continueFrom(step, one.id)}
                    >${spelled(one)}</button>`
                  : spelled(one)}
              </span>
              <span class="track" aria-hidden="true"><i style=${bar}></i></span>
              <span role="cell" class="number">${percentOf(one.logProb)}</span>
            </div>`;
        })}
      </div>
    </div>`;
}
