-- concurrency.lua: the leases of a concurrency limit on one key, worked off in order as one atomic step.
--
-- KEYS  the leases
-- ARGV  now in microseconds ('' = the server's TIME; tests pass a number)
--       max, the permits that may be in flight
--       channel ('' = do not publish), message that says permits of this key came back
--       then for each ask: op, argument
--         t take a lease                       w as t for one who waits: leaves a mark if denied
--         l look: as t for this many permits   b give a lease back
--         r renew a lease                      x reset: no leases
-- A lease is `id permits ticks`: ticks is how long it lasts unless it is renewed. Ids hold no blanks.
-- returns now, then for each ask: done 1|0 (of b and r: the lease was there), remaining; as decimal strings
-- errors: RATELIMITCORRUPT  the key holds what is no state of ours
--       and those of the commands. All is read before the first write: after an error nothing has changed.
--
-- stored: a sorted set with
--   lease    its end: it is over from then on
--   used     the permits of all leases in it, negative: so no end can be taken for it
--   waiting  until when somebody who waits shall be told by a publish that permits came back
-- Leases that are over are removed by calls that write, at most CLEANED of them. Of those left each counts
-- as one permit that came back: too few if it had more, never too many.
-- An end that is further ahead than a lease lasts comes from a clock that went back, and is put right.

local USED = 'used'
local WAITING = 'waiting'
local WAITING_TICKS = 1000000
local CLEANED = 500
-- The key outlives its last lease by this, so that it is never gone before.
local MARGIN_TICKS = 1000000

local function time_now(given)
  local now = tonumber(given)
  if not now then
    local time = command('TIME')
    now = time[1] * 1000000 + time[2]
  end
  if now < 0 or now >= MOST_TIME then
    fail('ERR', 'time is not between 0 and 2^52: ' .. text(now))
  end
  return now
end

-- Some versions write a round score with an exponent.
local function score(value)
  local number = tonumber(value)
  if not number or number ~= math.floor(number) or math.abs(number) >= BEYOND then
    corrupt('a score that is no integer')
  end
  return number
end

-- permits and ticks of a lease
local function lease_of(member)
  local permits, ticks = string.match(member, '^[^ ]+ (%d+) (%d+)$')
  permits, ticks = integer(permits), integer(ticks)
  if not permits or not ticks or permits < 1 or ticks < 1 or ticks > MAX_TTL_MILLIS * 1000 then
    corrupt('something else than leases')
  end
  return permits, ticks
end

local function lasts(member)
  if member == WAITING then
    return WAITING_TICKS
  end
  local _, ticks = lease_of(member)
  return ticks
end

-- state.ends holds what this call changes: the new end of a member, false for one to remove.
local function drop_ended(state, mark)
  local ended = command('ZRANGEBYSCORE', KEYS[1], '(0', text(state.now), 'LIMIT', '0', text(CLEANED))
  local leases = 0
  for _, member in ipairs(ended) do
    if member ~= WAITING then
      state.used = state.used - lease_of(member)
      leases = leases + 1
    end
    state.ends[member] = false
  end
  if #ended == CLEANED then
    state.rest = command('ZCOUNT', KEYS[1], '(0', text(state.now)) - #ended
    if mark and score(mark) <= state.now and state.ends[WAITING] == nil then
      state.rest = state.rest - 1
    end
  end
  return leases
end

local function pull_back_ends(state)
  local top = command('ZREVRANGE', KEYS[1], '0', '0', 'WITHSCORES')
  state.longest = score(top[2])
  if state.longest <= state.now + lasts(top[1]) then
    return
  end
  local furthest = command('ZREVRANGE', KEYS[1], '0', text(CLEANED - 1), 'WITHSCORES')
  for i = 1, #furthest, 2 do
    local member = furthest[i]
    if member ~= USED then
      local latest = state.now + lasts(member)
      if score(furthest[i + 1]) > latest then
        state.ends[member] = latest
      end
    end
  end
end

local function load_state(now)
  local state = { now = now, max = tonumber(ARGV[2]), stored = 0, used = 0, rest = 0, longest = 0, ends = {} }
  local used = command('ZSCORE', KEYS[1], USED)
  if not used then
    if command('EXISTS', KEYS[1]) ~= 0 then
      corrupt('leases without their total')
    end
    return state
  end
  state.stored = -score(used)
  state.used = state.stored
  local mark = command('ZSCORE', KEYS[1], WAITING)
  state.marked = mark and score(mark) > now and score(mark) <= now + WAITING_TICKS
  local members = command('ZCARD', KEYS[1]) - 1 - (mark and 1 or 0)
  local left = members - drop_ended(state, mark)
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
  local stored = not state.wiped and state.stored > 0 and command('ZSCORE', KEYS[1], member)
  if not stored then
    return false
  end
  if score(stored) > state.now then
    return true
  end
  state.ends[member] = false
  state.used = state.used - permits
  state.rest = state.rest - 1
  return false
end

local function put(state, member, ends)
  state.ends[member] = ends
  state.longest = math.max(state.longest, ends)
end

-- A take that comes a second time, because a client sent it again, takes nothing more.
local function take(state, lease, waits)
  local permits, ticks = lease_of(lease)
  if not holds(state, lease, permits) then
    if permits > remaining(state) then
      if waits then
        put(state, WAITING, state.now + WAITING_TICKS)
      end
      return false
    end
    state.used = state.used + permits
  end
  put(state, lease, state.now + ticks)
  return true
end

local function give_back(state, lease)
  local permits = lease_of(lease)
  if not holds(state, lease, permits) then
    return false
  end
  state.ends[lease] = false
  state.used = state.used - permits
  return true
end

local function renew(state, lease)
  local permits, ticks = lease_of(lease)
  if not holds(state, lease, permits) then
    return false
  end
  put(state, lease, state.now + ticks)
  return true
end

local function reset(state)
  state.used = 0
  state.rest = 0
  state.longest = 0
  state.ends = {}
  state.wiped = true
  return true
end

local function answer(state, op, argument)
  if op == 'l' then
    return tonumber(argument) <= remaining(state)
  end
  state.writes = true
  if op == 't' or op == 'w' then
    return take(state, argument, op == 'w')
  elseif op == 'b' then
    return give_back(state, argument)
  elseif op == 'r' then
    return renew(state, argument)
  elseif op == 'x' then
    return reset(state)
  end
  fail('ERR', 'unknown op ' .. op)
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
    command('DEL', KEYS[1])
  elseif state.stored > 0 and #gone > 0 then
    command('ZREM', KEYS[1], unpack(gone))
  end
  if state.used > 0 and (#gone > 0 or #kept > 0) then
    command('ZADD', KEYS[1], text(-state.used), USED, unpack(kept))
  end
  if state.used > 0 and #kept > 0 then
    command('PEXPIRE', KEYS[1], text(ttl_millis(state.longest - state.now + MARGIN_TICKS)))
  end
  flush()
end

local function evaluate()
  local now = time_now(ARGV[1])
  local state = load_state(now)
  local reply = { text(now) }
  for i = 5, #ARGV, 2 do
    reply[#reply + 1] = answer(state, ARGV[i], ARGV[i + 1]) and '1' or '0'
    reply[#reply + 1] = text(remaining(state))
  end
  if state.writes then
    local tells = state.marked and ARGV[3] ~= '' and state.used - state.rest < state.stored
    if tells and state.ends[WAITING] == nil then
      state.ends[WAITING] = false
    end
    save(state)
    if tells then
      redis.pcall('PUBLISH', ARGV[3], ARGV[4])
    end
  end
  return reply
end

local done, result = pcall(evaluate)
if done then
  return result
end
return redis.error_reply(failure or 'ERR ' .. tostring(result))
