-- sliding_log.lua: the sliding window log. Twin of LogAlgorithm.java and PermitLog.java: change both, or
-- neither.
--
-- parameters: limit, window
-- stored: a list  base time total time total ..., oldest first: a time at which permits were granted, and
--   the permits granted up to then, counted from anywhere and wrapping at WRAP: so the permits between two
--   entries are a difference, entries are found by binary search, and dropping the oldest leaves a list of
--   the same form. A decision reads and writes a few elements, whatever the length.
-- state: entries 1 .. size, of which the first `kept` are those after `dropped` in the list, the others
--   are in `tail`, to be written; `base` is the total before the first of them, where none is kept.
--   The tail is handed on from state to state, since only the latest is ever used, and is changed in place.
-- A refund rewrites the entry it changes and all younger ones, so a refund of an entry with REACH younger ones or more is lost: the
--   server would be busy with it for longer than other callers can wait. That is the only difference from the Java twin.

local log = counting()

-- Far above the largest limit of a log, 10 000.
local WRAP = 1000000
-- What a log holds at most, debts included.
local MOST_PERMITS = WRAP / 2
-- Entries that a refund may rewrite. ScriptPolicy.java keeps such refunds few in a call.
local REACH = 128
-- More arguments than this do not fit on the stack of every version.
local VALUES_PER_PUSH = 1000

local function wrapped(total)
  return floor_mod(total, WRAP)
end

function algorithms.sliding_log(parameters)
  return {
    steps = log,
    form = '6',
    limit = parameters[1],
    most = MOST_PERMITS,
    window = parameters[2],
    fresh = { size = 0 },
  }
end

local function single(time, permits)
  return { dropped = 0, kept = 0, base = 0, tail = { { time, permits } }, size = 1 }
end

-- What is stored is read when it is needed, and once.
local function read_elements(source, first, last)
  local values = run('LRANGE', source.key, text(first), text(last))
  for i, value in ipairs(values) do
    source[first + i - 1] = integer(value) or corrupt('something else than integers')
  end
end

local function element(source, position)
  if not source[position] then
    read_elements(source, position, position)
  end
  return source[position]
end

local function time_of(state, entry)
  if entry > state.kept then
    return state.tail[entry - state.kept][1]
  end
  return element(state.source, 2 * (state.dropped + entry) - 1)
end

-- Permits up to and including an entry; of entry 0, before the first.
local function total_of(state, entry)
  if entry > state.kept then
    return state.tail[entry - state.kept][2]
  end
  if state.kept == 0 then
    return state.base
  end
  return element(state.source, 2 * (state.dropped + entry))
end

-- The first entry from `low` on for which a condition holds that then holds for all, or size + 1. Most
-- often it is near `low`.
local function first_entry(state, low, holds)
  local high = state.size + 1
  local stride = 1
  while low < high do
    local probe = math.min(low + stride - 1, floor_div(low + high, 2))
    if holds(probe) then
      high = probe
    else
      low = probe + 1
      stride = 2 * stride
    end
  end
  return low
end

local function cutoff(policy, state, now)
  if state.size == 0 then
    return now - policy.window
  end
  return math.max(now, time_of(state, state.size)) - policy.window
end

local function first_live(policy, state, now)
  local before = cutoff(policy, state, now)
  return first_entry(state, 1, function(entry)
    return time_of(state, entry) > before
  end)
end

local function permits_from(state, entry)
  if entry > state.size then
    return 0
  end
  return wrapped(total_of(state, state.size) - total_of(state, entry - 1))
end

function log.room(policy, state, now)
  return policy.limit - permits_from(state, first_live(policy, state, now))
end

function log.allowed_at(policy, state, now, permits)
  local live = first_live(policy, state, now)
  local too_many = permits_from(state, live) + permits - policy.limit
  local before = total_of(state, live - 1)
  local entry = first_entry(state, live, function(candidate)
    return wrapped(total_of(state, candidate) - before) >= too_many
  end)
  return time_of(state, entry) + policy.window
end

-- As a wait for all, without a search.
function log.reset(policy, state, now)
  if state.size == 0 then
    return 0
  end
  return ticks_until(time_of(state, state.size) + policy.window, now)
