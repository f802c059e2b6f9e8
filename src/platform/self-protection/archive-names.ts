/** The names of the files in a tar or zip archive, without unpacking it. */

import { readRegularFile } from '../regular-file.ts';

/** The largest archive that is looked into, packed and unpacked. */
const archiveBytesMax = 16_777_216;
const unpackedBytesMax = 67_108_864;
/** The names that are read of an archive. */
const archiveNamesMax = 50_000;

/** Lists the names in an archive; undefined if the archive is missing, too large or of an unknown format. */
export function listArchiveNames(path: string): readonly string[] | undefined {
  const bytes = readRegularFile(path, archiveBytesMax);
  if (bytes === undefined) return undefined;
  try {
    if (bytes.readUInt16BE(0) === gzipMark) return listTarNames(unpackGzip(bytes));
    return bytes.readUInt32BE(0) === zipMark ? listZipNames(bytes) : listTarNames(bytes);
  } catch {
    return undefined; // The archive is damaged or too large.
  }
}

const gzipMark = 0x1f_8b;
const zipMark = 0x50_4b_03_04;

function unpackGzip(bytes: Buffer): Buffer {
  // Loaded only for an archive that is unpacked over a protected file.
  const { gunzipSync } = process.getBuiltinModule('node:zlib');
  return gunzipSync(bytes, { maxOutputLength: unpackedBytesMax });
}

const blockSize = 512;

function listTarNames(bytes: Buffer): readonly string[] {
  const names: string[] = [];
  const text = (start: number, length: number) => bytes.toString('utf8', start, start + length).replace(/\0.*$/s, '');
  let long: string | undefined;
  for (let at = 0; at + blockSize <= bytes.length && names.length < archiveNamesMax; ) {
    const size = Number.parseInt(text(at + 124, 12).trim() || '0', 8) || 0;
    const type = text(at + 156, 1);
    const content = at + blockSize;
    const prefix = text(at + 257, 5) === 'ustar' ? text(at + 345, 155) : '';
    const name = prefix === '' ? text(at, 100) : `${prefix}/${text(at, 100)}`;
    // Long names stand in an entry of their own before the file.
    if (type === 'L') long = text(content, size);
    else if (type === 'x')
      long = /(?:^|\n)\d+ path=([^\n]*)\n/.exec(bytes.toString('utf8', content, content + size))?.[1] ?? long;
    else if (name !== '') {
      names.push(long ?? name);
      long = undefined;
    }
    at = content + Math.ceil(size / blockSize) * blockSize;
  }
  return names;
}

function listZipNames(bytes: Buffer): readonly string[] {
  const names: string[] = [];
  const end = bytes.lastIndexOf('PK\u0005\u0006', undefined, 'latin1');
  let at = bytes.readUInt32LE(end + 16);
  for (let left = bytes.readUInt16LE(end + 10); left > 0 && names.length < archiveNamesMax; left--) {
    const length = bytes.readUInt16LE(at + 28);
    names.push(bytes.toString('utf8', at + 46, at + 46 + length));
    at += 46 + length + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  }
  return names;
}

/** An archive that a command unpacks, and where. */
export interface UnpackedArchive {
  readonly archive: string;
  readonly folder: string;
  /** Leading folders that are taken off each name. */
  readonly stripped: number;
}

/** Reads the words of `tar`, `unzip`, `7z`, `jar` and Python's modules; undefined if they unpack nothing. */
export function readUnpackCommand(name: string, args: readonly string[]): UnpackedArchive | undefined {
  const wordAfter = (pattern: RegExp) => {
    const at = args.findIndex((arg) => pattern.test(arg));
    return at === -1 ? undefined : args[at + 1];
  };
  const joined = (pattern: RegExp) => args.flatMap((arg) => pattern.exec(arg)?.[1] ?? [])[0];
  const make = (archive: string | undefined, folder = '.', stripped = 0) =>
    archive === undefined ? undefined : { archive, folder, stripped };
  if (/^(bsd|g)?tar$/.test(name) || name === 'jar') {
    const isExtracting =
      /^-?[a-zA-Z]*x/.test(args[0] ?? '') || args.some((arg) => /^(-[a-zA-Z]*x[a-zA-Z]*|--extract|--get)$/.test(arg));
    if (!isExtracting) return undefined;
    const file = joined(/^--file=(.+)$/s) ?? joined(/^-f(.+)$/s) ?? wordAfter(/^(-?[a-zA-Z]*f|--file)$/);
    const folder = joined(/^--directory=(.+)$/s) ?? joined(/^-C(.+)$/s) ?? wordAfter(/^(-[a-zA-Z]*C|--directory)$/);
    return make(
      file,
      folder,
      Number(joined(/^--strip(?:-components)?=(\d+)$/) ?? wordAfter(/^--strip(-components)?$/) ?? 0),
    );
  }
  const operands = args.filter((arg) => !arg.startsWith('-'));
  if (name === 'unzip') {
    if (args.some((arg) => /^-\w*[lptvzZ]/.test(arg))) return undefined;
    return make(operands[0], joined(/^-d(.+)$/s) ?? wordAfter(/^-\w*d$/));
  }
  if (/^7z[ar]?$/.test(name) && /^[ex]$/.test(args[0] ?? '')) return make(operands[1], joined(/^-o(.+)$/s));
  if (!/^python/.test(name) || !/^(zipfile|tarfile)$/.test(wordAfter(/^-m$/) ?? '')) return undefined;
  const at = args.findIndex((arg) => /^(-e|--extract)$/.test(arg));
  return at === -1 ? undefined : make(args[at + 1], args[at + 2]);
}
