// What views draw with: how a token is spelled, how packed weights are read, canvases that are sharp on every screen.

/** A token as it is read: the mark that opens a word is left away, a space alone is shown. */
export function spelled(token) {
  return token.text.replaceAll("▁", "") || (token.text ? "␣" : "∅");
}

/** Unpack an array, of a layer {shape: [heads, rows, columns], values}. */
export function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed.data), (character) => character.charCodeAt(0));
  if (packed.dtype === "f2") {
    const view = new DataView(bytes.buffer);
    const values = new Float32Array(bytes.length / 2);
    for (let i = 0; i < values.length; i++) values[i] = halfOf(view.getUint16(2 * i, true));
    return { shape: packed.shape, values };
  }
  const values = new Float32Array(bytes.length);
  for (let i = 0; i < bytes.length; i++) values[i] = bytes[i] * packed.scale;
  return { shape: packed.shape, values };
}

/** The weights of a trace, unpacked: for each use of attention, by its name, its layers. */
export function layersOf({ attention }) {
  return Object.fromEntries(attention.map((use) => [use.name, use.layers.map(unpack)]));
}

/** One half-precision number, from its 16 bits: a sign, 5 bits of exponent, 10 of fraction. */
function halfOf(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
}

const unpackedHeads = new WeakMap(); // layer → head → rows: views ask for the same heads again and again

/** One head of an unpacked layer as rows, to be read only; head −1 is the mean of all. */
export function headOf(layer, head) {
  if (!unpackedHeads.has(layer)) unpackedHeads.set(layer, new Map());
  const known = unpackedHeads.get(layer);
  if (!known.has(head)) known.set(head, rowsOf(layer, head));
  return known.get(head);
}

function rowsOf(layer, head) {
  const [heads, rows, columns] = layer.shape;
  const size = rows * columns;
  const flat = new Float32Array(size);
  const chosen = head < 0 ? [...Array(heads).keys()] : [head];
  for (const one of chosen) {
    for (let i = 0; i < size; i++) flat[i] += layer.values[one * size + i] / chosen.length;
  }
  return Array.from({ length: rows }, (_, row) => flat.subarray(row * columns, (row + 1) * columns));
}

export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Prepare a canvas of a size in CSS pixels, sharp on every screen. */
export function context(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  return pen;
}

/** The square root lets small weights be seen; a weight of 1 stays the full colour. */
export function shade(weight) {
  return Math.sqrt(Math.max(0, Math.min(1, weight)));
}

export function shortened(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 1 && pen.measureText(text.slice(0, end) + "…").width > width) end--;
  return text.slice(0, end) + "…";
}

/** A heat map with its tokens written at the rows and above the columns; what is masked has no cell. */
export function drawHeat(canvas, rows, rowTokens, columnTokens, width, marked, isMasked = () => false) {
  const left = Math.min(92, Math.max(52, width * 0.2));
  const least = width < 420 ? 11 : 9; // smaller cells could not be labelled; what does not fit is scrolled to
  const [top, right] = [74, 28]; // the last column's name leans out
  const cell = Math.max(least, Math.min(30, Math.floor((width - left - right) / columnTokens.length)));
  const pen = context(canvas, left + cell * columnTokens.length + right, top + cell * rowTokens.length + 4);
  const size = Math.min(13, Math.max(8, cell - 3));
  pen.font = `${size}px system-ui, "PingFang SC", "Noto Sans CJK SC", sans-serif`;
  const [ink, soft, wash, heat] = ["--ink", "--soft", "--wash", "--heat"].map(colour);
  const side = cell - (cell > 9 ? 1 : 0);
  pen.textBaseline = "middle";
  rows.forEach((row, y) => {
    const faint = marked !== null && marked !== y;
    row.forEach((weight, x) => {
      if (isMasked(y, x)) return;
      pen.fillStyle = wash;
      pen.fillRect(left + x * cell, top + y * cell, cell, cell);
      pen.fillStyle = `rgb(${heat} / ${shade(weight) * (faint ? 0.35 : 1)})`;
      pen.fillRect(left + x * cell, top + y * cell, side, side);
    });
    pen.fillStyle = rowTokens[y].isSpecial ? soft : ink;
    pen.textAlign = "right";
    pen.fillText(shortened(pen, spelled(rowTokens[y]), left - 8), left - 6, top + (y + 0.5) * cell);
  });
  columnTokens.forEach((token, x) => {
    pen.save();
    pen.translate(left + (x + 0.5) * cell, top - 6);
    pen.rotate(-Math.PI / 3);
    pen.textAlign = "left";
    pen.fillStyle = token.isSpecial ? soft : ink;
    pen.fillText(shortened(pen, spelled(token), 72), 0, 0);
    pen.restore();
  });
  return { left, top, cell: { x: cell, y: cell } };
}

/** Save a heat map as a picture on the paper of the page, wide enough that every token can be read. */
export function saveHeat(weights, { rows, columns }, isMasked) {
  const [heat, picture] = [document.createElement("canvas"), document.createElement("canvas")];
  drawHeat(heat, weights, rows, columns, 120 + 30 * columns.length, null, isMasked);
  Object.assign(picture, { width: heat.width + 32, height: heat.height + 32 });
  const pen = picture.getContext("2d");
  pen.fillStyle = colour("--card");
  pen.fillRect(0, 0, picture.width, picture.height);
  pen.drawImage(heat, 16, 16);
  picture.toBlob((blob) => {
    const link = document.createElement("a");
    Object.assign(link, { href: URL.createObjectURL(blob), download: "attention.png" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000); // the browser has begun to save by then
  });
}

/** The largest distance of numbers from 0, so that a picture uses all its colours. */
export const limitOf = ({ values }) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1;

/** One pixel for each number, by its `part` from −1 to 1: blue above zero, orange below, deeper the further away. */
export function pixelsOf({ shape: [rows, columns], values }, part) {
  const image = new ImageData(columns, rows);
  const [above, below] = ["--heat", "--against"].map((name) => colour(name).split(" ").map(Number));
  values.forEach((value, at) => {
    const strength = part(value);
    image.data.set([...(strength < 0 ? below : above), 255 * Math.abs(strength)], 4 * at);
  });
  const canvas = new OffscreenCanvas(columns, rows);
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

/** A head as a small picture, one pixel for each weight. */
export function drawThumbnail(canvas, rows) {
  canvas.width = rows[0].length;
  canvas.height = rows.length;
  const pen = canvas.getContext("2d");
  const heat = colour("--heat").split(" ").map(Number);
  const image = pen.createImageData(canvas.width, canvas.height);
  rows.forEach((row, y) =>
    row.forEach((weight, x) => image.data.set([...heat, 255 * shade(weight)], 4 * (y * canvas.width + x))),
  );
  pen.putImageData(image, 0, 0);
}
