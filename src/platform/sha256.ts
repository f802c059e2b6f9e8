/**
 * SHA-256. The first bytes of a process are digested in JavaScript, because loading `node:crypto` takes a hook about
 * 10 ms, a seventh of its life; both ways give the same result. The JavaScript follows FIPS 180-4.
 */

/** So many bytes are digested before loading `node:crypto` is cheaper. */
const ownBytesMax = 32_768;

let ownBytes = 0;
let nodeHash: ((algorithm: string, bytes: Uint8Array) => string) | undefined;

/** Returns the SHA-256 of some bytes, or of a text in UTF-8, as hexadecimal digits. */
export function sha256Hex(content: string | Uint8Array): string {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  ownBytes += bytes.length;
  if (nodeHash === undefined && ownBytes <= ownBytesMax) return computeSha256Hex(bytes);
  nodeHash ??= process.getBuiltinModule('node:crypto').hash as NonNullable<typeof nodeHash>;
  return nodeHash('sha256', bytes);
}

/** Returns the first 32 bits of the SHA-256 of a text in UTF-8. */
export function sha256Head(text: string): number {
  return Number.parseInt(sha256Hex(text).slice(0, 8), 16);
}

/** Returns the SHA-256 without `node:crypto`. */
export function computeSha256Hex(bytes: Uint8Array): string {
  return Array.from(computeSha256(bytes), (word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
}

/** Plain variables and loops: this runs once or twice in a process, so it is never optimized. */
function computeSha256(bytes: Uint8Array): Int32Array {
  const { initialHash, roundConstants } = readConstants();
  const hash = initialHash.slice();
  const padded = padMessage(bytes);
  const schedule = new Int32Array(64);
  for (let block = 0; block < padded.byteLength; block += 64) {
    for (let round = 0; round < 16; round++) schedule[round] = padded.getInt32(block + round * 4);
    for (let round = 16; round < 64; round++) {
      const early = schedule[round - 15]!;
      const late = schedule[round - 2]!;
      const sigmaEarly = ((early >>> 7) | (early << 25)) ^ ((early >>> 18) | (early << 14)) ^ (early >>> 3);
      const sigmaLate = ((late >>> 17) | (late << 15)) ^ ((late >>> 19) | (late << 13)) ^ (late >>> 10);
      schedule[round] = schedule[round - 16]! + sigmaEarly + schedule[round - 7]! + sigmaLate;
    }
    digestBlock(hash, schedule, roundConstants);
  }
  return hash;
}

function digestBlock(hash: Int32Array, schedule: Int32Array, roundConstants: Int32Array): void {
  let a = hash[0]!;
  let b = hash[1]!;
  let c = hash[2]!;
  let d = hash[3]!;
  let e = hash[4]!;
  let f = hash[5]!;
  let g = hash[6]!;
  let h = hash[7]!;
  for (let round = 0; round < 64; round++) {
    const sumE = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const sumA = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const first = (h + sumE + ((e & f) ^ (~e & g)) + roundConstants[round]! + schedule[round]!) | 0;
    const second = sumA + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + second) | 0;
  }
  hash[0]! += a;
  hash[1]! += b;
  hash[2]! += c;
  hash[3]! += d;
  hash[4]! += e;
  hash[5]! += f;
  hash[6]! += g;
  hash[7]! += h;
}

function padMessage(bytes: Uint8Array): DataView {
  const padded = new DataView(new ArrayBuffer(Math.ceil((bytes.length + 9) / 64) * 64));
  new Uint8Array(padded.buffer).set(bytes);
  padded.setUint8(bytes.length, 0x80);
  padded.setUint32(padded.byteLength - 4, bytes.length * 8);
  return padded;
}

interface Constants {
  readonly initialHash: Int32Array;
  readonly roundConstants: Int32Array;
}

let constants: Constants | undefined;

/** The constants are the fractions of the square and cube roots of the first primes. */
function readConstants(): Constants {
  constants ??= { initialHash: parseWords(initialWords), roundConstants: parseWords(roundWords) };
  return constants;
}

const initialWords = '6a09e667bb67ae853c6ef372a54ff53a510e527f9b05688c1f83d9ab5be0cd19';
const roundWords =
  '428a2f9871374491b5c0fbcfe9b5dba53956c25b59f111f1923f82a4ab1c5ed5' +
  'd807aa9812835b01243185be550c7dc372be5d7480deb1fe9bdc06a7c19bf174' +
  'e49b69c1efbe47860fc19dc6240ca1cc2de92c6f4a7484aa5cb0a9dc76f988da' +
  '983e5152a831c66db00327c8bf597fc7c6e00bf3d5a7914706ca635114292967' +
  '27b70a852e1b21384d2c6dfc53380d13650a7354766a0abb81c2c92e92722c85' +
  'a2bfe8a1a81a664bc24b8b70c76c51a3d192e819d6990624f40e3585106aa070' +
  '19a4c1161e376c082748774c34b0bcb5391c0cb34ed8aa4a5b9cca4f682e6ff3' +
  '748f82ee78a5636f84c878148cc7020890befffaa4506cebbef9a3f7c67178f2';

/** Reads words of eight hexadecimal digits each. */
function parseWords(digits: string): Int32Array {
  const bytes = Buffer.from(digits, 'hex');
  const words = new Int32Array(bytes.length / 4);
  for (let at = 0; at < words.length; at++) words[at] = bytes.readInt32BE(at * 4);
  return words;
}
