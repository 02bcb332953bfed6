// The view "positions": the table a model adds to its embeddings, one dimension of it, and how alike its rows are.

import { batch, computed, effect, html, signal, useEffect, useMemo, useState } from "/insight/vendor/preact.js";
import { limitOf, unpack } from "/insight/drawing.js";
import { Card, Choice, Slider } from "/insight/parts.js";
import { get, isAborted } from "../api.js";
import { model } from "../served.js";
import { state } from "../state.js";
import { columnOf, reordered, rowOf, signed, sortedDimensions, waveOf } from "./positions_numbers.js";
import { Curve, Grid, Miniature } from "./positions_pictures.js";
import { words } from "./positions_words.js";

const [FEWEST, MOST] = [16, 128];
const NUM_MINIATURES = 8;

const shown = signal({ address: null, kind: null, table: null, similarity: null, error: null });

const address = computed(() => {
  const length = Math.max(FEWEST, Math.min(MOST, Math.round(state.positions.value)));
  const query = new URLSearchParams({ model: model.value.id, length, side: state.side.value });
  return `/api/positions?${query}`;
});

function followTable() {
  return effect(() => {
    const wanted = address.value;
    if (shown.peek().address === wanted && !shown.peek().error) return undefined;
    const leaving = new AbortController();
    get(wanted, leaving.signal).then(
      ({ kind, table, similarity }) => {
        const numbers = kind === "none" || !table ? {} : { table: unpack(table), similarity: unpack(similarity) };
        shown.value = { address: wanted, kind, table: null, similarity: null, error: null, ...numbers };
      },
      (error) => {
        if (isAborted(error)) return;
        shown.value = { address: wanted, kind: null, table: null, similarity: null, error: error.message };
      },
    );
    return () => leaving.abort();
  });
}

const mark = ({ position = state.position.value, dimension = state.dimension.value }) => batch(() => {
  state.position.value = position;
  state.dimension.value = dimension;
});

function Table({ kind, table, dimension, position }) {
  const said = words();
  const at = (row, column) => table.values[row * table.shape[1] + column];
  const isSorted = kind === "sinusoidal" && state.order.value === "sorted";
  const dimensions = useMemo(() => (isSorted ? sortedDimensions(table) : null), [table, isSorted]);
  const numbers = useMemo(() => (dimensions ? reordered(table, dimensions) : table), [table, dimensions]);
  const dimensionAt = (column) => dimensions?.[column] ?? column;
  return html`
    <${Card} title=${said.table} hint=${said.tableHint}>
      ${kind === "sinusoidal" && html`<${Choice}
        label=${said.order} options=${said.orders} value=${state.order.value}
        onChoose=${(order) => { state.order.value = order; }}
      />`}
      <${Grid}
        numbers=${numbers} limit=${limitOf(table)} cellHeight=${Math.max(4, Math.min(9, 420 / table.shape[0]))}
        names=${{ row: said.position, column: said.dimension, columns: dimensions }}
        marked=${{ row: position, column: dimensions?.indexOf(dimension) ?? dimension }}
        onMark=${({ row, column }) => mark({ position: row, dimension: dimensionAt(column) })}
        say=${(row, column) => said.cell(row, dimensionAt(column), signed(at(row, dimensionAt(column))))}
        rest=${said.keys} label=${said.table}
      />
      <p class="scale"><span>${signed(-limitOf(table))}</span><i></i><span>${signed(limitOf(table))}</span></p>
      <p class="says">${said.tableSays[kind]}</p>
    <//>`;
}

