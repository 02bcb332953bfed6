// The numbers of a position table, and what the formula of section 3.5 says about a dimension.
// Knows arrays; knows nothing of pictures.

export const rowOf = ({ shape: [, columns], values }, row) =>
  Array.from(values.subarray(row * columns, (row + 1) * columns));

export const columnOf = ({ shape: [rows, columns], values }, column) =>
  Array.from({ length: rows }, (_, row) => values[row * columns + column]);

/**
 * What a dimension of a sinusoidal table is: {isSine, partner, wavelength}. At position 0 every sine is 0 and every
 * cosine 1, which tells whether cosines stand beside their sines or in a half of their own.
 */
export function waveOf(table, dimension) {
  const dim = table.shape[1];
  const isBeside = table.values[1] > 0.5;
  const half = dim / 2;
  const isSine = isBeside ? dimension % 2 === 0 : dimension < half;
  const pair = isBeside ? Math.floor(dimension / 2) : dimension % half;
  const partner = isBeside ? dimension + (isSine ? 1 : -1) : dimension + (isSine ? half : -half);
  return { isSine, partner, wavelength: 2 * Math.PI * 10000 ** ((2 * pair) / dim) };
}

/** The dimensions with all sines before all cosines, quickest first; as stored, where they are so already. */
export function sortedDimensions(table) {
  const all = Array.from({ length: table.shape[1] }, (_, dimension) => dimension);
  const isSine = (dimension) => waveOf(table, dimension).isSine;
  return [...all.filter(isSine), ...all.filter((dimension) => !isSine(dimension))];
}

/** The table with its columns in another order. */
export function reordered({ shape, values }, dimensions) {
  const [rows, columns] = shape;
  const moved = new Float32Array(values.length);
  for (let row = 0; row < rows; row++) {
    dimensions.forEach((from, to) => { moved[row * columns + to] = values[row * columns + from]; });
  }
  return { shape, values: moved };
}

/** A number with its sign, in as many digits as half precision has. */
export const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;
