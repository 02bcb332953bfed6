// The beam as a tree: every candidate that was considered, its numbers, and why it came to its end.
// A long search has hundreds of nodes: they are laid out and drawn once; what moves with the step lies over them.
// `actions.continueWith(ids)` lets the translation go on from a hypothesis, `actions.searchWith(size)` searches again.

import { html, useLayoutEffect, useMemo, useRef, useState } from "./vendor/preact.js";
import { decodingWords, minused, percentOf } from "./decoding_words.js";
import { spelled } from "./drawing.js";
import { Card, Choice } from "./parts.js";
import { pathTo, shownStep, symbolIds } from "./steps.js";

const NODE = { width: 92, height: 26, gapX: 26, gapY: 8, top: 20, left: 6 };
const LARGEST_BEAM = 8;

export function BeamView({ trace, state, language, actions }) {
  const said = decodingWords(language);
  const { beam } = trace;
  const [held, setHeld] = useState(null);
  const [hovered, setHovered] = useState(null);
  const tree = useMemo(() => beam && layOut(beam), [beam]);
  if (!beam) return null;
  const step = shownStep(trace, state);
  // The node last gone to, as long as its step is the one shown; else that of the translation.
  const current = held?.beam === beam && held.node.step === step ? held.node : tree.bestAt[step];
  const goTo = (node) => {
    setHeld({ beam, node });
    state.step.value = node.step;
  };
  const shown = hovered?.beam === beam ? hovered.node : current;
  return html`
    <${Card} title=${said.beam} hint=${said.beamHint(beam.beamSize)}>
      ${actions?.searchWith && html`
        <div class="tools">
          <${Choice}
            label=${said.beamSize} value=${state.beam.value ?? beam.beamSize} onChoose=${actions.searchWith}
            options=${Array.from({ length: LARGEST_BEAM }, (_, number) => [number + 1, String(number + 1)])}
          />
        </div>`}
      <${BeamTree}
        tree=${tree} beam=${beam} step=${step} current=${current} shown=${shown} language=${language}
        onGo=${goTo} onHover=${(node) => setHovered(node && { beam, node })}
      />
      <${NodeFacts} trace=${trace} node=${shown} said=${said} actions=${actions} />
      <div class="legend">
        ${Object.entries(said.fates).map(([fate, text]) => html`<span key=${fate}><i class=${fate}></i>${text}</span>`)}
        ${beam.nodes.some((node) => node.isForced) && html`<span><i class="forced"></i>${said.forcedNode}</span>`}
        <span class="keys">${said.treeHint}</span>
      </div>
    <//>`;
}

/** Steps go to the right; in each the candidates stand in their order, the best on top. */
function layOut(beam) {
  const best = new Set(pathTo(beam, beam.nodes[beam.chosen]).map((node) => node.id));
  const columns = [];
  for (const node of beam.nodes) (columns[node.step] ??= []).push(node);
  const places = [];
  for (const column of columns) {
    column.forEach((node, row) => {
      places[node.id] = {
        x: NODE.left + node.step * (NODE.width + NODE.gapX), y: NODE.top + row * (NODE.height + NODE.gapY), row,
      };
    });
  }
  return {
    best,
    bestAt: pathTo(beam, beam.nodes[beam.chosen]),
    columns,
    places,
    width: 2 * NODE.left + columns.length * (NODE.width + NODE.gapX) - NODE.gapX,
    height: NODE.top + Math.max(...columns.map((column) => column.length)) * (NODE.height + NODE.gapY) + 2,
  };
}

