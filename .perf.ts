import { createSwitchgear } from './src/index.ts';
import { createBreaker } from './src/breaker.ts';
const now = () => Number(process.hrtime.bigint());
const gear = createSwitchgear({ log: 'silent', env: {} });
async function tool0() { return undefined; }
async function toolA(a: unknown) { return a; }
const g0 = gear.guard('t0', tool0);
const g0n = gear.guard('t0n', tool0, { timeoutSecs: 0 });
const big = { text: 'x'.repeat(1000), n: 3 };
async function tool1(_a: unknown) { return big; }
const g1 = gear.guard('t1', tool1);
const arg = { query: 'quantum computing and error correction', limit: 10, filters: { lang: 'en', since: '2026-01-01' }, tags: ['a', 'b'], note: 'some more text here to fill' };
const b = createBreaker({});
async function ok(x: number) { return x; }
const loop = (body: string) => new Function('now', `return async function l(call, n) { ${body} }`)(now);
const mk = () => loop('const t = now(); for (let i = 0; i < n; i++) await call(i); return (now() - t) / n;');
const sides: Record<string, { f: (i: number) => unknown; l: any; xs: number[] }> = {
  bare: { f: (i) => ok(i), l: mk(), xs: [] },
  breaker: { f: (i) => b.execute(ok, i), l: mk(), xs: [] },
  bare0: { f: () => tool0(), l: mk(), xs: [] },
  guard0: { f: () => g0(), l: mk(), xs: [] },
  guard0NoTimeout: { f: () => g0n(), l: mk(), xs: [] },
  bare1: { f: () => tool1(arg), l: mk(), xs: [] },
  guard1: { f: () => g1(arg), l: mk(), xs: [] },
};
await gear.task({ limits: { maxToolCalls: 1e9 } }, async () => {
  for (let r = 0; r < 8; r++) for (const [k, s] of Object.entries(sides)) { const v = await s.l(s.f, 20000); if (r > 2) s.xs.push(v); }
});
for (const [k, s] of Object.entries(sides)) { const v = s.xs.sort((a, b) => a - b)[s.xs.length >> 1]!; console.log(k, v.toFixed(0)); }
