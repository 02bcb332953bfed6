// The view "learn": chapters on the left, on the right the figure of the paragraph one is at; on a phone each figure
// stands under its paragraph. Knows how one moves through chapters; what they say and show stands in ../chapters.

import { html, signal, useEffect, useRef, useState } from "/insight/vendor/preact.js";
import { useKeys, useMedia } from "/insight/parts.js";
import { CHAPTERS, Shown } from "../chapters/index.js";
import { EXERCISES } from "../chapters/exercises.js";
import { FORMULAS } from "../chapters/formulas.js";
import { speaks, translator } from "../chapters/traces.js";
import { chapterWords, inLanguage } from "../chapters/words.js";
import { queryWith, state } from "../state.js";

const WIDE = "(min-width: 900px)";
const REST = 900; // milliseconds in which scrolling is that of a choice already made, not of reading
const paragraph = signal(0); // of the chapter that is open
let chosenAt = -REST;

const current = () => Math.max(0, Math.min(CHAPTERS.length - 1, Math.floor(state.chapter.value)));

function goTo(number) {
  if (number < 0 || number >= CHAPTERS.length) return;
  state.chapter.value = number;
  paragraph.value = 0;
  scrollTo({ top: 0 });
}

function follow(event, number) {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  goTo(number);
}

/** The figure a paragraph speaks of: its own, else that of the last one before it that has one. */
function figureAt(steps, number) {
  for (let at = number; at >= 0; at--) {
    const figure = steps[at].figure ?? steps[at].exercise?.figure;
    if (figure) return { at, figure };
  }
  return null;
}

function choose(number) {
  chosenAt = performance.now();
  paragraph.value = number;
}

function goToParagraph(number, count) {
  choose(Math.max(0, Math.min(count - 1, number)));
  document.getElementById(`paragraph-${paragraph.value}`)?.scrollIntoView({ block: "nearest", behavior: "smooth" });
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  const { steps } = CHAPTERS[current()];
  if (event.key === "n") goTo(current() + 1);
  else if (event.key === "b") goTo(current() - 1);
  else if (event.key === "j") goToParagraph(paragraph.value + 1, steps.length);
  else if (event.key === "k") goToParagraph(paragraph.value - 1, steps.length);
}

/** While the page is scrolled, a line moves down the screen as the page moves up; the paragraph it meets is read. */
function onScroll() {
  const room = document.documentElement.scrollHeight - innerHeight;
  if (room < 40 || performance.now() - chosenAt < REST) return;
  const line = 90 + (scrollY / room) * (innerHeight - 180);
  const all = [...document.querySelectorAll(".learn .paragraph")];
  const read = all.findLastIndex((one) => one.getBoundingClientRect().top <= line);
  paragraph.value = Math.max(0, read);
}

function Contents() {
  const said = chapterWords();
  const list = useRef(null);
  useEffect(() => { // where the list is a line, the open chapter shall not be outside of what one sees of it
    const open = list.current.querySelector("[aria-current]");
    list.current.scrollLeft = open.offsetLeft - list.current.offsetLeft - 40;
  }, [current()]);
  return html`
    <nav class="contents" aria-label=${said.chapters}>
      <ol ref=${list}>${CHAPTERS.map((chapter, number) => html`<li key=${chapter.name}><a
        href=${queryWith({ chapter: number })} aria-current=${number === current() ? "page" : null}
        onClick=${(event) => follow(event, number)}><span>${number + 1}</span>${inLanguage(chapter.title)}</a></li>`)}
      </ol>
    </nav>`;
}

/** A question with the answers one can click; it is solved once the right one was. */
function Exercise({ exercise, onSolve }) {
  const said = chapterWords();
  const { answers, about, options } = EXERCISES[exercise.kind](exercise.figure);
  const [chosen, setChosen] = useState(null);
  if (!options) return answers.some((one) => one.status === "loading") && html`<p class="waiting">${said.loading}</p>`;
  const answer = (at) => {
    setChosen(at);
    if (options[at].isRight) onSolve();
  };
  const picked = chosen === null ? null : options[chosen];
  return html`
    <h3>${said.exercise}</h3>
    <p>${inLanguage(exercise.ask)(about)}</p>
    <div class="chips" role="group" aria-label=${said.exercise}>
      ${options.map((option, at) => html`<button
        key=${at} type="button" class="chip" data-right=${chosen === at ? option.isRight : null}
        aria-pressed=${chosen === at} onClick=${() => answer(at)}
      >${option.text}${option.note && html`<small>${option.note}</small>`}</button>`)}
    </div>
    <p class="verdict" data-right=${picked?.isRight ?? null} aria-live="polite">
      ${picked && said[picked.isRight ? "right" : "wrong"](picked.said)}</p>`;
}

