// Decoding: one token after the other with what was likely, and the beam as a tree.

function decodingView(app) {
  const { trace, state, say } = app;
  const words = say();
  const last = trace.target.tokens.length - 1;
  const chips = trace.target.tokens.map((token, step) =>
    chip(token, { onclick: () => app.goTo(step), "data-focus": `step:${step}` }, "button"),
  );
  const slider = element("input", {
    type: "range", min: "0", max: String(last), value: String(state.step), "aria-label": words.step,
    "data-focus": "slider", oninput: (event) => app.goTo(Number(event.target.value)),
  });
  const play = element("button", { type: "button", class: "plain", "data-focus": "play", onclick: () => app.play() });
  const sources = trace.source.tokens.map((token) => chip(token));
  const inputs = trace.inputs.map((token) => chip(token));
  const top = element("div", { class: "top" });
  const shadeBy = trace.attribution
    ? choice(
        words.source, [["attention", words.byAttention], ["attribution", words.byAttribution]], state.shading,
        (shading) => app.update({ shading }),
      )
    : element("p", { class: "label" }, `${words.source} ${words.byAttention}`);
  app.onStep = () => {
    slider.value = String(state.step);
    play.textContent = app.playing ? words.pause : words.play;
    chips.forEach((one, step) => {
      one.classList.toggle("later", step > state.step);
      one.toggleAttribute("aria-current", false);
      if (step === state.step) one.setAttribute("aria-current", "step");
      one.style.background = `rgb(${colour("--heat")} / ${0.32 * Math.exp(trace.steps[step].log_prob)})`;
    });
    shadeSources(app, sources);
    const self = app.layers.decoder[Math.min(state.layer, app.layers.decoder.length - 1)];
    const past = headOf(self, state.head)[state.step];
    inputs.forEach((one, number) => {
      one.hidden = number > state.step;
      one.style.background = `rgb(${colour("--heat")} / ${0.7 * shade(past[number])})`;
    });
    listTop(top, trace.steps[state.step], trace.target.tokens[state.step], words);
  };
  return element(
    "section",
    { "aria-label": words.decoding },
    element("header", {}, element("h2", {}, words.decoding), element("span", { class: "hint" }, words.decodingHint)),
    element("div", { class: "player" }, play, slider),
    element("div", { class: "chips" }, ...chips),
    element(
      "div",
      { class: "two" },
      element(
        "div",
        {},
        shadeBy,
        state.shading === "attribution" ? element("p", { class: "label" }, words.attributionHint) : null,
        element("div", { class: "chips", style: "margin-top:6px" }, ...sources),
        element("p", { class: "label" }, words.written),
        element("div", { class: "chips" }, ...inputs),
      ),
      element("div", {}, element("p", { class: "label" }, words.likely), top),
    ),
  );
}

function chip(token, attributes = {}, tag = "span") {
  const type = tag === "button" ? { type: "button" } : {};
  return element(
    tag,
    { class: `chip${token.special ? " special" : ""}`, title: token.text, ...type, ...attributes },
    spelled(token),
  );
}

/** Shade the source by where the written token looks, or by what it rests on. */
function shadeSources(app, chips) {
  const { trace, state } = app;
  const [heat, against] = ["--heat", "--against"].map(colour);
  if (state.shading === "attribution") {
    const row = trace.attribution[state.step];
    const largest = Math.max(1e-9, ...row.map(Math.abs));
    chips.forEach((one, number) => {
      const part = row[number] / largest;
      one.style.background = `rgb(${part < 0 ? against : heat} / ${0.7 * Math.abs(part)})`;
      one.title = signed(row[number]);
    });
    return;
  }
  const cross = app.layers.cross[Math.min(state.layer, app.layers.cross.length - 1)];
  const row = headOf(cross, state.head)[state.step];
  chips.forEach((one, number) => {
    one.style.background = `rgb(${heat} / ${0.7 * shade(row[number])})`;
    one.title = row[number].toFixed(3);
  });
}

function listTop(list, step, written, words) {
  const choices = step.top.map((one) => ({ ...one, written: one.id === written.id }));
  if (!choices.some((one) => one.written)) {
    choices.push({ ...written, log_prob: step.log_prob, written: true, rank: step.rank });
  }
  list.replaceChildren(
    ...choices.flatMap((one) => {
      const probability = Math.exp(one.log_prob);
      const bar = element("i");
      bar.style.width = `${100 * probability}%`;
      const place = one.rank === undefined ? "" : ` (${words.rank(one.rank)})`;
      return [
        element("span", { class: one.written ? "written" : null }, spelled(one) + place),
        element("span", { class: "track" }, bar),
        element("span", { class: "number" }, `${(100 * probability).toFixed(1)} %`),
      ];
    }),
  );
}

