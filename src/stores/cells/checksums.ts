/**
 * Checksums for a process that lives a moment. To load zlib and crypto takes a hook longer than all it has to sum up:
 * the first ones are made here, and who makes many has them made by Node. Both give the same.
 */

/** So much is summed up here before Node is asked; in bytes, and in times. */
const ownBytesMax = 65_536;
const ownDigestsMax = 16;

let summed = 0;
let digested = 0;
let nodeCrc: ((text: string) => number) | undefined;
let nodeHash: ((algorithm: string, text: string) => string) | undefined;

/** The CRC-32 of a text. */
export function crc32(text: string): number {
  if (nodeCrc !== undefined) return nodeCrc(text);
  summed += text.length;
  if (summed <= ownBytesMax) return ownCrc(Buffer.from(text));
  nodeCrc = process.getBuiltinModule('node:zlib').crc32;
  return nodeCrc(text);
}

/** The first 32 bits of the SHA-256 of a text. */
export function sha256Head(text: string): number {
  if (nodeHash === undefined && ++digested <= ownDigestsMax) return ownSha256Head(Buffer.from(text));
  nodeHash ??= process.getBuiltinModule('node:crypto').hash as (algorithm: string, text: string) => string;
  return Number.parseInt(nodeHash('sha256', text).slice(0, 8), 16);
}

let crcTable: Int32Array | undefined;

function ownCrc(bytes: Uint8Array): number {
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
function ownSha256Head(bytes: Uint8Array): number {
  const { start, rounds } = shaNumbers();
  const state = Int32Array.from(start);
  const padded = new DataView(new ArrayBuffer(Math.ceil((bytes.length + 9) / 64) * 64));
  new Uint8Array(padded.buffer).set(bytes);
  padded.setUint8(bytes.length, 0x80);
  padded.setUint32(padded.byteLength - 4, bytes.length * 8);
  const words = new Int32Array(64);
  for (let from = 0; from < padded.byteLength; from += 64) {
    let [a, b, c, d, e, f, g, h] = state as unknown as Eight;
    for (let at = 0; at < 64; at++) {
      words[at] = at < 16 ? padded.getInt32(from + at * 4) : mixed(words, at);
      const one = h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + rounds[at]! + words[at]!;
      const other = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g;
      g = f;
      f = e;
      e = (d + one) | 0;
      d = c;
      c = b;
      b = a;
      a = (one + other) | 0;
    }
    for (const [at, value] of [a, b, c, d, e, f, g, h].entries()) state[at]! += value;
  }
  return state[0]! >>> 0;
}

type Eight = [number, number, number, number, number, number, number, number];

function mixed(words: Int32Array, at: number): number {
  const early = words[at - 15]!;
  const late = words[at - 2]!;
  const one = turned(early, 7) ^ turned(early, 18) ^ (early >>> 3);
  const other = turned(late, 17) ^ turned(late, 19) ^ (late >>> 10);
  return words[at - 16]! + one + words[at - 7]! + other;
}

function turned(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}

interface ShaNumbers {
  readonly start: readonly number[];
  readonly rounds: readonly number[];
}

let numbers: ShaNumbers | undefined;

/** The fractions of square and cube roots of the first primes. */
function shaNumbers(): ShaNumbers {
  if (numbers !== undefined) return numbers;
  const primes: number[] = [];
  for (let number = 2; primes.length < 64; number++) {
    if (primes.every((prime) => number % prime !== 0)) primes.push(number);
  }
  const fraction = (value: number) => ((value % 1) * 4_294_967_296) | 0;
  const start = primes.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));
  numbers = { start, rounds: primes.map((prime) => fraction(Math.cbrt(prime))) };
  return numbers;
}