function Covered() {
  return html`
    <figure class="figure covered" data-ready="true">
      <p aria-hidden="true">?</p><figcaption><p>${chapterWords().covered}</p></figcaption>
    </figure>`;
}

function Paragraph({ step, number, isSolved, onSolve, inline }) {
  const said = chapterWords();
  const isCurrent = paragraph.value === number;
  return html`
    <div id=${`paragraph-${number}`} class=${`paragraph ${step.exercise ? "exercise" : ""}`}
      aria-current=${isCurrent ? "step" : null} onClick=${() => choose(number)} onFocusIn=${() => choose(number)}>
      <button type="button" class="at" aria-label=${said.showStep(number + 1)}>${number + 1}</button>
      <div>
        ${step.exercise
          ? html`<${Exercise} exercise=${step.exercise} onSolve=${onSolve} />`
          : html`<p>${inLanguage(step.say)}</p>`}
        ${step.formula && html`<p class="formula">${FORMULAS[step.formula]}</p>`}
      </div>
      ${inline && html`<div class="inline"><${FigureOf} figure=${inline} step=${step} isSolved=${isSolved} /></div>`}
    </div>`;
}

const FigureOf = ({ figure, step, isSolved }) =>
  (step.exercise && !isSolved ? html`<${Covered} />` : html`<${Shown} figure=${figure} />`);

function Chapter({ chapter }) {
  const said = chapterWords();
  const isWide = useMedia(WIDE);
  const [solved, setSolved] = useState({});
  useKeys(onKey);
  useEffect(() => {
    addEventListener("scroll", onScroll, { passive: true });
    return () => removeEventListener("scroll", onScroll);
  }, []);
  const at = Math.min(paragraph.value, chapter.steps.length - 1);
  const shown = figureAt(chapter.steps, at);
  const number = current();
  return html`
    <article>
      <p class="side">${said.chapter(number + 1, CHAPTERS.length)}</p>
      <h1>${inLanguage(chapter.title)}</h1>
      ${translator.value && !speaks("de") && html`<p class="notice">${said.otherModel}</p>`}
      <div class="text">
        ${chapter.steps.map((step, one) => html`<${Paragraph}
          key=${one} step=${step} number=${one} isSolved=${solved[one]}
          inline=${!isWide && (step.figure ?? step.exercise?.figure)}
          onSolve=${() => setSolved((before) => ({ ...before, [one]: true }))} />`)}
        <p class="moves">
          ${number > 0 && html`<a class="plain" href=${queryWith({ chapter: number - 1 })}
            onClick=${(event) => follow(event, number - 1)}>←\u00a0${said.previous}</a>`}
          <span class="grow"></span>
          ${number < CHAPTERS.length - 1 && html`<a class="plain next" href=${queryWith({ chapter: number + 1 })}
            onClick=${(event) => follow(event, number + 1)}
          >${said.next(inLanguage(CHAPTERS[number + 1].title))}\u00a0→</a>`}
        </p>
        <p class="hint keys">
          ${said.keys.map(([keys, text]) => html`<span key=${keys}><kbd>${keys}</kbd> ${text} </span>`)}</p>
      </div>
    </article>
    ${isWide && shown && html`<aside aria-label=${said.figure}>
      <${FigureOf} key=${shown.at} figure=${shown.figure} step=${chapter.steps[shown.at]}
        isSolved=${solved[shown.at]} /></aside>`}`;
}

export function LearnPage() {
  const chapter = CHAPTERS[current()];
  return html`<div class="book"><${Contents} /><${Chapter} key=${chapter.name} chapter=${chapter} /></div>`;
}
