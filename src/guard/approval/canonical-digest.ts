/**
 * Computes the keyed digest of a value: equal for equal content in any order of keys, over the whole value. Reads each
 * object once, never throws, and reads at most a bounded number of properties.
 */

import { canonicalDepthMax, canonicalEntriesMax } from '../../core/limits.ts';
import { isHandle } from './handle-values.ts';

/** The bytes that a node of a value has; its children are read already. */
export interface NodeHash {
  update(text: string, encoding: 'utf16le'): unknown;
  update(bytes: Uint8Array): unknown;
  digest(encoding: 'hex'): string;
}

/** The state of one pass over a value. */
interface Pass {
  readonly createHash: () => NodeHash;
  readonly isProxy: (value: unknown) => boolean;
  /** The digests of objects that were read. */
  readonly digests: Map<object, string>;
  /** The depth of objects that are being read: a reference to one of them is a cycle. */
  readonly open: Map<object, number>;
  entries: number;
}

/** Thrown if a value has more properties or levels than a pass reads. */
const tooLarge = Symbol('too large');

/** HMAC-SHA-256 of a value as hex; undefined if the value has too many properties or levels. */
export function digestValue(key: string, value: unknown): string | undefined {
  // Loaded for a question only: loading it takes longer than a call that nobody is asked about.
  const { createHash, createHmac } = process.getBuiltinModule('node:crypto');
  const content = encodeWith(() => createHash('sha256'), value);
  if (content === undefined) return undefined;
  return createHmac('sha256', key).update(`switchgear approval\n${content}`).digest('hex');
}

/** The hash of a value by any hash; undefined if the value has too many properties or levels. */
export function encodeWith(createHash: () => NodeHash, value: unknown): string | undefined {
  const { types } = process.getBuiltinModule('node:util');
  const pass: Pass = {
    createHash,
    isProxy: types.isProxy,
    digests: new Map(),
    open: new Map(),
    entries: canonicalEntriesMax,
  };
  try {
    const text = new NodeText(pass.createHash());
    writeValue(pass, text, value, 0);
    return text.digest();
  } catch (error) {
    if (error === tooLarge || error instanceof RangeError) return undefined;
    throw error;
  }
}

const identities = new WeakMap<object, number>();
let lastIdentity = 0;

/** A number that only this object has in this process. */
function identityOf(value: object): number {
  const known = identities.get(value);
  if (known !== undefined) return known;
  identities.set(value, ++lastIdentity);
  return lastIdentity;
}

/** Collects short pieces before they are hashed, because a call of the hash costs more than the piece. */
class NodeText {
  readonly #hash: NodeHash;
  #pending = '';

  constructor(hash: NodeHash) {
    this.#hash = hash;
  }

  add(piece: string): void {
    this.#pending += piece;
    if (this.#pending.length > 65_536) this.#flush();
  }

  addBytes(bytes: Uint8Array): void {
    this.#flush();
    this.#hash.update(bytes);
  }

  digest(): string {
    this.#flush();
    return this.#hash.digest('hex');
  }

  #flush(): void {
    // Two bytes for each unit keep halves of surrogates apart, which UTF-8 would not.
    this.#hash.update(this.#pending, 'utf16le');
    this.#pending = '';
  }
}

function writeValue(pass: Pass, text: NodeText, value: unknown, depth: number): void {
  text.add(encodeValue(pass, value, depth));
}

/** Encodes a value so that no other value is encoded alike: tag, length, content. */
function encodeValue(pass: Pass, value: unknown, depth: number): string {
  switch (typeof value) {
    case 'string':
      return `s${value.length}:${value}`;
    case 'number':
      return `n${Object.is(value, -0) ? '-0' : value};`;
    case 'boolean':
      return value ? 't' : 'f';
    case 'undefined':
      return 'u';
    case 'bigint':
      return `i${value};`;
    case 'symbol':
      return describeSymbol(value);
    case 'function':
      return `F${identityOf(value)};`;
    case 'object':
      return value === null ? 'N' : `@${digestObject(pass, value, depth + 1)}`;
  }
}

function describeSymbol(symbol: symbol): string {
  const registered = Symbol.keyFor(symbol);
  const name = registered ?? symbol.description ?? '';
  const identity = registered === undefined ? identityOf(symbol as unknown as object) : 0;
  return `y${identity}:${name.length}:${name}`;
}

