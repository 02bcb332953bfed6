// Going through a row of moments by a button, a slider, or by itself. Knows neither what a moment is nor what it shows.

import { html, useEffect, useState } from "./vendor/preact.js";

const BEAT = 700; // milliseconds for a moment while playing

/** The number a signal holds, kept between 0 and `last`. */
export const within = (place, last) => Math.max(0, Math.min(last, place.value));

/**
 * Let the number in the signal `place` go up to `last` by itself; from there it begins again. `owner` is what is
 * played: another one is not played on.
 */
export function usePlaying(owner, place, last) {
  const [played, setPlayed] = useState(null);
  const isPlaying = played === owner;
  useEffect(() => {
    if (!isPlaying) return undefined;
    const timer = setInterval(() => {
      const next = within(place, last) + 1;
      if (next >= last) setPlayed(null);
      place.value = Math.min(next, last);
    }, BEAT);
    return () => clearInterval(timer);
  }, [isPlaying, owner]);
  const toggle = () => {
    if (!isPlaying && within(place, last) === last) place.value = 0;
    setPlayed(isPlaying ? null : owner);
  };
  return { isPlaying, toggle };
}

/** ← → step and p plays, wherever the focus is, except where something else has taken the key for itself. */
export function usePlayKeys(playing, place, last, isHeard = true) {
  useEffect(() => {
    if (!isHeard) return undefined;
    const onKey = (event) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
      if (event.target.closest?.("input, textarea, select")) return;
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (by) place.value = Math.max(0, Math.min(last, within(place, last) + by));
      else if (event.key === "p") playing.toggle();
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });
}

/** The button and the slider; `playing` is from `usePlaying`, `label` names the moments, `told` the present one. */
export function Player({ playing, place, last, label, told, said }) {
  return html`
    <div class="player">
      <button type="button" class="plain" aria-pressed=${playing.isPlaying} onClick=${playing.toggle}>
        ${playing.isPlaying ? said.pause : said.play}
      </button>
      <input
        type="range" min="0" max=${last} value=${within(place, last)} aria-label=${label} aria-valuetext=${told}
        onInput=${(event) => { place.value = Number(event.target.value); }}
      />
      <span class="hint">${told}</span>
    </div>`;
}
