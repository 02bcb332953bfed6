// The view of attention: use, layer and heads are chosen; lines, heat map and grid show the same numbers; a cell can be
// opened where the surroundings can compute it. The state is theirs as well; nothing is kept here but the pointer.

import { AllHeads } from "./all_heads.js";
import {
  axesOf, chooseKind, groupAt, holdRow, lookOf, mapOf, strongestWithin, tokensOf,
} from "./attention_map.js";
import { Beside } from "./beside.js";
import { Cell } from "./cell.js";
import { saveHeat } from "./drawing.js";
import { HeadStrip } from "./head_strip.js";
import { HeatMap } from "./heat_map.js";
import { Lines } from "./lines.js";
import { Card, Choice, Slider, Switch } from "./parts.js";
import { batch, html, useMemo, useSignal } from "./vendor/preact.js";

const OUTSIDE = { row: -1, column: -1 }; // of the heat map: any arrow key leads to the first cell

export function AttentionView({ trace, layers, state, words, attribution = inTrace(trace), actions = {} }) {
  const look = lookOf(trace, layers, state);
  if (!look) return html`<${Card} title=${words.attention}><p class="empty">${words.noAttention}</p><//>`;
  return html`<${Shown}
    trace=${trace} layers=${layers} look=${look} state=${state} words=${words} attribution=${attribution}
    actions=${actions}
  />`;
}

function Shown({ trace, layers, look, state, words, attribution, actions }) {
  const [merged, hidden] = [state.units.value === "words", state.symbols.value === "hidden"];
  const pointed = useSignal(null);
  const heldColumn = useSignal(null);
  const layer = layers[look.kind][look.layer];
  const axes = useMemo(() => axesOf(trace, look.use, { merged, hidden }), [trace, look.use, merged, hidden]);
  const mean = useMemo(() => mapOf(layer, look.heads, axes, hidden), [layer, look.heads?.join(), axes]);
  const maps = useMemo(
    () => look.heads?.length > 1
      ? look.heads.map((head) => ({ head, weights: mapOf(layer, [head], axes, hidden) }))
      : [{ head: -1, weights: mean }],
    [mean],
  );
  const isMasked = useMemo(
    () => (row, column) => look.use.causal && axes.columns[column].first >= axes.rows[row].end,
    [look.use, axes],
  );
  const row = groupAt(axes.rows, state.held.value);
  const held = row >= 0 ? { side: "row", index: row } : heldColumn.value;
  const hold = (target) => batch(() => {
    heldColumn.value = target?.side === "column" ? target : null;
    holdRow(state, look.use, target?.side === "row" ? axes.rows[target.index].first : null);
  });
  const cell = actions.openCell ? cellOf(state, trace, layer, look) : null;
  const place = cell && { row: groupAt(axes.rows, cell.row), column: groupAt(axes.columns, cell.column) };
  const opened = place && place.row >= 0 && place.column >= 0 ? place : null; // not where symbols are hidden
  const choose = (at) => {
    const isAgain = place ? place.row === at.row && place.column === at.column : row === at.row;
    const [from, to] = [axes.rows[at.row], axes.columns[at.column]];
    const strongest = strongestWithin(layer, look.heads, from, to);
    batch(() => {
      hold(isAgain ? null : { side: "row", index: at.row });
      state.cell.value = isAgain || !actions.openCell ? null : [strongest.row, strongest.column];
    });
  };
  return html`
    <${Card} title=${words.attention} hint=${words.attentionHint}>
      <${Tools} trace=${trace} layers=${layers} look=${look} state=${state} words=${words} />
      <${Notes} look=${look} merged=${merged} hidden=${hidden} words=${words} />
      <div class="two">
        <${Lines}
          maps=${maps} mean=${mean} axes=${axes} mass=${look.mass} pointed=${pointed} held=${held} onHold=${hold}
          current=${look.kind === "encoder" ? -1 : state.step.value} caption=${words.linesAxes(look.use)}
        />
        <${HeatMap}
          weights=${mean} rows=${axes.rows} columns=${axes.columns} isMasked=${isMasked} role="application"
          label=${words.heatLabel(words.nameOfUse(look.kind))} caption=${words.heatAxes(look.use)}
          spell=${(from, to, weight) => `${from} → ${to}: ${weight ?? words.masked}`} start=${opened ?? OUTSIDE}
          mark=${(at) => ({ shown: pointed.value ?? held, framed: [opened, at] })} onChoose=${choose}
        >
          <p class="below">
            <span class="hint">${actions.openCell ? words.openHint : words.heatHint}</span>
            <button type="button" class="plain small" onClick=${() => saveHeat(mean, axes, isMasked)}>
              ${words.save}</button>
          </p>
        <//>
      </div>
      ${cell && html`<${Cell}
        place=${cell} open=${actions.openCell} rowToken=${tokensOf(trace, look.use).rows[cell.row]}
        columnTokens=${tokensOf(trace, look.use).columns} words=${words}
        why=${look.heads?.length === 1 ? "" : words.looksMost} onClose=${() => { state.cell.value = null; }}
      />`}
      <${Beside}
        trace=${trace} layers=${layers} look=${look} attribution=${attribution} words=${words}
        pointed=${pointed} rows=${axes.rows} step=${stepOf(state, trace, look)}
      />
      <${AllHeads} trace=${trace} layers=${layers} look=${look} state=${state} words=${words} />
    <//>`;
}

