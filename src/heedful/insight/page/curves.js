// Curves over the steps of a training, drawn on a canvas: scales, ticks, smoothing, and which point is nearest.
// A curve is a list of [step, value]. Nothing here knows what the numbers mean or where they come from.

import { colour, context } from "./drawing.js";

const LEFT = 54;
const RIGHT = 14;
const TOP = 10;
const BOTTOM = 40;
const NICE = [1, 2, 5, 10];
const FONT = `11.5px system-ui, "PingFang SC", "Noto Sans CJK SC", sans-serif`;

/** Map values to pixels, evenly or by their magnitude. */
export function scaleOf([low, high], [from, to], isLog) {
  const bend = isLog ? Math.log10 : (value) => value;
  const straighten = isLog ? (value) => 10 ** value : (value) => value;
  const span = bend(high) - bend(low) || 1;
  return {
    at: (value) => from + ((bend(value) - bend(low)) / span) * (to - from),
    value: (pixel) => straighten(bend(low) + ((pixel - from) / (to - from)) * span),
  };
}

/** Round numbers between two bounds, about `count` of them. */
export function ticksOf([low, high], count, isLog) {
  if (isLog && high / low >= 8) return magnitudes(low, high, count);
  const rough = (high - low) / Math.max(1, count) || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = NICE.find((nice) => nice * power >= rough * 0.999) * power;
  const ticks = [];
  for (let number = Math.ceil(low / step - 1e-9); number * step <= high * (1 + 1e-9) + 1e-12; number++) {
    ticks.push(Number((number * step).toPrecision(12)));
  }
  return ticks;
}

function magnitudes(low, high, count) {
  const found = (factors) => {
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
      for (const factor of factors) {
        const tick = Number((factor * 10 ** power).toPrecision(12));
        if (tick >= low && tick <= high) ticks.push(tick);
      }
    }
    return ticks;
  };
  const fine = found([1, 2, 5]);
  return fine.length <= count + 2 ? fine : found([1]);
}

/** The running mean in which every older value counts `weight` times less; the first values are not drawn to zero. */
export function smoothed(points, weight) {
  if (weight <= 0) return points;
  let [sum, total] = [0, 0];
  return points.map(([step, value]) => {
    sum = weight * sum + (1 - weight) * value;
    total = weight * total + (1 - weight);
    return [step, sum / total];
  });
}

/** The point whose step is nearest; null where there is none. */
export function nearest(points, step) {
  let [low, high] = [0, points.length - 1];
  if (high < 0) return null;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] < step) low = middle + 1;
    else high = middle;
  }
  const before = points[Math.max(0, low - 1)];
  return Math.abs(before[0] - step) <= Math.abs(points[low][0] - step) ? before : points[low];
}

/** A part of a whole. */
export const percent = (share) => `${(100 * share).toFixed(1)} %`;

/** A number with as many digits as one reads. */
export function spellNumber(value) {
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(4)));
}

