-- concurrency.lua: the leases of a concurrency limit on one key.
--
-- parameters: max, the permits that may be in flight
-- commands: t take a lease   w as t for a waiter: leaves a mark if denied   e end a lease   n renew a lease
--           l peek: as t for this many permits   x reset: no leases
-- A lease is an id, its permits and the ticks it lasts unless it is renewed. Ids hold neither blanks nor commas.
--
-- stored: a sorted set with
--   lease    `id permits ticks` and its end: it is over from then on
--   used     the permits of all leases in it, negative: so no end can be taken for it
--   waiting  until when a waiter shall hear that permits came back, negative too
-- Leases that are over are removed by calls that write, at most CLEANED of all keys of a call. Of those left each counts
-- as one permit that came back: too few if it had more, never too many.
-- An end that is further ahead than a lease lasts comes from a clock that went back, and is put right.

local leases = { parameters = { 'max' } }
algorithms.concurrency = leases

local USED = 'used'
local WAITING = 'waiting'
local WAITING_TICKS = 1000000
local CLEANED = 500
-- How many of them are left for the keys that follow in this call.
local cleanable = CLEANED
-- The key outlives its last lease by this, so that it is never gone before.
local MARGIN_TICKS = 1000000

-- Some versions write a round score with an exponent.
local function score(value)
  local number = tonumber(value)
  if not number or number ~= math.floor(number) or math.abs(number) >= BEYOND then
    corrupt('a score that is no integer')
  end
  return number
end

-- Permits and ticks of a lease.
local function lease_of(member)
  local permits, ticks = string.match(member, '^[^ ]+ (%d+) (%d+)$')
  permits, ticks = integer(permits), integer(ticks)
  if not permits or not ticks or permits < 1 or ticks < 1 or ticks > MAX_TTL_MILLIS * 1000 then
    corrupt('something else than leases')
  end
  return permits, ticks
end

-- A state: the permits `used`, the time until which `longest` lasts, `rest`, the leases that are over and not removed yet, and in
-- `ends` what this call changes: the new end of a member, false for one to remove. What stands in Redis: `stored`, the permits
-- used, 0 if there are no leases, and `marked`, whether a waiter exists.
local function drop_ended(state)
  local ended = run('ZRANGEBYSCORE', state.key, '(0', text(now), 'LIMIT', '0', text(cleanable))
  for _, member in ipairs(ended) do
    state.used = state.used - lease_of(member)
    state.ends[member] = false
  end
  if #ended == cleanable then
    state.rest = run('ZCOUNT', state.key, '(0', text(now)) - #ended
  end
  cleanable = cleanable - #ended
  return #ended
end

local function pull_back_ends(state)
  local top = run('ZREVRANGE', state.key, '0', '0', 'WITHSCORES')
  local _, ticks = lease_of(top[1])
  state.longest = score(top[2])
  if state.longest <= now + ticks or cleanable == 0 then
    return
  end
  local furthest = run('ZREVRANGE', state.key, '0', text(cleanable - 1), 'WITHSCORES')
  cleanable = cleanable - #furthest / 2
  for i = 1, #furthest, 2 do
    local member, ends = furthest[i], score(furthest[i + 1])
    if ends > 0 then
      _, ticks = lease_of(member)
      if ends > now + ticks then
        state.ends[member] = now + ticks
      end
    end
  end
end

local function load_state(key, max)
  local state = { key = key, max = max, stored = 0, used = 0, rest = 0, longest = 0, ends = {} }
  local head = {}
  local words = run('ZRANGEBYSCORE', key, '-inf', '(0', 'WITHSCORES', 'LIMIT', '0', '2')
  for i = 1, #words, 2 do
    head[words[i]] = -score(words[i + 1])
  end
  if not head[USED] then
    if run('EXISTS', key) ~= 0 then
      corrupt('leases without their total')
    end
    return state
  end
  state.stored, state.used = head[USED], head[USED]
  state.marked = head[WAITING] and head[WAITING] > now
  local left = run('ZCARD', key) - #words / 2 - drop_ended(state)
  if state.stored < 1 or state.used < left or (left == 0 and state.used > 0) then
    corrupt('a total that is not that of its leases')
  end
  pull_back_ends(state)
  return state
end

local function remaining(state)
  return math.max(0, state.max - (state.used - state.rest))
end

-- Whether a lease is there and not over.
local function holds(state, member, permits)
  local known = state.ends[member]
  if known ~= nil then
    return known ~= false
  end
  local stored = not state.wiped and state.stored > 0 and run('ZSCORE', state.key, member)
  if not stored then
    return false
  end
  if score(stored) > now then
    return true
  end
  state.ends[member] = false
  state.used = state.used - permits
  state.rest = state.rest - 1
  return false
end

local function decide(state, op, permits, argument)
  if op == 'l' then
    return permits <= remaining(state)
  end
  state.writes = true
  if op == 'x' then
    state.used, state.rest, state.longest = 0, 0, 0
    state.ends, state.wiped = {}, true
    return true
  end
  local id, ticks = match(argument, '^([^ ,]+),(%d+)$')
  local lease = id .. ' ' .. text(permits) .. ' ' .. ticks
  local _, lease_ticks = lease_of(lease)
  local is_held = holds(state, lease, permits)
  if op == 'e' then
    if is_held then
      state.ends[lease] = false
      state.used = state.used - permits
    end
    return is_held
  end
  -- A take that comes a second time, because a client sent it again, takes nothing more.
  if not is_held then
    if op == 'n' or permits > remaining(state) then
      if op == 'w' then
        state.ends[WAITING] = -(now + WAITING_TICKS)
      end
      return false
    end
    state.used = state.used + permits
  end
  state.ends[lease] = now + lease_ticks
  state.longest = math.max(state.longest, now + lease_ticks)
  return true
end

-- Removes before it adds: so leases can be given back also where memory is short.
local function save(state)
  local gone, kept = {}, {}
  for member, ends in pairs(state.ends) do
    if ends then
      kept[#kept + 1] = text(ends)
      kept[#kept + 1] = member
    else
      gone[#gone + 1] = member
    end
  end
  if state.stored > 0 and (state.wiped or state.used == 0) then
    write('DEL', state.key)
  elseif state.stored > 0 and #gone > 0 then
    write('ZREM', state.key, unpack(gone))
  end
  if state.used > 0 and (#gone > 0 or #kept > 0) then
    write('ZADD', state.key, text(-state.used), USED, unpack(kept))
  end
  if state.used > 0 and #kept > 0 then
    write('PEXPIRE', state.key, text(ttl_millis(state.longest - now + MARGIN_TICKS)))
  end
end

-- The reply to all commands for one key.
function leases.evaluate(policy, name, commands)
  local state = load_state(name, policy.max)
  local words = {}
  for i, command in ipairs(commands) do
    local done = decide(state, command.op, command.permits, command.argument)
    words[i] = (done and '1 ' or '0 ') .. text(remaining(state)) .. ' 0 0 0 - 0'
  end
  local tells = state.writes and state.marked and state.used - state.rest < state.stored
  if tells and state.ends[WAITING] == nil then
    state.ends[WAITING] = false
  end
  if state.writes then
    save(state)
  end
  return '0 0 0 0 ' .. (tells and 'w' or '-') .. '|' .. table.concat(words, '|')
end
