/** Makes the pictures of the docs small: a PNG of true colours becomes one with a palette of at most 256. */

import { crc32, deflateSync, inflateSync } from 'node:zlib';

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const coloursMax = 256;

/** Returns the same picture with a palette; takes what Chromium makes: 8 bits a channel, not interlaced. */
export function toPalettePng(png: Buffer): Buffer {
  const chunks = readChunks(png);
  const header = chunks.find(({ type }) => type === 'IHDR')!.data;
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const channels = header[9] === 6 ? 4 : 3;
  const data = inflateSync(Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map((each) => each.data)));
  const pixels = unfilter(data, width * channels, height, channels);
  const counts = new Map<number, number>();
  for (let at = 0; at < pixels.length; at += channels) {
    const colour = pixels.readUIntBE(at, 3);
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const colours = choosePalette([...counts].toSorted((one, other) => other[1] - one[1]).map(([colour]) => colour));
  const places = new Map(colours.map((colour, at) => [colour, at]));
  const rows = Buffer.alloc((width + 1) * height);
  for (let pixel = 0; pixel < width * height; pixel++) {
    const colour = pixels.readUIntBE(pixel * channels, 3);
    let place = places.get(colour);
    if (place === undefined) {
      place = findNearest(colours, colour);
      places.set(colour, place);
    }
    rows[pixel + Math.floor(pixel / width) + 1] = place;
  }
  const paletteBytes = Buffer.alloc(colours.length * 3);
  for (const [at, colour] of colours.entries()) paletteBytes.writeUIntBE(colour, at * 3, 3);
  const newHeader = Buffer.from(header);
  newHeader[9] = 3;
  return Buffer.concat([
    signature,
    makeChunk('IHDR', newHeader),
    makeChunk('PLTE', paletteBytes),
    makeChunk('IDAT', deflateSync(rows, { level: 9 })),
    makeChunk('IEND', Buffer.alloc(0)),
  ]);
}

function readChunks(png: Buffer): readonly { readonly type: string; readonly data: Buffer }[] {
  const chunks: { type: string; data: Buffer }[] = [];
  for (let at = signature.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    chunks.push({ type: png.toString('latin1', at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length) });
    at += length + 12;
  }
  return chunks;
}

function makeChunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

/** Undoes the filters of the rows, as the specification of PNG numbers them. */
function unfilter(data: Buffer, rowLength: number, height: number, step: number): Buffer {
  const pixels = Buffer.alloc(rowLength * height);
  for (let row = 0; row < height; row++) {
    const filter = data[row * (rowLength + 1)];
    for (let at = 0; at < rowLength; at++) {
      const to = row * rowLength + at;
      const left = at >= step ? pixels[to - step]! : 0;
      const up = row > 0 ? pixels[to - rowLength]! : 0;
      const corner = at >= step && row > 0 ? pixels[to - rowLength - step]! : 0;
      const predictions = [0, left, up, (left + up) >> 1, predictPaeth(left, up, corner)];
      pixels[to] = data[row * (rowLength + 1) + 1 + at]! + predictions[filter!]!;
    }
  }
  return pixels;
}

function predictPaeth(left: number, up: number, corner: number): number {
  const guess = left + up - corner;
  const [toLeft, toUp, toCorner] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  if (toLeft <= toUp && toLeft <= toCorner) return left;
  return toUp <= toCorner ? up : corner;
}

/** The most frequent colours, then rare ones that are far from all others, then nearer ones. */
function choosePalette(byCount: readonly number[]): readonly number[] {
  const colours = byCount.slice(0, 32);
  for (const apart of [40, 20, 10, 5, 0]) {
    for (const colour of byCount) {
      if (colours.length >= coloursMax) return colours;
      if (distanceOf(colours[findNearest(colours, colour)]!, colour) > apart ** 2) colours.push(colour);
    }
  }
  return colours;
}

function findNearest(colours: readonly number[], colour: number): number {
  let [best, distanceMin] = [0, Number.POSITIVE_INFINITY];
  for (const [at, each] of colours.entries()) {
    const distance = distanceOf(each, colour);
    if (distance < distanceMin) [best, distanceMin] = [at, distance];
  }
  return best;
}

function distanceOf(one: number, other: number): number {
  let sum = 0;
  for (const shift of [16, 8, 0]) sum += (((one >> shift) & 255) - ((other >> shift) & 255)) ** 2;
  return sum;
}