function digestObject(pass: Pass, value: object, depth: number): string {
  const known = pass.digests.get(value);
  if (known !== undefined) return known;
  const openDepth = pass.open.get(value);
  if (openDepth !== undefined) return `cycle ${depth - openDepth};`;
  if (depth > canonicalDepthMax) throw tooLarge;
  pass.open.set(value, depth);
  const text = new NodeText(pass.createHash());
  try {
    writeObject(pass, text, value, depth);
  } catch (error) {
    if (error === tooLarge || error instanceof RangeError) throw error;
    text.add(`unreadable ${identityOf(value)};`); // A revoked proxy, or a trap that throws.
  }
  pass.open.delete(value);
  const digest = text.digest();
  pass.digests.set(value, digest);
  return digest;
}

function writeObject(pass: Pass, text: NodeText, value: object, depth: number): void {
  if (pass.isProxy(value)) text.add(`proxy ${identityOf(value)};`);
  const prototype: object | null = Object.getPrototypeOf(value);
  const kind = Array.isArray(value) ? 'array' : standardKind(prototype);
  text.add(`${kind ?? 'instance'};`);
  if (kind === undefined) {
    // An instance may have hidden state, so another instance is another value; its class may hold data, too.
    text.add(`${identityOf(value)};`);
    if (isHandle(value)) return;
    writeValue(pass, text, prototype, depth);
  } else if (writeContent(pass, text, kind, value, depth)) return;
  const keys = Reflect.ownKeys(value);
  pass.entries -= keys.length;
  if (pass.entries < 0) throw tooLarge;
  if (kind !== 'array') keys.sort(compareKeys);
  for (const key of keys) {
    writeValue(pass, text, key, depth);
    const property = Reflect.getOwnPropertyDescriptor(value, key);
    if (property === undefined) text.add('absent;');
    else if ('value' in property) writeValue(pass, text, property.value, depth);
    else writeAccessor(pass, text, value, property, depth);
  }
}

/** Writes a computed property: its functions, and the value that it has now. */
function writeAccessor(pass: Pass, text: NodeText, owner: object, property: PropertyDescriptor, depth: number): void {
  text.add('accessor;');
  writeValue(pass, text, property.get, depth);
  writeValue(pass, text, property.set, depth);
  // The getter of a class reads the fields of an instance, which are written already.
  if (Object.hasOwn(owner, 'constructor')) return;
  let computed: readonly unknown[];
  try {
    computed = [property.get?.call(owner)];
  } catch {
    computed = [];
  }
  writeList(pass, text, computed, depth);
}

/** Text keys in order of their units, then symbols. */
function compareKeys(left: string | symbol, right: string | symbol): number {
  if (typeof left === 'string' && typeof right === 'string') return left < right ? -1 : left > right ? 1 : 0;
  if (typeof left === 'string') return -1;
  return typeof right === 'string' ? 1 : 0;
}

const standardClasses = [Object, Date, RegExp, Map, Set, URL, URLSearchParams, ArrayBuffer] as const;

/** The kind of an object whose whole content can be read; undefined for instances of other classes. */
function standardKind(prototype: object | null): string | undefined {
  if (prototype === null) return 'Object';
  for (const standard of standardClasses) if (standard.prototype === prototype) return standard.name;
  if (Object.getPrototypeOf(prototype) === typedArrayPrototype || prototype === Buffer.prototype) return 'bytes';
  // The plain objects of another realm.
  const isForeignPlain = Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'hasOwnProperty');
  return isForeignPlain ? 'Object' : undefined;
}

const typedArrayPrototype: object = Object.getPrototypeOf(Uint8Array.prototype);

/** Writes content that is in no property; returns whether that is all of it. */
function writeContent(pass: Pass, text: NodeText, kind: string, value: object, depth: number): boolean {
  switch (kind) {
    case 'Date':
      writeValue(pass, text, Date.prototype.getTime.call(value), depth);
      return false;
    case 'RegExp':
      writeValue(pass, text, RegExp.prototype.toString.call(value), depth);
      return false;
    case 'Map':
      writeList(pass, text, [...Map.prototype.entries.call(value)].flat(1), depth);
      return false;
    case 'Set':
      writeList(pass, text, [...Set.prototype.values.call(value)], depth);
      return false;
    case 'URL':
    case 'URLSearchParams':
      writeValue(pass, text, String(value), depth);
      return false;
    case 'ArrayBuffer':
      text.addBytes(new Uint8Array(value as ArrayBuffer));
      return true;
    case 'bytes': {
      const { buffer, byteOffset, byteLength } = value as Uint8Array;
      text.add(`${Object.prototype.toString.call(value)}${byteLength};`);
      text.addBytes(new Uint8Array(buffer, byteOffset, byteLength));
      return true;
    }
    default:
      return false;
  }
}

function writeList(pass: Pass, text: NodeText, items: readonly unknown[], depth: number): void {
  pass.entries -= items.length;
  if (pass.entries < 0) throw tooLarge;
  text.add(`${items.length};`);
  for (const item of items) writeValue(pass, text, item, depth);
}
