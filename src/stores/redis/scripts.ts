/** The scripts of the Redis store: they compare, add and write; what any of it means, they do not know. */

import { createHash } from 'node:crypto';
import { outMax, trimEvery } from './script-arguments.ts';

export interface Script {
  readonly text: string;
  readonly sha: string;
}

function script(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

/** What every answer begins with: what became of it, the server's time, and how far the store is. */
const header = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local s = redis.call('HMGET', KEYS[1], 'born', 'bornMs', 'version', 'seq', 'secret')
local function answer(status, list)
  local out = {status, t[1], t[2], s[1] or '', s[2] or '0', s[3] or '0', s[4] or '0', s[5] or ''}
  for i, each in ipairs(list or {}) do out[8 + i] = each end
  return out
end`;

/**
 * Everything of a deal, or nothing.
 * KEYS: store, index, ends, journal, process; then cells, sums and marks. ARGV: born, number, grace where it is
 * guarded, how many cells, sums, marks and notes, channel, most keys, most entries, turn, version known or nothing;
 * then the parts.
 * Whoever lost too often is given a turn: for 20 ms nobody else may write the cell.
 * A number is noted in the list of its process; one that is fenced has none, so that asking and noting are one command.
 * The server is asked for the time only where something depends on it. Nor is it asked who it is where cells get
 * versions: a store that gives out one that was given out before has forgotten.
 */
export const transactionScript = script(`
local s = {ARGV[1]}
local function head() s = redis.call('HMGET', KEYS[1], 'born', 'bornMs', 'version', 'seq') end
if ARGV[12] == '' then head() end
local t, ms = {'', ''}, nil
local function now()
  if not ms then
    t = redis.call('TIME')
    ms = t[1] * 1000 + math.floor(t[2] / 1000)
  end
  return ms
end
local function answer(status, list)
  local out = {status, t[1], t[2], s[1] or '', s[2] or '0', s[3] or '0', s[4] or '0', ''}
  for i = 1, list and #list or 0 do out[8 + i] = list[i] end
  return out
end
if s[1] ~= ARGV[1] then return answer('forgot') end
local nc, ns, nm, nn = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
if ARGV[3] ~= '' and now() < s[2] + ARGV[3] then return answer('grace', {tostring(s[2] + ARGV[3] - now())}) end
local a, k, lost, fresh = 12, 5, false, 0
local current, turns = {}, {}
for i = 1, nc do
  local c = redis.call('HMGET', KEYS[k + i], 'v', 'turn', 'turnMs')
  current[i], turns[i] = c[1] or '0', c[2]
  if current[i] ~= ARGV[a + i * 5 - 3] then lost = true end
  if c[2] and c[2] ~= KEYS[5] and now() < tonumber(c[3]) then lost = true end
  if not c[1] then fresh = fresh + 1 end
end
if lost then
  head()
  if s[1] ~= ARGV[1] then return answer('forgot') end
  local list = {}
  for i = 1, nc do
    local c = redis.call('HMGET', KEYS[k + i], 's', 'turnMs')
    list[2 * i - 1], list[2 * i] = current[i], c[1] or ''
    if ARGV[11] == '1' and current[i] ~= '0' and now() >= tonumber(c[2] or '0') then
      redis.call('HSET', KEYS[k + i], 'turn', KEYS[5], 'turnMs', now() + 20)
    end
  end
  return answer('lost', list)
end
if fresh > 0 and redis.call('ZCARD', KEYS[2]) + fresh > tonumber(ARGV[9]) then return answer('full', {'0'}) end
a, k = a + nc * 5, k + nc
local sums = {}
for i = 1, ns do
  local b = a + (i - 1) * 5
  local total = sums[KEYS[k + i]] or tonumber(redis.call('GET', KEYS[k + i]) or '0')
  local amount = tonumber(ARGV[b + 3])
  if ARGV[b + 2] == 'raise' then total = math.max(total, amount)
  else
    if amount > 0 and ARGV[b + 4] ~= '' and total + amount > tonumber(ARGV[b + 4]) then
      return answer('sum', {tostring(i), redis.call('GET', KEYS[k + i]) or '0'})
    end
    total = total + amount
  end
  sums[KEYS[k + i]] = total
end
local as, ks = a, k
a, k = a + ns * 5, k + ns
for i = 1, nm do
  local b = a + (i - 1) * 6
  if ARGV[b + 6] ~= '' then
    local from = '(' .. ARGV[b + 3] - ARGV[b + 4]
    local count = redis.call('ZCOUNT', KEYS[k + i], from, '+inf')
    local with = count
    if not redis.call('ZSCORE', KEYS[k + i], ARGV[b + 2]) then with = count + 1 end
    if with > tonumber(ARGV[b + 6]) then
      local oldest = redis.call('ZRANGEBYSCORE', KEYS[k + i], from, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
      return answer('mark', {tostring(i), tostring(count), oldest[2] or ARGV[b + 3]})
    end
  end
end
local given
if ARGV[12] ~= '' then
  given = redis.call('HINCRBY', KEYS[1], 'version', 1)
  if given <= tonumber(ARGV[12]) then return answer('forgot') end
end
if redis.call('RPUSHX', KEYS[5], ARGV[2]) == 0 then return answer('fenced') end
local out = {}
for i = 1, nc do
  local b = 12 + (i - 1) * 5
  local name, version, keep, text = ARGV[b + 1], ARGV[b + 3], ARGV[b + 4], ARGV[b + 5]
  if version == '' then
    version = string.format('%.0f', given or redis.call('HINCRBY', KEYS[1], 'version', 1))
    given, s[3] = nil, version
  end
  if text == '' then redis.call('DEL', KEYS[5 + i]); keep = '60000'
  else
    redis.call('HSET', KEYS[5 + i], 'v', version, 's', text)
    if turns[i] then redis.call('HDEL', KEYS[5 + i], 'turn', 'turnMs') end
  end
  redis.call('ZADD', KEYS[2], version, name)
  if keep ~= '' then
    redis.call('PEXPIRE', KEYS[5 + i], keep)
    redis.call('ZADD', KEYS[3], now() + keep, name)
  elseif current[i] == '0' then redis.call('ZREM', KEYS[3], name) end
  local head = s[1] .. '\\n' .. KEYS[5] .. '\\n' .. version .. '\\n' .. #name .. '\\n'
  redis.call('PUBLISH', ARGV[8], head .. name .. text)
  out[#out + 1] = version
end
for i = 1, ns do
  local b, key = as + (i - 1) * 5, KEYS[ks + i]
  local total = tonumber(redis.call('GET', key) or '0')
  if ARGV[b + 2] == 'raise' then total = math.max(total, tonumber(ARGV[b + 3])) else total = total + ARGV[b + 3] end
  local written = string.format('%.0f', total)
  redis.call('SET', key, written)
  if ARGV[b + 5] ~= '' then
    redis.call('PEXPIRE', key, ARGV[b + 5])
    redis.call('ZADD', KEYS[3], now() + ARGV[b + 5], ARGV[b + 1])
  end
  redis.call('ZADD', KEYS[2], 'NX', 0, ARGV[b + 1])
  out[#out + 1] = written
end
for i = 1, nm do
  local b, key = a + (i - 1) * 6, KEYS[k + i]
  redis.call('ZADD', key, ARGV[b + 3], ARGV[b + 2])
  redis.call('ZREMRANGEBYSCORE', key, '-inf', ARGV[b + 3] - ARGV[b + 4])
  redis.call('ZREMRANGEBYRANK', key, 0, -1 - ARGV[b + 5])
  local keep = string.format('%.0f', ARGV[b + 4] + 60000)
  redis.call('PEXPIRE', key, keep)
  redis.call('ZADD', KEYS[2], 'NX', 0, ARGV[b + 1])
  redis.call('ZADD', KEYS[3], now() + keep, ARGV[b + 1])
  out[#out + 1] = string.format('%.0f', redis.call('ZCARD', key))
  out[#out + 1] = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2] or ARGV[b + 3]
end
a = a + nm * 6
for i = 1, nn do
  local seq = redis.call('HINCRBY', KEYS[1], 'seq', 1)
  s[4] = string.format('%.0f', seq)
  redis.call('XADD', KEYS[4], 'MAXLEN', '~', ARGV[10], string.format('%.0f-0', seq), 'e', ARGV[a + i])
end
if ARGV[2] % ${trimEvery} == 0 then redis.call('LTRIM', KEYS[5], -${outMax}, -1) end
return answer('done', out)`);

/**
 * The short way of the most frequent deal: one cell that is there and stays, and nothing to be said of it. It says what
 * it did in one number, the version; others are told of it afterwards. Whoever loses is answered as above.
 * KEYS: store, index, process, cell. ARGV: number, version expected, version known, name, text.
 */
export const swapScript = script(`
local c = redis.call('HMGET', KEYS[4], 'v', 'turn')
if c[1] ~= ARGV[2] or c[2] then
  local s = redis.call('HMGET', KEYS[1], 'born', 'bornMs', 'version', 'seq')
  local text = redis.call('HGET', KEYS[4], 's') or ''
  return {'lost', '', '', s[1] or '', s[2] or '0', s[3] or '0', s[4] or '0', '', c[1] or '0', text}
end
local v = redis.call('HINCRBY', KEYS[1], 'version', 1)
if v <= tonumber(ARGV[3]) or redis.call('RPUSHX', KEYS[3], ARGV[1]) == 0 then
  return {'forgot', '', '', '', '0', '0', '0', ''}
end
redis.call('HSET', KEYS[4], 'v', v, 's', ARGV[5])
redis.call('ZADD', KEYS[2], v, ARGV[4])
return v`);

/**
 * Who is there: makes a store that is empty, fences the link this process had before, and says what of it was done.
 * A store that knows less than it was told once is as good as new: whoever remembers has to tell it again. Behind
 * another server it may be such a store, so that whoever remembers is given the time to come back.
 * KEYS: store, process before, process now, what the one before did.
 * ARGV: born to be, secret to be, born known, version known, seq known.
 */
export const helloScript = script(`
local s = redis.call('HMGET', KEYS[1], 'born', 'version', 'seq', 'server')
local t = redis.call('TIME')
local ms = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
local server = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') or ''
if s[4] ~= server then redis.call('HSET', KEYS[1], 'server', server, 'bornMs', ms) end
if not s[1] or (s[1] == ARGV[3] and tonumber(s[2] or '0') < tonumber(ARGV[4])) then
  redis.call('HSET', KEYS[1], 'born', ARGV[1], 'bornMs', ms)
end
redis.call('HSETNX', KEYS[1], 'secret', ARGV[2])
if tonumber(s[2] or '0') < tonumber(ARGV[4]) then redis.call('HSET', KEYS[1], 'version', ARGV[4]) end
if tonumber(s[3] or '0') < tonumber(ARGV[5]) then redis.call('HSET', KEYS[1], 'seq', ARGV[5]) end
if redis.call('EXISTS', KEYS[2]) == 1 then
  redis.call('RENAME', KEYS[2], KEYS[4])
  redis.call('PEXPIRE', KEYS[4], 3600000)
end
local done = redis.call('LRANGE', KEYS[4], 0, -1)
redis.call('RPUSH', KEYS[3], 'open')
redis.call('PEXPIRE', KEYS[3], 3600000)
${header.replaceAll(/^local (s|t) =/gm, '$1 =')}
return answer('hello', done)`);

/**
 * What changed since a version, and which names have had their time; whoever asks is alive.
 * KEYS: store, index, ends, process. ARGV: since, most.
 */
export const pollScript = script(`${header}
redis.call('PEXPIRE', KEYS[4], 3600000)
local ended = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now, 'LIMIT', 0, ARGV[2])
for _, name in ipairs(ended) do
  redis.call('ZREM', KEYS[2], name)
  redis.call('ZREM', KEYS[3], name)
end
local since = '(' .. ARGV[1]
return answer('poll', redis.call('ZRANGEBYSCORE', KEYS[2], since, '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[2]))`);

/** Cells as they are. KEYS: store, then cells. */
export const readScript = script(`${header}
local out = {}
for i = 2, #KEYS do
  local c = redis.call('HMGET', KEYS[i], 'v', 's')
  out[#out + 1] = c[1] or '0'
  out[#out + 1] = c[2] or ''
end
return answer('read', out)`);