end

-- Without the entries before `first`, with those from `open` on in the tail.
local function reopen(state, first, open)
  local kept = math.min(state.kept, open - 1)
  local tail = state.tail
  if kept < state.kept then
    tail = {}
    read_elements(state.source, 2 * (state.dropped + kept) + 1, 2 * (state.dropped + state.kept))
    for entry = kept + 1, state.size do
      tail[#tail + 1] = { time_of(state, entry), total_of(state, entry) }
    end
  end
  local forgotten = first - 1
  return {
    source = state.source,
    dropped = state.dropped + forgotten,
    kept = kept - forgotten,
    base = kept == forgotten and total_of(state, forgotten) or nil,
    tail = tail,
    size = state.size - forgotten,
  }
end

function log.debit(policy, state, now, permits)
  local live = first_live(policy, state, now)
  if live > state.size then
    return single(now, permits)
  end
  local youngest = time_of(state, state.size)
  local total = wrapped(total_of(state, state.size) + permits)
  if now > youngest then
    local next = reopen(state, live, state.size + 1)
    next.tail[#next.tail + 1] = { now, total }
    next.size = next.size + 1
    return next
  end
  local next = reopen(state, live, state.size)
  next.tail[#next.tail][2] = total
  return next
end

local function held_by(state, entry)
  return wrapped(total_of(state, entry) - total_of(state, entry - 1))
end

-- Takes the permits out of the entry of the debit's time, as far as they are there. Also returns the permits that are lost.
function log.refund(policy, state, now, debited_at, permits)
  if state.size == 0 or debited_at <= cutoff(policy, state, now) then
    return state, 0
  end
  local entry = first_entry(state, 1, function(candidate)
    return time_of(state, candidate) >= debited_at
  end)
  if entry > state.size or time_of(state, entry) ~= debited_at then
    return state, 0
  end
  if entry <= state.size - REACH then
    return state, permits
  end
  local taken = math.min(permits, held_by(state, entry))
  if taken == 0 then
    return state, 0
  end
  local next = reopen(state, 1, entry)
  for i = entry - next.kept, #next.tail do
    next.tail[i][2] = wrapped(next.tail[i][2] - taken)
  end
  -- An entry before the last that holds nothing any more stays until it is written.
  while next.size > next.kept and held_by(next, next.size) == 0 do
    table.remove(next.tail)
    next.size = next.size - 1
  end
  return next.size == 0 and policy.fresh or next, 0
end

-- Entries more than a window ahead come from a clock that has gone back: what they held then counts from now.
function log.rebase(policy, state, now)
  if state.size == 0 or ticks_until(time_of(state, state.size), now) <= policy.window then
    return state
  end
  local youngest = time_of(state, state.size)
  return single(now, permits_from(state, first_live(policy, state, youngest)))
end

-- The list is read whatever the value says.
function log.load(key, policy)
  local length = run('LLEN', key)
  if length == 0 then
    return policy.fresh
  end
  if length < 3 or math.fmod(length, 2) == 0 then
    corrupt('a list of another length')
  end
  local source = { key = key, length = length }
  read_elements(source, length - 2, length - 1)
  local entries = (length - 1) / 2
  return { source = source, dropped = 0, kept = entries, tail = {}, size = entries }
end

function log.save(key, _, state, ttl)
  local values = {}
  local before = total_of(state, state.kept)
  if state.kept == 0 then
    write('DEL', key)
    values[1] = text(state.base)
  elseif state.dropped > 0 or 2 * (state.dropped + state.kept) < state.source.length - 1 then
    write('LTRIM', key, text(2 * state.dropped), text(2 * (state.dropped + state.kept)))
  end
  for _, entry in ipairs(state.tail) do
    if entry[2] ~= before then
      values[#values + 1] = text(entry[1])
      values[#values + 1] = text(entry[2])
      before = entry[2]
    end
  end
  for i = 1, #values, VALUES_PER_PUSH do
    write('RPUSH', key, unpack(values, i, math.min(i + VALUES_PER_PUSH - 1, #values)))
  end
  write('PEXPIRE', key, text(ttl))
end
