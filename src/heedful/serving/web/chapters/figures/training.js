// What training looks at: the loss of each token of a reference, what smoothing asks for, and the learning rate.

import { html, useState } from "/insight/vendor/preact.js";
import { Painting, Slider } from "/insight/parts.js";
import { colour, context, spelled } from "/insight/drawing.js";
import { exampleOf, speaks, translator, useTrace } from "../traces.js";
import { chapterWords } from "../words.js";
import { Bars, Figure, stateFor } from "./frame.js";

/** The trace of the reference: every step is given what stands there, not what the model would have written. */
export function useReference(figure) {
  const example = exampleOf(figure);
  const hypothesis = speaks(figure.target ?? "de") ? { hypothesis: figure.reference } : {};
  return { example, answer: useTrace(example, hypothesis) };
}

export function LossFigure({ figure }) {
  const said = chapterWords();
  const { example, answer } = useReference(figure);
  const losses = answer.status === "ready" ? answer.data.steps.map((step) => -step.logProb) : [];
  const most = Math.max(4, ...losses);
  const total = losses.reduce((sum, loss) => sum + loss, 0) / losses.length;
  return html`
    <${Figure} name="loss" answers=${[answer]} caption=${() => said.loss.total(total)}
      open=${() => stateFor(example, { view: "decoding" })}>${() => html`
      <p class="side">${said.loss.reference}:
        ${" "}<strong lang=${answer.data.target.language}>${answer.data.target.text}</strong></p>
      <p class="side">${said.loss.token} · ${said.loss.loss} = −log p</p>
      <${Bars} label=${said.loss.loss} rows=${losses.map((loss, at) => ({
        name: spelled(answer.data.target.tokens[at]), part: loss / most, shown: loss.toFixed(2), isChosen: loss > 2,
      }))} />`}
    <//>`;
}

/** The distribution the loss asks for at one step, and the one the model gives. */
export function SmoothingFigure({ figure }) {
  const said = chapterWords();
  const { example, answer } = useReference(figure);
  const [smoothing, setSmoothing] = useState(0.1);
  const count = translator.value?.vocabulary ?? 14000;
  const step = figure.step ?? 0;
  const at = Math.min(step, (answer.data?.steps.length ?? 1) - 1);
  const asked = 1 - smoothing + smoothing / count;
  return html`
    <${Figure} name="smoothing" answers=${[answer]} open=${() => stateFor(example, { view: "decoding", step: at })}
      caption=${() => said.loss.target}>${() => html`
      <${Bars} label=${said.loss.target} rows=${[
        { name: spelled(answer.data.target.tokens[at]), part: asked, shown: asked.toFixed(3), isChosen: true },
        { name: said.loss.others(count - 1), part: smoothing / count, shown: (smoothing / count).toExponential(1) },
      ]} />
      <div class="tools"><${Slider} label=${said.loss.smoothing} min=${0} max=${0.3} step=${0.01} value=${smoothing}
        shown=${smoothing.toFixed(2)} onSlide=${setSmoothing} /></div>`}
    <//>`;
}

const rateAt = (step, dim, warmUp) => dim ** -0.5 * Math.min(step ** -0.5, step * warmUp ** -1.5);

export function ScheduleFigure() {
  const said = chapterWords().schedule;
  const [warmUp, setWarmUp] = useState(4000);
  const dim = translator.value?.dim ?? 512;
  const last = 20000;
  const paint = (canvas, width) => {
    const [height, floor] = [200, 180];
    const pen = context(canvas, width, height);
    const top = rateAt(1000, dim, 1000);
    pen.strokeStyle = colour("--line");
    pen.beginPath();
    pen.moveTo(0, floor + 0.5);
    pen.lineTo(width, floor + 0.5);
    pen.stroke();
    pen.strokeStyle = `rgb(${colour("--heat")})`;
    pen.lineWidth = 2.5;
    pen.beginPath();
    for (let x = 0; x <= width; x++) {
      const y = floor - (floor - 10) * (rateAt(Math.max(1, (x / width) * last), dim, warmUp) / top);
      pen[x ? "lineTo" : "moveTo"](x, y);
    }
    pen.stroke();
    pen.fillStyle = colour("--soft");
    pen.font = "12px system-ui, sans-serif";
    pen.fillText("0", 0, height - 4);
    pen.textAlign = "right";
    pen.fillText(`${last} ${said.steps}`, width, height - 4);
  };
  const peak = rateAt(warmUp, dim, warmUp).toExponential(1);
  return html`
    <${Figure} name="schedule" caption=${() => said.peak(peak, warmUp)}
      open=${() => ({ view: "training" })}>${() => html`
      <p class="side">↑ ${said.rate} · d = ${dim}</p>
      <${Painting} when=${[warmUp, dim]} paint=${paint} label=${`${said.rate}. ${said.peak(peak, warmUp)}`} />
      <div class="tools"><${Slider} label=${said.warmUp} min=${1000} max=${10000} step=${500} value=${warmUp}
        onSlide=${setWarmUp} /></div>`}
    <//>`;
}
