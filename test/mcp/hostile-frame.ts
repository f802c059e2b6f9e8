/** Random and hostile frames from a seed. */

/** A small generator of numbers from a seed. */
export function createRandom(seed: number) {
  let state = seed >>> 0;
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  return {
    below: (limit: number) => Math.floor(next() * limit),
    pick: <T>(from: readonly T[]) => from[Math.floor(next() * from.length)]!,
  };
}

export type Random = ReturnType<typeof createRandom>;

const ids = ['1', '2', '"1"', '"a"', '9007199254740993', '-0', '1e3', 'null', '{}', '"switchgear-"', '3.5'];
const methods = [
  'ping',
  'tools/list',
  'initialize',
  'notifications/progress',
  'notifications/cancelled',
  'sampling/createMessage',
  'x',
];

/** A frame that is no call, and may be no message at all. */
export function makeFrame({ below, pick }: Random): string {
  const id = pick(ids);
  const method = pick(methods);
  const params = pick(['{}', 'null', '[]', '7', `{"_meta":{"progressToken":${id}},"n":${below(9)}}`]);
  switch (below(12)) {
    case 0:
      return '['.repeat(below(5_000)) + ']'.repeat(below(5_000));
    case 1:
      return `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"isError":${pick(['true', 'false', '1', '"true"'])}}}`;
    case 2:
      return `{"jsonrpc":"2.0","id":${id},"error":{"code":${pick(['-32602', '-32603', '0', '"x"'])},"message":null}}`;
    case 3:
      return `{"id":${id},"method":"${pick(methods)}","method":"${method}","params":${params}}`;
    case 4:
      return `[{"jsonrpc":"2.0","id":${id},"method":"ping"},{"jsonrpc":"2.0","id":${id},"result":{}},7,null]`;
    case 5:
      return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id},"reason":"timed out"}}`;
    case 6:
      return String.fromCharCode(
        ...Array.from({ length: below(80) }, () => pick([0, 0x22, 0x5c, 0x7b, 0x7d, 0xff, 0x80, 0xc3, 0x0d])),
      );
    case 7:
      return `{"jsonrpc":"2.0","id":${id},"result":{"x":"${'a'.repeat(below(40_000))}"}}`;
    case 8:
      return `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${id},"progress":1}}`;
    default:
      return `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`;
  }
}