function Wave({ kind, table, dimension, position }) {
  const said = words();
  const wave = kind === "sinusoidal" ? waveOf(table, dimension) : null;
  const own = columnOf(table, dimension);
  const curves = wave ? [own, columnOf(table, wave.partner)] : [own];
  const step = Math.max(1, Math.floor(table.shape[1] / NUM_MINIATURES));
  const few = Array.from({ length: Math.min(NUM_MINIATURES, table.shape[1]) }, (_, number) => number * step);
  const length = wave?.wavelength.toFixed(wave.wavelength < 100 ? 1 : 0);
  const sentence = wave ? said[wave.isSine ? "sine" : "cosine"](dimension, length) : said.curve(dimension);
  return html`
    <${Card} title=${said.wave} hint=${said.waveHint}>
      <div class="tools">
        <${Slider}
          label=${said.dimension} min=${0} max=${table.shape[1] - 1} value=${dimension}
          onSlide=${(value) => mark({ dimension: value })}
        />
      </div>
      <p class="says">${sentence} ${wave && said.partner(wave.partner)}</p>
      <p class="caption" aria-live="polite">
        ${position !== null && said.cell(position, dimension, signed(own[position]))}</p>
      <${Curve}
        curves=${curves} limit=${limitOf(table)} name=${said.position} marked=${position}
        onMark=${(at) => mark({ position: at })} label=${sentence}
      />
      <div class="miniatures">
        ${few.map((one) => html`<button
          key=${one} type="button" aria-pressed=${one === dimension} aria-label=${said.choose(one)}
          onClick=${() => mark({ dimension: one })}
        ><${Miniature} values=${columnOf(table, one)} limit=${limitOf(table)} /><small>${one}</small></button>`)}
      </div>
    <//>`;
}

function Similarity({ kind, similarity, position }) {
  const said = words();
  const size = similarity.shape[0];
  const row = position ?? 0;
  const [beside, setBeside] = useState(null);
  const values = rowOf(similarity, row);
  const least = Math.min(0, Math.floor(2 * Math.min(...values)) / 2);
  return html`
    <${Card} title=${said.similarity} hint=${said.similarityHint}>
      <div class="two">
        <div class="square">
          <${Grid}
            numbers=${similarity} limit=${1} names=${{ row: said.position, column: said.other }}
            marked=${{ row: position, column: beside !== null && beside < size ? beside : position }} leastWidth=${4}
            onMark=${(cell) => { mark({ position: cell.row }); setBeside(cell.column); }}
            say=${(one, other) => said.pair(one, other, signed(similarity.values[one * size + other]))}
            rest=${said.keys} label=${said.similarity}
          />
        </div>
        <div>
          <p class="says">${said.similaritySays[kind]}</p>
          <p class="label">${said.row(row)}</p>
          <${Curve}
            curves=${[values]} limit=${1} least=${least} name=${said.position}
            marked=${position} onMark=${(at) => mark({ position: at })} label=${said.row(row)}
          />
        </div>
      </div>
    <//>`;
}

export function PositionsPage() {
  const said = words();
  useEffect(followTable, []);
  const { kind, table, similarity, error } = shown.value;
  const length = table?.shape[0] ?? 0;
  const isThere = state.position.value in Array(length).fill(null);
  const position = isThere ? state.position.value : null;
  const dimension = Math.max(0, Math.min(Math.round(state.dimension.value), (table?.shape[1] ?? 1) - 1));
  return html`
    <h1>${said.title}</h1>
    <p class="lead">${said.lead} ${said.kinds[kind]}</p>
    <div class="tools">
      <${Choice}
        label=${said.side} options=${said.sides} value=${state.side.value}
        onChoose=${(side) => { state.side.value = side; }}
      />
      <${Slider}
        label=${said.length} min=${FEWEST} max=${MOST} step=${16} value=${state.positions.value}
        onSlide=${(count) => { state.positions.value = count; }}
      />
    </div>
    ${error && html`<p class="refusal" role="alert">${said.failed(error)}</p>`}
    ${!error && kind === null && html`<p class="empty">${said.loading}</p>`}
    ${(kind === "none" || kind === "sequential") && html`<p class="none">${said[kind]}</p>`}
    ${table && html`
      <${Table} kind=${kind} table=${table} dimension=${dimension} position=${position} />
      <${Wave} kind=${kind} table=${table} dimension=${dimension} position=${position} />
      <${Similarity} kind=${kind} similarity=${similarity} position=${position} />`}`;
}