function boundsOf(curves, { isLog, fromZero }) {
  let [low, high] = [Infinity, -Infinity];
  for (const { points } of curves) {
    for (const [, value] of points) {
      if (isLog && value <= 0) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  if (low > high) return isLog ? [0.1, 1] : [0, 1];
  if (isLog) return low === high ? [low / 2, high * 2] : [low / 1.08, high * 1.08];
  const room = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
  return fromZero && low >= 0 ? [0, high + room] : [low - room, high + room];
}

/**
 * Draw curves and what goes with them. `picture` has width, height, curves ({points, colour, isThin, isDashed, hasDots,
 * isExact: never smoothed}), steps [first, last], isLogStep, isLogValue, fromZero, smoothing, cursor (a step or null),
 * marks (steps), chosen (a step or null) and axis (what is counted along it). Returns the scale of the steps.
 */
export function drawCurves(canvas, picture) {
  const { width, height, curves, cursor } = picture;
  const pen = context(canvas, width, height);
  const values = boundsOf(curves, { isLog: picture.isLogValue, fromZero: picture.fromZero });
  const across = scaleOf(picture.steps, [LEFT, width - RIGHT], picture.isLogStep);
  const up = scaleOf(values, [height - BOTTOM, TOP], picture.isLogValue);
  pen.font = FONT;
  drawAxes(pen, picture, { across, up, values });
  pen.save();
  pen.beginPath();
  pen.rect(LEFT - 3, TOP - 4, width - LEFT - RIGHT + 6, height - TOP - BOTTOM + 8);
  pen.clip();
  for (const curve of curves) drawCurve(pen, curve, { across, up, picture });
  pen.restore();
  if (cursor !== null) drawCursor(pen, cursor, { across, up, picture });
  return across;
}

function drawAxes(pen, picture, { across, up, values }) {
  const { width, height, marks, chosen } = picture;
  const [soft, line, accent] = ["--soft", "--line", "--accent"].map(colour);
  const floor = height - BOTTOM;
  pen.fillStyle = soft;
  pen.strokeStyle = line;
  pen.lineWidth = 1;
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  for (const tick of ticksOf(values, Math.max(2, Math.round(height / 60)), picture.isLogValue)) {
    const y = Math.round(up.at(tick)) + 0.5;
    pen.beginPath();
    pen.moveTo(LEFT, y);
    pen.lineTo(width - RIGHT, y);
    pen.stroke();
    pen.fillText(spellNumber(tick), LEFT - 8, y);
  }
  pen.textAlign = "center";
  for (const tick of ticksOf(picture.steps, Math.max(2, Math.round(width / 110)), picture.isLogStep)) {
    pen.fillText(spellNumber(tick), Math.min(across.at(tick), width - RIGHT - 8), floor + 14);
  }
  pen.textAlign = "right";
  pen.fillText(picture.axis, width - RIGHT, floor + 31);
  pen.fillStyle = accent;
  for (const mark of marks) {
    pen.globalAlpha = mark === chosen ? 1 : 0.3;
    pen.fillRect(across.at(mark) - 1, floor - 5, 2, 5);
  }
  pen.globalAlpha = 1;
  if (chosen !== null) drawUpright(pen, across.at(chosen), { floor, stroke: accent, dash: [2, 3] });
}

function drawUpright(pen, x, { floor, stroke, dash }) {
  pen.strokeStyle = stroke;
  pen.setLineDash(dash);
  pen.beginPath();
  pen.moveTo(Math.round(x) + 0.5, TOP);
  pen.lineTo(Math.round(x) + 0.5, floor);
  pen.stroke();
  pen.setLineDash([]);
}

function drawCurve(pen, curve, { across, up, picture }) {
  const canShow = ([step, value]) => (!picture.isLogValue || value > 0) && (!picture.isLogStep || step > 0);
  const raw = curve.points.filter(canShow);
  const isSmoothed = picture.smoothing > 0 && !curve.hasDots && !curve.isExact;
  const path = (points) => {
    pen.beginPath();
    for (const [step, value] of points) pen.lineTo(across.at(step), up.at(value));
    pen.stroke();
  };
  pen.strokeStyle = colour(curve.colour);
  pen.fillStyle = pen.strokeStyle;
  pen.lineJoin = "round";
  pen.setLineDash(curve.isDashed ? [5, 4] : []);
  pen.lineWidth = curve.isThin ? 1.4 : 2.2;
  if (isSmoothed) {
    pen.globalAlpha = 0.22;
    path(raw);
  }
  pen.globalAlpha = curve.isDashed ? 0.6 : 1;
  path(isSmoothed ? smoothed(raw, picture.smoothing) : raw);
  pen.setLineDash([]);
  const isSparse = raw.length < 2 || (curve.hasDots && raw.length <= picture.width / 9);
  if (isSparse) for (const [step, value] of raw) drawDot(pen, across.at(step), up.at(value), 2.6);
  pen.globalAlpha = 1;
}

function drawDot(pen, x, y, radius) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.fill();
}

function drawCursor(pen, cursor, { across, up, picture }) {
  drawUpright(pen, across.at(cursor), { floor: picture.height - BOTTOM, stroke: colour("--soft"), dash: [] });
  const paper = colour("--card");
  for (const curve of picture.curves) {
    const point = nearest(curve.points, cursor);
    if (!point || (picture.isLogValue && point[1] <= 0)) continue;
    pen.fillStyle = paper;
    drawDot(pen, across.at(point[0]), up.at(point[1]), 5);
    pen.fillStyle = colour(curve.colour);
    drawDot(pen, across.at(point[0]), up.at(point[1]), 3.4);
  }
}
