// The page of the end of a text as a language model read it, complete in one file.

import { unpack } from "./drawing.js";
import { Facts, showPage, trace } from "./explained_frame.js";
import { Choices, LikelyText } from "./likely_text.js";
import { Card } from "./parts.js";
import { ReachView } from "./reach.js";
import { textWords } from "./text_words.js";
import { html, signal } from "./vendor/preact.js";

const layers = trace.attention.map(unpack);
const state = { layer: signal(null), head: signal(-1) };
const chosen = signal(null);

const choicesOf = (expected) => expected.map(({ text, logProb }) => ({ text, probability: Math.exp(logProb) }));
const prompt = (trace.remembered.join("") + trace.read[0]).replace(/^\n/, ""); // a text is taken to follow a line end
const pieces = trace.read.slice(1).map((text, number) => ({
  text, probability: Math.exp(trace.logProbs[number]), choices: choicesOf(trace.expected[number]),
}));
const nats = -trace.logProbs.reduce((sum, one) => sum + one, 0) / Math.max(1, pieces.length);

function Body({ words }) {
  const facts = [
    [words.symbols, pieces.length],
    [words.bits, (nats / Math.LN2).toFixed(3)],
    [words.perplexity, Math.exp(nats).toFixed(2)],
  ];
  return html`
    ${pieces.length > 0 && html`<${Facts} facts=${facts} />
      <${Card} title=${words.readText} hint=${words.textHint}>
        <${LikelyText} prompt=${prompt} pieces=${pieces} chosen=${chosen} words=${words} />
      <//>`}
    <${Card} title=${words.next} hint=${words.nextHint}><${Choices} choices=${choicesOf(trace.expected.at(-1))} /><//>
    <${Card} title=${words.reach} hint=${words.reachHint}>
      <${ReachView} data=${trace} layers=${layers} state=${state} words=${words} />
    <//>`;
}

showPage(trace.read.slice(1).join("").trim() || "…", textWords, Body);