const NODE = { width: 92, height: 26, gapX: 26, gapY: 8, top: 20 };

function beamView(app) {
  const { trace, say } = app;
  const words = say();
  if (!trace.beam) return null;
  const said = element("p", { class: "said", "aria-live": "polite" });
  const { picture, groups } = beamTree(trace.beam, words, (node) => {
    groups.forEach((group, id) => group.classList.toggle("chosen", id === node.id));
    said.replaceChildren(
      element("b", {}, pathText(trace, node)),
      ` · ${words.step} ${node.step + 1} · ${words.node(node)} ${words.reason[node.fate](node)}`,
    );
  });
  groups.get(trace.beam.chosen).dispatchEvent(new Event("focus"));
  return element(
    "section",
    { "aria-label": words.beam },
    element(
      "header", {},
      element("h2", {}, words.beam), element("span", { class: "hint" }, words.beamHint(trace.beam.size)),
    ),
    element("div", { class: "tree" }, picture),
    said,
    element(
      "div",
      { class: "legend" },
      ...Object.entries(words.fates).map(([fate, text]) => element("span", {}, element("i", { class: fate }), text)),
    ),
  );
}

/** Steps go to the right; in each the candidates stand in their order, the best on top. */
function beamTree(beam, words, show) {
  const best = new Set();
  for (let node = beam.nodes[beam.chosen]; node; node = beam.nodes[node.parent]) best.add(node.id);
  const rows = new Map();
  const places = beam.nodes.map((node) => {
    const row = rows.get(node.step) ?? 0;
    rows.set(node.step, row + 1);
    return { x: 2 + node.step * (NODE.width + NODE.gapX), y: NODE.top + row * (NODE.height + NODE.gapY) };
  });
  const middle = NODE.height / 2;
  const links = beam.nodes.filter((node) => node.parent !== null).map((node) => {
    const [from, to] = [places[node.parent], places[node.id]];
    const bend = NODE.gapX / 2;
    const start = from.x + NODE.width;
    const curve = `C ${start + bend} ${from.y + middle} ${to.x - bend} ${to.y + middle} ${to.x} ${to.y + middle}`;
    return vector("path", { d: `M ${start} ${from.y + middle} ${curve}`, class: best.has(node.id) ? "best" : "" });
  });
  links.sort((a, b) => a.getAttribute("class").length - b.getAttribute("class").length);
  const groups = new Map();
  for (const node of beam.nodes) {
    const { x, y } = places[node.id];
    const label = vector("text", { x: x + NODE.width / 2, y: y + middle + 4.5, "text-anchor": "middle" });
    const text = spelled(node);
    label.textContent = text.length > 12 ? `${text.slice(0, 11)}…` : text;
    const group = vector(
      "g",
      { class: `${node.fate}${best.has(node.id) ? " best" : ""}`, tabindex: best.has(node.id) ? "0" : "-1" },
      vector("rect", { x, y, width: NODE.width, height: NODE.height, rx: 8 }),
      label,
    );
    for (const event of ["mouseenter", "focus", "click"]) group.addEventListener(event, () => show(node));
    groups.set(node.id, group);
  }
  const steps = [...rows.keys()].map((step) => {
    const text = vector("text", { x: 2 + step * (NODE.width + NODE.gapX), y: 11, class: "step" });
    text.textContent = `${words.step} ${step + 1}`;
    return text;
  });
  const width = 4 + rows.size * (NODE.width + NODE.gapX) - NODE.gapX;
  const height = NODE.top + Math.max(...rows.values()) * (NODE.height + NODE.gapY);
  const picture = vector("svg", { width, height, role: "group" }, ...steps, ...links, ...groups.values());
  return { picture, groups };
}

function pathText(trace, node) {
  const symbols = new Set(trace.target.tokens.filter((token) => token.special).map((token) => token.id));
  const parts = [];
  for (let at = node; at; at = trace.beam.nodes[at.parent]) if (!symbols.has(at.token_id)) parts.unshift(at.text);
  return parts.join("").replaceAll("▁", " ").trim();
}
