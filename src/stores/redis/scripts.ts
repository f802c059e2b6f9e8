/** The Lua scripts of the Redis store; they compare, add and write without knowing what a state means. */

import { createHash } from 'node:crypto';
import { outMax, trimEvery } from './script-arguments.ts';

/** A script and its SHA-1 for EVALSHA. */
export interface Script {
  readonly text: string;
  readonly sha: string;
}

function script(text: string): Script {
  let sha: string | undefined;
  return {
    text,
    get sha() {
      sha ??= createHash('sha1').update(text).digest('hex');
      return sha;
    },
  };
}

/**
 * The functions that most scripts share. Every reply starts with 8 values: status, seconds, microseconds, `born`,
 * `bornMs`, `version`, `seq`, `secret`.
 */
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
 * Executes a transaction completely or not at all.
 *
 * | KEYS | |
 * | --- | --- |
 * | 1 to 5 | store, index, ends, journal, list of the connection |
 * | 6… | cells, then counters, then windows |
 *
 * | ARGV | |
 * | --- | --- |
 * | 1 | `born`: the known identity of the store |
 * | 2 | the number of the transaction |
 * | 3 | the grace period in ms if the transaction takes money or an approval, else '' |
 * | 4 to 7 | the number of cells, counters, marks and entries |
 * | 8 | the channel of hints |
 * | 9, 10 | the most keys, the most entries |
 * | 11 | '1' if the transaction asks for a turn |
 * | 12 | the known version if the script may skip reading the identity, else '' |
 * | 13… | 5 values per cell: name, expected version, new version or '', ms to keep or '', text or '' (drop) |
 * | then | 5 values per counter: name, 'add' or 'raise', amount, ceiling or '', ms to keep or '' |
 * | then | 6 values per mark: name, id, time, window in ms, cap, most or '' |
 * | then | one JSON text per entry |
 *
 * Statuses: 'done', 'lost' (a version differs), 'sum' (over a ceiling), 'mark' (window full), 'full', 'grace', 'forgot'
 * (the store lost data), 'fenced'. A turn reserves a cell for one connection for 20 ms. The number is pushed to the
 * list of the connection; a fenced connection has no list. With ARGV 12 the script detects lost data by a version that
 * was assigned before, and reads neither identity nor time unless needed.
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
 * Changes one existing cell, the most frequent transaction. Replies with the new version alone, or as above if the
 * race was lost. The writer publishes the hint afterwards.
 *
 * | KEYS | 1 store | 2 index | 3 list of the connection | 4 cell | |
 * | --- | --- | --- | --- | --- | --- |
 * | ARGV | 1 number | 2 expected version | 3 known version | 4 name | 5 text |
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
 * Starts a connection: creates an empty store, fences the previous connection of the process, and replies with the
 * numbers that were executed on it. A store with a lower version than the known one lost data and gets a new identity.
 * A new server restarts the grace period, so that other processes have time to restore what they know.
 *
 * | KEYS | 1 store | 2 list of the previous connection | 3 list of this connection | 4 executed numbers | |
 * | --- | --- | --- | --- | --- | --- |
 * | ARGV | 1 new identity | 2 new secret | 3 known identity | 4 known version | 5 known seq |
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
 * Replies with the names and versions that changed since a version; removes expired names from the index and extends
 * the list of the connection by an hour.
 *
 * | KEYS | 1 store | 2 index | 3 ends | 4 list of the connection |
 * | --- | --- | --- | --- | --- |
 * | ARGV | 1 since version | 2 most names | | |
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

/**
 * Replies with version and text of each cell; '0' and '' for a missing cell.
 *
 * | KEYS | 1 store | 2… cells |
 * | --- | --- | --- |
 */
export const readScript = script(`${header}
local out = {}
for i = 2, #KEYS do
  local c = redis.call('HMGET', KEYS[i], 'v', 's')
  out[#out + 1] = c[1] or '0'
  out[#out + 1] = c[2] or ''
end
return answer('read', out)`);