function BeamTree({ tree, beam, step, current, shown, language, onGo, onHover }) {
  const box = useRef(null);
  const drawn = useMemo(() => drawTree(tree, beam, decodingWords(language)), [tree, language]);
  useLayoutEffect(() => reveal(box.current, tree, step), [tree, step]);
  const nodeUnder = (event) => beam.nodes[event.target.closest("g")?.dataset.node] ?? null;
  const onKeyDown = (event) => {
    if (event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return;
    const next = neighbour(tree, beam, current, event.key);
    if (next === undefined) return;
    event.preventDefault();
    onHover(null);
    if (next) onGo(next);
  };
  const trail = pathTo(beam, shown).slice(1).map((node) => curveTo(tree, node)).join(" ");
  const column = NODE.left - 4 + step * (NODE.width + NODE.gapX);
  const { x, y } = tree.places[shown.id];
  return html`
    <div
      class="tree" ref=${box} role="tree" tabindex="0" aria-label=${decodingWords(language).beam}
      aria-activedescendant=${`node-${current.id}`} onKeyDown=${onKeyDown} onMouseLeave=${() => onHover(null)}
    >
      <svg
        width=${tree.width} height=${tree.height}
        onMouseOver=${(event) => onHover(nodeUnder(event))}
        onClick=${(event) => { if (nodeUnder(event)) onGo(nodeUnder(event)); }}
      >
        <rect class="now" x=${column} y="0" width=${NODE.width + 8} height=${tree.height} rx="9" />
        ${drawn}
        <path class="trail" d=${trail} />
        <rect class="ring" x=${x - 2.5} y=${y - 2.5} width=${NODE.width + 5} height=${NODE.height + 5} rx="10" />
      </svg>
    </div>`;
}

/** Where an arrow key leads: along the hypothesis, or up and down among the candidates of a step; null is nowhere. */
function neighbour(tree, beam, node, key) {
  const { row } = tree.places[node.id];
  if (key === "ArrowUp") return tree.columns[node.step][row - 1] ?? null;
  if (key === "ArrowDown") return tree.columns[node.step][row + 1] ?? null;
  if (key === "ArrowLeft") return beam.nodes[node.parent] ?? null;
  if (key !== "ArrowRight") return undefined;
  const children = (tree.columns[node.step + 1] ?? []).filter((one) => one.parent === node.id);
  return children.find((one) => tree.best.has(one.id)) ?? children[0] ?? null;
}

/** Bring the column of a step into the box, and leave the page where it is. */
function reveal(box, tree, step) {
  const left = step * (NODE.width + NODE.gapX);
  const right = left + NODE.width + 2 * NODE.left;
  if (left >= box.scrollLeft && right <= box.scrollLeft + box.clientWidth) return;
  const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const middle = Math.max(0, (left + right - box.clientWidth) / 2);
  box.scrollTo({ left: middle, behavior: isCalm ? "auto" : "smooth" });
}

function drawTree(tree, beam, said) {
  const links = beam.nodes.filter((node) => node.parent !== null);
  links.sort((a, b) => tree.best.has(a.id) - tree.best.has(b.id)); // the best path lies over the others
  return [
    ...tree.columns.map((_, step) => html`
      <text key=${`step ${step}`} class="step" x=${NODE.left + step * (NODE.width + NODE.gapX)} y="13">
        ${said.stepNumber(step + 1)}
      </text>`),
    ...links.map((node) => html`
      <path key=${`to ${node.id}`} class=${tree.best.has(node.id) ? "best" : ""} d=${curveTo(tree, node)} />`),
    ...beam.nodes.map((node) => drawNode(tree, node, beam.nodes[beam.chosen], said)),
  ];
}

/** The line from a node's parent to it. */
function curveTo(tree, node) {
  const [from, to] = [tree.places[node.parent], tree.places[node.id]];
  const [middle, bend, start] = [NODE.height / 2, NODE.gapX / 2, from.x + NODE.width];
  const bent = `${start + bend} ${from.y + middle} ${to.x - bend} ${to.y + middle}`;
  return `M ${start} ${from.y + middle} C ${bent} ${to.x} ${to.y + middle}`;
}

function drawNode(tree, node, best, said) {
  const { x, y } = tree.places[node.id];
  const text = spelled(node);
  const about = [
    text, said.stepNumber(node.step + 1), percentOf(node.tokenLogProb),
    `${said.facts.score} ${minused(node.score, 3)}`, said.reason[node.fate](node, best),
    ...(node.isForced ? [said.forcedNode] : []),
  ].join(", ");
  return html`
    <g
      key=${node.id} id=${`node-${node.id}`} data-node=${node.id} role="treeitem" aria-label=${about}
      class=${[node.fate, tree.best.has(node.id) && "best", node.isForced && "forced"].filter(Boolean).join(" ")}
    >
      <rect x=${x} y=${y} width=${NODE.width} height=${NODE.height} rx="8" />
      <text x=${x + NODE.width / 2} y=${y + NODE.height / 2 + 4.5} text-anchor="middle">
        ${text.length > 12 ? `${text.slice(0, 11)}…` : text}
      </text>
    </g>`;
}

/** One candidate in words and numbers, and how its score comes about. */
function NodeFacts({ trace, node, said, actions }) {
  const { beam } = trace;
  const path = pathTo(beam, node);
  const length = path.length;
  const penalty = (((5 + length) / 6) ** beam.lengthPenalty).toFixed(4);
  const facts = [
    [said.probability, percentOf(node.tokenLogProb)],
    [said.facts.logProb, minused(node.tokenLogProb, 2)],
    [said.facts.together, minused(node.logProb, 2)],
    [said.facts.score, minused(node.score, 3)],
  ];
  return html`
    <div class="said">
      <p><b>${textOf(trace, path)}</b></p>
      <p class="facts">
        <span>${said.stepNumber(node.step + 1)}</span>
        ${facts.map(([name, value]) => html`<span key=${name}>${name} <b>${value}</b></span>`)}
      </p>
      <p class="reason">
        ${said.reason[node.fate](node, beam.nodes[beam.chosen])}${node.isForced && html` <b>${said.forcedReason}</b>`}
      </p>
      ${actions?.continueWith && !node.isEnd && html`
        <button
          type="button" class="plain goes-on-from"
          onClick=${() => actions.continueWith(path.map((one) => one.tokenId))}
        >${said.goOnFromNode}</button>`}
      <p class="hint formula">
        ${said.formula}<br />
        <span>${said.facts.penalty} ${`((5 + ${length}) ÷ 6)^${beam.lengthPenalty} = ${penalty}`}</span>
        <span>${said.facts.score} ${`${minused(node.logProb, 4)} ÷ ${penalty} = ${minused(node.score, 3)}`}</span>
      </p>
    </div>`;
}

/** What a path reads as. */
function textOf(trace, path) {
  const symbols = symbolIds(trace);
  const pieces = path.filter((node) => !symbols.has(node.tokenId)).map((node) => node.text);
  return pieces.join("").replaceAll("▁", " ").trim() || "∅";
}
