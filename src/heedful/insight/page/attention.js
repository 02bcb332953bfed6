// Attention: lines between tokens, one head as a heat map, and all heads as small pictures.

const ROW_HEIGHT = 26;

function tokensOf(trace, kind) {
  return {
    rows: kind === "encoder" ? trace.source.tokens : trace.target.tokens,
    columns: kind === "decoder" ? trace.inputs : trace.source.tokens,
  };
}

/** The strongest weights of a row that together have the wanted part of its mass. */
function strongest(row, mass) {
  const order = [...row.keys()].sort((a, b) => row[b] - row[a]);
  const kept = [];
  let sum = 0;
  for (const column of order) {
    if (sum >= mass || row[column] <= 0) break;
    kept.push(column);
    sum += row[column];
  }
  return kept;
}

function attentionView(app) {
  const { trace, state, say } = app;
  const words = say();
  const weights = headOf(app.layers[state.kind][state.layer], state.head);
  const { rows, columns } = tokensOf(trace, state.kind);
  const caption = element("p", { class: "caption", "aria-live": "polite" });
  const lines = linesPanel(app, weights, rows, columns);
  const heat = heatPanel(app, weights, rows, columns, caption);
  app.onFocusRow = (row) => {
    lines.draw(row);
    heat.draw(row);
  };
  return element(
    "section",
    { "aria-label": words.attention },
    element("header", {}, element("h2", {}, words.attention), element("span", { class: "hint" }, words.attentionHint)),
    attentionTools(app),
    element("div", { class: "two" }, lines.element, element("div", {}, caption, heat.element)),
    headGrid(app),
  );
}

function attentionTools(app) {
  const { state, say, update } = app;
  const words = say();
  const counts = { layers: app.layers[state.kind].length, heads: app.layers[state.kind][0].shape[0] };
  const numbers = (count) => [...Array(count).keys()].map((number) => [number, String(number + 1)]);
  const mass = element("input", {
    type: "range", min: "10", max: "100", step: "5", value: String(Math.round(state.mass * 100)),
    oninput: (event) => {
      state.mass = Number(event.target.value) / 100;
      shown.textContent = `${event.target.value} %`;
      app.onFocusRow(state.held);
    },
  });
  const shown = element("span", {}, `${Math.round(state.mass * 100)} %`);
  return element(
    "div",
    { class: "tools" },
    choice(words.kindOf, KINDS.map((kind) => [kind, words[kind]]), state.kind, (kind) =>
      update({ kind, layer: Math.min(state.layer, app.layers[kind].length - 1), held: null }),
    ),
    choice(words.layer, numbers(counts.layers), state.layer, (layer) => update({ layer })),
    choice(words.head, [[-1, words.mean], ...numbers(counts.heads)], state.head, (head) => update({ head })),
    element("label", { class: "range" }, words.mass, mass, shown),
  );
}

function linesPanel(app, weights, rows, columns) {
  const { state, say } = app;
  const canvas = element("canvas", { "aria-hidden": "true" });
  const height = Math.max(rows.length, columns.length) * ROW_HEIGHT;
  const left = rows.map((token, row) =>
    tokenButton(token, {
      onmouseenter: () => app.onFocusRow(row),
      onmouseleave: () => app.onFocusRow(state.held),
      onfocus: () => app.onFocusRow(row),
      onclick: () => app.hold(state.held === row ? null : row),
    }),
  );
  const right = columns.map((token) => tokenButton(token, { tabindex: "-1" }));
  const panel = element(
    "div",
    {},
    element("p", { class: "caption" }, `${say().looks[state.kind]} → ${say().seen[state.kind]}`),
    element(
      "div",
      { class: "scroll" },
      element(
        "div",
        { class: "lines" },
        element("div", { class: "column left" }, ...left),
        element("div", {}, canvas),
        element("div", { class: "column right" }, ...right),
      ),
    ),
  );
  const draw = (focus) => {
    const width = canvas.parentElement.clientWidth || 200;
    const pen = context(canvas, width, height);
    const heat = colour("--heat");
    const lit = new Float32Array(columns.length);
    weights.forEach((row, y) => {
      if (focus !== null && focus !== y) return;
      const peak = focus === null ? 1 : Math.max(...row); // alone, a row that looks everywhere shall be seen as well
      for (const x of strongest(row, state.mass)) {
        lit[x] = Math.max(lit[x], row[x]);
        pen.strokeStyle = `rgb(${heat} / ${Math.min(1, (0.9 * row[x]) / peak + 0.02)})`;
        pen.lineWidth = 0.6 + 2.6 * row[x];
        pen.beginPath();
        pen.moveTo(0, (y + 0.5) * ROW_HEIGHT);
        pen.bezierCurveTo(
          width * 0.4, (y + 0.5) * ROW_HEIGHT, width * 0.6, (x + 0.5) * ROW_HEIGHT, width, (x + 0.5) * ROW_HEIGHT,
        );
        pen.stroke();
      }
    });
    left.forEach((button, y) => button.setAttribute("aria-pressed", String(state.held === y)));
    right.forEach((button, x) => {
      button.style.background = focus === null ? "" : `rgb(${heat} / ${shade(lit[x]) * 0.5})`;
    });
  };
  return { element: panel, draw };
}