function inTrace(trace) {
  return trace.attribution ? { status: "ready", data: trace.attribution } : null;
}

/** The cell the state names, if the map has it: of the head that is shown, among several of that which looks most. */
function cellOf(state, trace, layer, { use, kind, layer: number, heads }) {
  const [row, column] = state.cell.value ?? [];
  const tokens = tokensOf(trace, use);
  if (!(row < tokens.rows.length && column < tokens.columns.length)) return null;
  const { head } = strongestWithin(layer, heads, { first: row, end: row + 1 }, { first: column, end: column + 1 });
  return { kind, layer: number, head, row, column };
}

/** The written token that is spoken of: the one held, else the one at the step. */
function stepOf(state, trace, { use }) {
  const step = use.from === "target" && state.held.value !== null ? state.held.value : state.step.value;
  return Math.max(0, Math.min(trace.target.tokens.length - 1, Math.trunc(step)));
}

function Tools({ trace, layers, look, state, words }) {
  const numbers = layers[look.kind].map((_, number) => [number, String(number + 1)]);
  return html`
    <div class="tools">
      <${Choice}
        label=${words.kindOf} options=${trace.attention.map(({ name }) => [name, words.nameOfUse(name)])}
        value=${look.kind}
        onChoose=${(kind) => chooseKind(state, kind)}
      />
      <${Choice}
        label=${words.layer} options=${numbers} value=${look.layer}
        onChoose=${(layer) => { state.layer.value = layer; }}
      />
      <${HeadStrip} look=${look} state=${state} words=${words} />
      <${Slider}
        label=${words.mass} min="10" max="100" step="5" value=${Math.round(100 * look.mass)}
        shown=${`${Math.round(100 * look.mass)} %`} onSlide=${(percent) => { state.mass.value = percent / 100; }}
      />
      <${Switch}
        label=${words.merge} isOn=${state.units.value === "words"}
        onSwitch=${(isOn) => { state.units.value = isOn ? "words" : "tokens"; }}
      />
      <${Switch}
        label=${words.hide} isOn=${state.symbols.value === "hidden"}
        onSwitch=${(isOn) => { state.symbols.value = isOn ? "hidden" : "shown"; }}
      />
    </div>`;
}

/** What has been done to the numbers, said whenever they are not the model's own. */
function Notes({ look, merged, hidden, words }) {
  const notes = [
    look.heads?.length > 1 && words.severalNote(look.heads),
    merged && words.mergeNote,
    hidden && words.hideNote,
  ].filter(Boolean);
  return notes.length > 0 && html`<p class="notes">${notes.join(" ")}</p>`;
}
