// The page: one state that all views share, and the keys.

const trace = JSON.parse(document.getElementById("trace").textContent);
const page = document.getElementById("page");

const app = {
  trace,
  layers: Object.fromEntries(KINDS.map((kind) => [kind, trace.attention[kind].map(unpack)])),
  state: {
    kind: "cross", layer: trace.attention.cross.length - 1, head: -1, step: 0, held: null, mass: 0.9,
    shading: "attention",
  },
  language: navigator.language.startsWith("zh") ? "zh" : "en",
  playing: null,
  say: () => WORDS[app.language],
  update(change) {
    Object.assign(app.state, change);
    render();
  },
  hold(row) {
    app.state.held = row;
    app.onFocusRow(row);
    if (row !== null && app.state.kind !== "encoder") app.goTo(row);
  },
  goTo(step) {
    app.state.step = Math.max(0, Math.min(trace.target.tokens.length - 1, step));
    app.onStep();
  },
  play() {
    const last = trace.target.tokens.length - 1;
    if (app.playing) {
      clearInterval(app.playing);
      app.playing = null;
    } else {
      if (app.state.step === last) app.state.step = -1;
      app.playing = setInterval(() => {
        if (app.state.step >= last - 1) app.play();
        app.goTo(app.state.step + 1);
      }, 700);
    }
    app.goTo(app.state.step);
  },
};

/** A sentence whose words light up with those they are aligned with. */
function sentence(side, lit) {
  const text = trace[side].text;
  const tokens = trace[side].tokens;
  const parts = [];
  let done = 0;
  trace.alignment[side].forEach((word, number) => {
    const end = tokens[word.end - 1].end;
    const start = Math.min(end, tokens[word.first].start + (text[tokens[word.first].start] === " " ? 1 : 0));
    if (start > done) parts.push(text.slice(done, start));
    const span = element("span", { class: "word" }, text.slice(Math.max(start, done), end));
    span.addEventListener("mouseenter", () => lit(side, number));
    span.addEventListener("mouseleave", () => lit(null));
    parts.push(span);
    done = Math.max(done, end);
  });
  return [...parts, text.slice(done)];
}

function sentences() {
  const boxes = {};
  const lit = (side, number) => {
    const { weights } = trace.alignment;
    for (const name of ["source", "target"]) {
      boxes[name].querySelectorAll(".word").forEach((word, other) => {
        const weight = side === null ? 0
          : side === name ? Number(number === other) * 0.6
          : side === "target" ? weights[number][other] : weights[other][number];
        word.style.background = weight > 0.04 ? `rgb(${colour("--heat")} / ${0.6 * shade(weight)})` : "";
      });
    }
  };
  for (const side of ["source", "target"]) {
    boxes[side] = element(
      "div",
      { class: `sentence ${side}` },
      element("span", { class: "language" }, trace[side].language ?? ""),
      element(side === "target" ? "h1" : "p", { style: "font:inherit" }, ...sentence(side, lit)),
    );
  }
  const long = trace.source.text.length + trace.target.text.length > 240;
  return element("div", { class: long ? "sentences long" : "sentences" }, boxes.source, boxes.target);
}

function facts(words) {
  const perplexity = Math.exp(-trace.log_prob / trace.target.tokens.length);
  const fact = (name, value) => element("span", {}, `${name} `, element("b", {}, value));
  const gap = Math.abs(trace.log_prob - trace.forced_log_prob).toFixed(4);
  return element(
    "div",
    { class: "facts" },
    fact(words.score, trace.score.toFixed(3)),
    fact(words.logProb, trace.log_prob.toFixed(2)),
    fact(words.perplexity, perplexity.toFixed(2)),
    trace.engine === "int8" ? fact(words.int8, gap) : null,
    ...trace.warnings.map((warning) => element("span", { class: "warning" }, `⚠ ${warning.message}`)),
  );
}

function render() {
  const words = app.say();
  const focused = document.activeElement?.dataset?.focus;
  const scrolled = [...document.querySelectorAll(".scroll, .tree")].map((box) => [box.scrollLeft, box.scrollTop]);
  document.documentElement.lang = app.language;
  document.title = `${trace.target.text} – Heedful`;
  page.replaceChildren(
    element(
      "div",
      { class: "bar" },
      element("strong", {}, "Heedful"),
      words.title,
      element("span", { class: "grow" }),
      element(
        "button",
        {
          type: "button", class: "plain", "data-focus": "language",
          onclick: () => {
            app.language = app.language === "en" ? "zh" : "en";
            render();
          },
        },
        words.other,
      ),
    ),
    sentences(),
    facts(words),
    attentionView(app),
    decodingView(app),
    ...[beamView(app)].filter(Boolean),
    element("footer", {}, element("p", {}, words.note), keysLine(words)),
  );
  app.onFocusRow(app.state.held);
  app.onStep();
  document.querySelectorAll(".scroll, .tree").forEach((box, number) => {
    [box.scrollLeft, box.scrollTop] = scrolled[number] ?? [0, 0];
  });
  const again = [...document.querySelectorAll("[data-focus]")].find((one) => one.dataset.focus === focused);
  const group = focused && again?.closest("[role=radiogroup]");
  (group?.querySelector('.choice [aria-checked="true"]') ?? again)?.focus({ preventScroll: true });
}

function keysLine(words) {
  const parts = words.keys.flatMap(([keys, text]) => [element("kbd", {}, keys), ` ${text}   `]);
  return element("p", { class: "keys", style: "margin-top:10px" }, ...parts);
}

function moved(value, by, first, count) {
  return Math.max(first, Math.min(count - 1, value + by));
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { state } = app;
  const layers = app.layers[state.kind];
  const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 }[event.key];
  const sideways = event.key === "ArrowRight" || event.key === "ArrowLeft";
  if (by && event.shiftKey && sideways) app.update({ head: moved(state.head, by, -1, layers[0].shape[0]) });
  else if (by && event.shiftKey) app.update({ layer: moved(state.layer, by, 0, layers.length), held: null });
  else if (by && sideways && event.target.type !== "range") app.goTo(state.step + by);
  else if (event.key === "p") app.play();
  else if ("123".includes(event.key)) {
    const kind = KINDS[Number(event.key) - 1];
    app.update({ kind, layer: Math.min(state.layer, app.layers[kind].length - 1), held: null });
  } else return;
  event.preventDefault();
});

let width = window.innerWidth;
window.addEventListener("resize", () => {
  if (window.innerWidth !== width) app.onFocusRow(app.state.held);
  width = window.innerWidth;
});
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", render);
render();
