/**
 * Computes the checksums of stored rows. The first of a process are computed in JavaScript, because loading `node:zlib`
 * takes longer than all that a hook process computes; both ways give the same result.
 */

const ownBytesMax = 65_536;

let summedBytes = 0;
let nodeCrc: ((text: string) => number) | undefined;

/** Returns the CRC-32 of a text in UTF-8. */
export function crc32(text: string): number {
  if (nodeCrc !== undefined) return nodeCrc(text);
  summedBytes += text.length;
  if (summedBytes <= ownBytesMax) return computeCrc32(Buffer.from(text));
  nodeCrc = process.getBuiltinModule('node:zlib').crc32;
  return nodeCrc(text);
}

let crcTable: Int32Array | undefined;

/** The entry of a byte is the sum of those of its bits, so that few are computed bit by bit. */
function makeTable(): Int32Array {
  const table = new Int32Array(256);
  let crc = 1;
  for (let bit = 128; bit > 0; bit >>= 1) {
    crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
    for (let byte = 0; byte < 256; byte += 2 * bit) table[bit + byte] = crc ^ table[byte]!;
  }
  return table;
}

function computeCrc32(bytes: Uint8Array): number {
  crcTable ??= makeTable();
  const table = crcTable;
  let crc = -1;
  for (let at = 0; at < bytes.length; at++) crc = table[(crc ^ bytes[at]!) & 0xff]! ^ (crc >>> 8);
  return ~crc >>> 0;
}
