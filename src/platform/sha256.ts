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

type WorkingVariables = [number, number, number, number, number, number, number, number];

function computeSha256(bytes: Uint8Array): Int32Array {
  const { initialHash, roundConstants } = readConstants();
  const hash = Int32Array.from(initialHash);
  const padded = padMessage(bytes);
  const schedule = new Int32Array(64);
  for (let block = 0; block < padded.byteLength; block += 64) {
    let [a, b, c, d, e, f, g, h] = hash as unknown as WorkingVariables;
    for (let round = 0; round < 64; round++) {
      schedule[round] = round < 16 ? padded.getInt32(block + round * 4) : extendSchedule(schedule, round);
      const sumE = rotateRight(e, 6) ^ rotateRight(e, 11) ^ rotateRight(e, 25);
      const sumA = rotateRight(a, 2) ^ rotateRight(a, 13) ^ rotateRight(a, 22);
      const first = h + sumE + ((e & f) ^ (~e & g)) + roundConstants[round]! + schedule[round]!;
      const second = sumA + ((a & b) ^ (a & c) ^ (b & c));
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
    }
    for (const [index, value] of [a, b, c, d, e, f, g, h].entries()) hash[index]! += value;
  }
  return hash;
}

function padMessage(bytes: Uint8Array): DataView {
  const padded = new DataView(new ArrayBuffer(Math.ceil((bytes.length + 9) / 64) * 64));
  new Uint8Array(padded.buffer).set(bytes);
  padded.setUint8(bytes.length, 0x80);
  padded.setUint32(padded.byteLength - 4, bytes.length * 8);
  return padded;
}

function extendSchedule(schedule: Int32Array, round: number): number {
  const early = schedule[round - 15]!;
  const late = schedule[round - 2]!;
  const sigmaEarly = rotateRight(early, 7) ^ rotateRight(early, 18) ^ (early >>> 3);
  const sigmaLate = rotateRight(late, 17) ^ rotateRight(late, 19) ^ (late >>> 10);
  return schedule[round - 16]! + sigmaEarly + schedule[round - 7]! + sigmaLate;
}

function rotateRight(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}

interface Constants {
  readonly initialHash: readonly number[];
  readonly roundConstants: readonly number[];
}

let constants: Constants | undefined;

/** The constants are the fractions of the square and cube roots of the first primes. */
function readConstants(): Constants {
  if (constants !== undefined) return constants;
  const primes: number[] = [];
  for (let number = 2; primes.length < 64; number++) {
    if (primes.every((prime) => number % prime !== 0)) primes.push(number);
  }
  const fraction = (value: number) => ((value % 1) * 4_294_967_296) | 0;
  const initialHash = primes.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));
  constants = { initialHash, roundConstants: primes.map((prime) => fraction(Math.cbrt(prime))) };
  return constants;
}