function tokenButton(token, attributes) {
  return element(
    "button",
    { type: "button", class: token.special ? "special" : null, title: token.text, ...attributes },
    spelled(token),
  );
}

function heatPanel(app, weights, rows, columns, caption) {
  const { state } = app;
  const canvas = element("canvas", { role: "img", "aria-label": app.say()[state.kind] });
  const box = element("div", { class: "scroll" }, canvas);
  let place = null;
  const draw = (focus) => {
    place = drawHeat(canvas, weights, rows, columns, box.clientWidth || 400, focus);
  };
  const cellAt = (event) => {
    const bounds = canvas.getBoundingClientRect();
    const x = Math.floor((event.clientX - bounds.left - place.left) / place.cell);
    const y = Math.floor((event.clientY - bounds.top - place.top) / place.cell);
    return x >= 0 && y >= 0 && x < columns.length && y < rows.length ? { x, y } : null;
  };
  canvas.addEventListener("mousemove", (event) => {
    const cell = cellAt(event);
    caption.textContent = cell
      ? `${spelled(rows[cell.y])} → ${spelled(columns[cell.x])}: ${weights[cell.y][cell.x].toFixed(3)}`
      : "";
  });
  canvas.addEventListener("mouseleave", () => { caption.textContent = ""; });
  canvas.addEventListener("click", (event) => {
    const cell = cellAt(event);
    app.hold(cell && state.held !== cell.y ? cell.y : null);
  });
  return { element: box, draw };
}

function headGrid(app) {
  const { trace, state, say, update } = app;
  const words = say();
  const layers = app.layers[state.kind];
  const heads = layers[0].shape[0];
  const changes = trace.head_changes ? trace.head_changes[state.kind] : null;
  const worst = changes ? Math.max(0.01, ...KINDS.flatMap((kind) => trace.head_changes[kind].flat().map((x) => -x))) : 1;
  const cells = layers.flatMap((layer, number) => [
    element("span", { class: "row" }, String(number + 1)),
    ...[...Array(heads).keys()].map((head) => {
      const canvas = element("canvas", { "aria-hidden": "true" });
      drawThumbnail(canvas, headOf(layer, head));
      const change = changes ? changes[number][head] : null;
      const about = [
        `${words.layer} ${number + 1}, ${words.head} ${head + 1}`,
        words.entropy(trace.entropy[state.kind][number][head]),
        change === null ? null : words.change(change),
      ].filter(Boolean).join("; ");
      const under = change === null ? null : element("span", { class: "under" });
      if (under) under.style.width = `${(100 * Math.max(0, -change)) / worst}%`;
      const chosen = number === state.layer && head === state.head;
      const button = element(
        "button",
        {
          type: "button", "aria-checked": String(chosen), role: "radio", title: about, "aria-label": about,
          onclick: () => update({ layer: number, head }),
        },
        canvas, under,
      );
      button.dataset.focus = `grid:${number}:${head}`;
      return button;
    }),
  ]);
  const grid = element("div", { class: "grid", role: "radiogroup", "aria-label": words.allHeads }, ...cells);
  grid.style.gridTemplateColumns = `max-content repeat(${heads}, minmax(0, 84px))`;
  return element(
    "div",
    { style: "margin-top:20px" },
    element(
      "p",
      { class: "label" },
      `${words.allHeads}: ${words[state.kind]}. ${changes ? words.allHeadsHint : ""}`,
    ),
    grid,
  );
}
