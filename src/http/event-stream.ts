/** Server-sent events, split where they end. The bytes of each event are kept, so that it can pass unchanged. */

/** Bytes that came at once, or that were put together from parts. */
class Piece {
  readonly bytes: Buffer;
  /** Every byte as one character. */
  readonly characters: string;
  /** Whether the characters are the text. */
  readonly isAscii: boolean;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
    this.characters = bytes.toString('latin1');
    this.isAscii = !/[\u0080-\u00ff]/.test(this.characters);
  }

  readText({ from, to }: Place): string {
    return this.isAscii ? this.characters.slice(from, to) : this.bytes.toString('utf8', from, to);
  }
}

/** One event, with the empty line that ends it. Its fields are read when they are asked for. */
export class StreamEvent {
  readonly #piece: Piece;
  readonly #place: Place;
  readonly #isRead: boolean;

  constructor(piece: Piece, place: Place, isRead: boolean) {
    this.#piece = piece;
    this.#place = place;
    this.#isRead = isRead;
  }

  /** In bytes. */
  get length(): number {
    return this.#place.to - this.#place.from;
  }

  get raw(): Buffer {
    return this.#piece.bytes.subarray(this.#place.from, this.#place.to);
  }

  /** The lines of the data. */
  get data(): readonly Buffer[] {
    return this.#find('data').map(({ from, to }) => this.#piece.bytes.subarray(from, to));
  }

  /** The lines of the data as one text; undefined if the event has no data. */
  get text(): string | undefined {
    const places = this.#find('data');
    const first = places[0] && this.#piece.readText(places[0]);
    return places.length < 2 ? first : places.map((each) => this.#piece.readText(each)).join('\n');
  }

  get id(): string | undefined {
    const last = this.#find('id').at(-1);
    return last && this.#piece.readText(last);
  }

  get retryMs(): number | undefined {
    const numbers = this.#find('retry').map(({ from, to }) => this.#piece.characters.slice(from, to));
    const last = numbers.findLast((each) => /^\d{1,9}$/.test(each));
    return last === undefined ? undefined : Number(last);
  }

  /** The values of a field, as places in the bytes. */
  #find(name: string): readonly Place[] {
    if (!this.#isRead) return [];
    const { characters } = this.#piece;
    const { from: start, to: stop } = this.#place;
    const found: Place[] = [];
    for (let at = start + (characters.startsWith(byteOrderMark, start) ? byteOrderMark.length : 0); at < stop; ) {
      const end = findLineEnd(characters, at, stop);
      if (characters.startsWith(name, at)) {
        const after = at + name.length;
        const from = characters.startsWith(': ', after) ? after + 2 : after + 1;
        if (after === end) found.push({ from: end, to: end });
        else if (characters[after] === ':') found.push({ from, to: end });
      }
      at = end + 1;
    }
    return found;
  }
}

interface Place {
  readonly from: number;
  readonly to: number;
}

/** The three bytes of the mark, each as a character. */
const byteOrderMark = '\u00ef\u00bb\u00bf';
const noBytes = Buffer.alloc(0);

export class EventSplitter {
  /** The parts of an event that is not complete. */
  #held: Buffer[] = [];
  heldBytes = 0;
  /** The bytes of the events that the last push completed, in one piece. */
  passed: Buffer = noBytes;
  /** Whether the last byte was a CR, to which an LF may belong. */
  #isAfterReturn = false;
  /** Whether the current line has no byte so far. */
  #isLineEmpty = true;
  /** Whether the beginning of this event was taken, so that its data is not known. */
  #isTaken = false;

  /** Takes the next bytes; returns the events that they complete. Lines end with LF, CR LF or CR. */
  push(chunk: Buffer): readonly StreamEvent[] {
    const events: StreamEvent[] = [];
    const piece = new Piece(chunk);
    const { characters } = piece;
    let began = 0;
    // An LF that belongs to the CR before it is kept with the next event.
    let at = this.#isAfterReturn && characters[0] === '\n' ? 1 : 0;
    let feed = characters.indexOf('\n', at);
    let back = characters.indexOf('\r', at);
    while (feed !== -1 || back !== -1) {
      const isFeed = back === -1 || (feed !== -1 && feed < back);
      const end = isFeed ? feed : back;
      const next = !isFeed && feed === back + 1 ? end + 2 : end + 1;
      const isEventEnd = end === at && this.#isLineEmpty;
      this.#isLineEmpty = true;
      at = next;
      if (isEventEnd) {
        events.push(this.#complete(piece, began, at));
        began = at;
      }
      if (feed !== -1 && feed < at) feed = characters.indexOf('\n', at);
      if (back !== -1 && back < at) back = characters.indexOf('\r', at);
    }
    if (at < chunk.length) this.#isLineEmpty = false;
    if (chunk.length > 0) this.#isAfterReturn = chunk.at(-1) === 0x0d;
    this.passed = this.#takePassed(chunk, began);
    return events;
  }

  #complete(piece: Piece, from: number, to: number): StreamEvent {
    const isRead = !this.#isTaken;
    this.#isTaken = false;
    if (from > 0 || this.#held.length === 0) return new StreamEvent(piece, { from, to }, isRead);
    const whole = new Piece(Buffer.concat([...this.#held, piece.bytes.subarray(from, to)]));
    return new StreamEvent(whole, { from: 0, to: whole.bytes.length }, isRead);
  }

  /** The bytes before the event that is not complete; that event is held. */
  #takePassed(chunk: Buffer, began: number): Buffer {
    const part = chunk.subarray(0, began);
    const passed = began > 0 && this.#held.length > 0 ? Buffer.concat([...this.#held, part]) : part;
    if (began > 0) {
      this.#held = [];
      this.heldBytes = 0;
    }
    if (began < chunk.length) this.#held.push(chunk.subarray(began));
    this.heldBytes += chunk.length - began;
    return passed;
  }

  /** Returns the bytes of an event that is not complete, and forgets them: the rest of the event has no data. */
  takeHeld(): Buffer {
    const held = this.#held.length === 1 ? this.#held[0]! : Buffer.concat(this.#held);
    this.#isTaken ||= held.length > 0;
    this.#held = [];
    this.heldBytes = 0;
    return held;
  }
}

/** Where a line ends: at its CR or LF, or at the end of the event. */
function findLineEnd(characters: string, at: number, stop: number): number {
  const rest = characters.slice(at, stop);
  const feed = rest.indexOf('\n');
  const line = feed === -1 ? rest : rest.slice(0, feed);
  const back = line.indexOf('\r');
  return at + (back === -1 ? line.length : back);
}
