/**
 * Checksums for a process that lives a moment. To load zlib and crypto takes a hook longer than all it has to sum up:
 * the first ones are made here, and who makes many has them made by Node. Both give the same.
 */

/** So much is summed up here before Node is asked; in bytes, and in times. */
const ownBytesMax = 65_536;
const ownDigestsMax = 16;

let summedBytes = 0;
let digestCount = 0;
let nodeCrc: ((text: string) => number) | undefined;
let nodeHash: ((algorithm: string, text: string) => string) | undefined;

/** The CRC-32 of a text. */
export function crc32(text: string): number {
  if (nodeCrc !== undefined) return nodeCrc(text);
  summedBytes += text.length;
  if (summedBytes <= ownBytesMax) return computeCrc32(Buffer.from(text));
  nodeCrc = process.getBuiltinModule('node:zlib').crc32;
  return nodeCrc(text);
}

/** The first 32 bits of the SHA-256 of a text. */
export function sha256Head(text: string): number {
  if (nodeHash === undefined && ++digestCount <= ownDigestsMax) return computeSha256Head(Buffer.from(text));
  nodeHash ??= process.getBuiltinModule('node:crypto').hash as (algorithm: string, text: string) => string;
  return Number.parseInt(nodeHash('sha256', text).slice(0, 8), 16);
}

let crcTable: Int32Array | undefined;

function computeCrc32(bytes: Uint8Array): number {
  crcTable ??= Int32Array.from({ length: 256 }, (_, byte) => {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
    return crc;
  });
  const table = crcTable;
  let crc = -1;
  for (let at = 0; at < bytes.length; at++) crc = table[(crc ^ bytes[at]!) & 0xff]! ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** As FIPS 180-4 describes it, in plain loops: no process runs it often enough to have it made fast. */
function computeSha256Head(bytes: Uint8Array): number {
  const { start, rounds } = shaConstants();
  const state = Int32Array.from(start);
  const padded = new DataView(new ArrayBuffer(Math.ceil((bytes.length + 9) / 64) * 64));
  new Uint8Array(padded.buffer).set(bytes);
  padded.setUint8(bytes.length, 0x80);
  padded.setUint32(padded.byteLength - 4, bytes.length * 8);
  const words = new Int32Array(64);
  for (let from = 0; from < padded.byteLength; from += 64) {
    let [a, b, c, d, e, f, g, h] = state as unknown as Eight;
    for (let at = 0; at < 64; at++) {
      words[at] = at < 16 ? padded.getInt32(from + at * 4) : scheduleWord(words, at);
      const first =
        h +
        (rotateRight(e, 6) ^ rotateRight(e, 11) ^ rotateRight(e, 25)) +
        ((e & f) ^ (~e & g)) +
        rounds[at]! +
        words[at]!;
      const second = (rotateRight(a, 2) ^ rotateRight(a, 13) ^ rotateRight(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g;
      g = f;
      f = e;
      e = (d + first) | 0;
      d = c;
      c = b;
      b = a;
      a = (first + second) | 0;
    }
    for (const [at, value] of [a, b, c, d, e, f, g, h].entries()) state[at]! += value;
  }
  return state[0]! >>> 0;
}

type Eight = [number, number, number, number, number, number, number, number];

function scheduleWord(words: Int32Array, at: number): number {
  const early = words[at - 15]!;
  const late = words[at - 2]!;
  const first = rotateRight(early, 7) ^ rotateRight(early, 18) ^ (early >>> 3);
  const second = rotateRight(late, 17) ^ rotateRight(late, 19) ^ (late >>> 10);
  return words[at - 16]! + first + words[at - 7]! + second;
}

function rotateRight(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}

interface ShaConstants {
  readonly start: readonly number[];
  readonly rounds: readonly number[];
}

let constants: ShaConstants | undefined;

/** The fractions of square and cube roots of the first primes. */
function shaConstants(): ShaConstants {
  if (constants !== undefined) return constants;
  const primes: number[] = [];
  for (let number = 2; primes.length < 64; number++) {
    if (primes.every((prime) => number % prime !== 0)) primes.push(number);
  }
  const fraction = (value: number) => ((value % 1) * 4_294_967_296) | 0;
  const start = primes.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));
  constants = { start, rounds: primes.map((prime) => fraction(Math.cbrt(prime))) };
  return constants;
}
