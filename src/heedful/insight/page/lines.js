// Attention as lines between two columns of tokens. A token that is pointed at shows only its own lines.

import { strongest } from "./attention_map.js";
import { colour, context, shade, spelled } from "./drawing.js";
import { useScheme, useWidth } from "./parts.js";
import { html, useLayoutEffect, useMemo, useRef } from "./vendor/preact.js";

const ROW_HEIGHT = 26;
const NUM_COLOURS = 8; // of heads, in page.css; more heads than that share them
const LEAST = 0.01; // weights below are not written as numbers

/** The colour of a head among several; one alone, and the mean, have that of every map. */
export function headColour(head, isOneOfSeveral) {
  return colour(isOneOfSeveral ? `--head-${head % NUM_COLOURS}` : "--heat");
}

/**
 * `maps` are {head, weights} of what is shown, `mean` their mean; `pointed` is a signal {side, index} or null, and
 * `held` what is shown while nothing is pointed at.
 */
export function Lines({ maps, mean, axes, mass, pointed, held, current, caption, onHold }) {
  const [box, canvas, whole] = [useRef(null), useRef(null), useRef(null)];
  const [width, scheme] = [useWidth(box), useScheme()];
  const shown = pointed.value ?? held;
  const height = Math.max(axes.rows.length, axes.columns.length) * ROW_HEIGHT;
  const kept = useMemo(() => maps.map(({ weights }) => weights.map((row) => strongest(row, mass))), [maps, mass]);
  useMemo(() => { whole.current = null; }, [kept, width, scheme]);
  useLayoutEffect(() => {
    if (width === 0) return;
    const pen = context(canvas.current, width, height);
    if (shown !== null) {
      strokeLines(pen, maps, kept, width, shown);
      writeNumbers(pen, mean, width, shown);
      return;
    }
    whole.current ??= paintedWhole(maps, kept, width, height);
    pen.drawImage(whole.current, 0, 0, width, height);
  }, [kept, mean, width, scheme, shown?.side, shown?.index]);
  const point = (side, index) => () => { pointed.value = { side, index }; };
  const leave = () => { pointed.value = null; };
  const column = (side, groups) => groups.map((group, index) => {
    const isHeld = held?.side === side && held.index === index;
    return html`<button
      key=${index} type="button" class=${group.isSpecial ? "special" : null} title=${group.text} aria-pressed=${isHeld}
      aria-current=${side === "row" && group.first <= current && current < group.end ? "step" : null}
      tabindex=${side === "row" ? 0 : -1} style=${{ background: isHeld ? "" : backing(mean, shown, side, index) }}
      onMouseEnter=${point(side, index)} onMouseLeave=${leave} onFocus=${point(side, index)} onBlur=${leave}
      onClick=${() => onHold(isHeld ? null : { side, index })}
    >${spelled(group)}</button>`;
  });
  return html`
    <div>
      <p class="caption">${caption}</p>
      <div class="scroll">
        <div class="lines">
          <div class="column left">${column("row", axes.rows)}</div>
          <div ref=${box}><canvas ref=${canvas} aria-hidden="true"></canvas></div>
          <div class="column right">${column("column", axes.columns)}</div>
        </div>
      </div>
      <p class="caption told" role="status">${shown && told(mean, axes, shown)}</p>
    </div>`;
}

/** How a token across from the one shown is shaded: by the weight between the two. */
function backing(mean, shown, side, index) {
  if (shown === null || shown.side === side) return "";
  const weight = side === "column" ? mean[shown.index]?.[index] : mean[index]?.[shown.index];
  return weight > 0 ? `rgb(${colour("--heat")} / ${shade(weight) * 0.5})` : "";
}

/** In words what the lines of one token show: the most it looks at, or those that look at it most. */
function told(mean, axes, { side, index }) {
  const [own, others, arrow] = side === "row" ? [axes.rows, axes.columns, "→"] : [axes.columns, axes.rows, "←"];
  if (index >= own.length) return "";
  const weights = others.map((_, other) => (side === "row" ? mean[index][other] : mean[other][index]));
  const most = [...weights.keys()].filter((i) => weights[i] >= LEAST).sort((a, b) => weights[b] - weights[a]);
  const named = most.slice(0, 3).map((other) => `${spelled(others[other])} ${weights[other].toFixed(2)}`);
  return `${spelled(own[index])} ${arrow} ${named.join(", ")}`;
}

/** All lines, painted once and kept: they are many, and every pointer that leaves a token asks for them again. */
function paintedWhole(maps, kept, width, height) {
  const picture = document.createElement("canvas");
  strokeLines(context(picture, width, height), maps, kept, width, null);
  return picture;
}

function strokeLines(pen, maps, kept, width, shown) {
  const apart = Math.min(2.5, (ROW_HEIGHT - 8) / maps.length); // heads that agree would lie upon each other
  maps.forEach(({ head, weights }, number) => {
    const ink = headColour(head, maps.length > 1);
    const middle = (index) => (index + 0.5) * ROW_HEIGHT + (number - (maps.length - 1) / 2) * apart;
    weights.forEach((row, y) => {
      if (shown?.side === "row" && shown.index !== y) return;
      const peak = shown?.side === "row" ? Math.max(...row, 1e-9) : 1; // alone, a row that looks everywhere is seen too
      for (const x of kept[number][y]) {
        if (shown?.side === "column" && shown.index !== x) continue;
        pen.strokeStyle = `rgb(${ink} / ${Math.min(1, (0.9 * row[x]) / peak + 0.02)})`;
        pen.lineWidth = 0.6 + 2.6 * row[x];
        pen.beginPath();
        pen.moveTo(0, middle(y));
        pen.bezierCurveTo(width * 0.4, middle(y), width * 0.6, middle(x), width, middle(x));
        pen.stroke();
      }
    });
  });
}

/** The numbers of one token, each where its line ends. */
function writeNumbers(pen, mean, width, shown) {
  const isRow = shown.side === "row";
  const weights = isRow ? mean[shown.index] ?? [] : mean.map((row) => row[shown.index]);
  pen.font = '11px system-ui, "PingFang SC", "Noto Sans CJK SC", sans-serif';
  pen.textAlign = isRow ? "right" : "left";
  pen.textBaseline = "middle";
  pen.lineWidth = 4;
  pen.lineJoin = "round";
  [pen.strokeStyle, pen.fillStyle] = ["--card", "--ink"].map(colour);
  weights.forEach((weight, index) => {
    if (weight < LEAST) return;
    const place = [weight.toFixed(2), isRow ? width - 4 : 4, (index + 0.5) * ROW_HEIGHT];
    pen.strokeText(...place);
    pen.fillText(...place);
  });
}
