-- sliding_log.lua: the sliding window log. Twin of LogAlgorithm.java and PermitLog.java: change both, or
-- neither.
--
-- parameters: limit, window
-- stored: a list  base time total time total ..., oldest first: a time at which permits were granted, and
--   the permits granted up to then, counted from anywhere and wrapping at WRAP: so the permits between two
--   entries are a difference, entries are found by binary search, and dropping the oldest leaves a list of
--   the same form. A decision reads and writes a few elements, whatever the length.
-- state: the entries from `first` to `last`, numbered as in the list, of which those from `changed` on are to be written. The
--   elements that were read or changed are in `cells`, which is handed on from state to state, since only the latest is ever used.
-- A refund rewrites the entry it changes and all younger ones, so a refund of an entry with REACH younger ones or more is lost: the
--   server would be busy with it for longer than other callers can wait. That is the only difference from the Java twin.

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

local log = counting({
  form = '6',
  has_log = true,
  parameters = { 'limit', 'window' },
  most = MOST_PERMITS,
  -- An empty log has a last entry that is long past and holds nothing.
  fresh = { cells = { [-1] = -BEYOND, [0] = 0 }, first = 1, last = 0 },
})
algorithms.sliding_log = log

local function single(time, permits)
  return { cells = { [0] = 0, time, permits }, first = 1, last = 1, changed = 1 }
end

-- Reads what is stored; the first of it.
local function read_cells(state, first, last)
  local cells, values = state.cells, run('LRANGE', state.key, text(first), text(last))
  for i = 1, #values do
    cells[first + i - 1] = integer(values[i]) or corrupt('something else than integers')
  end
  return cells[first]
end

-- What is stored is read when it is needed, and once.
local function cell(state, position)
  return state.cells[position] or read_cells(state, position, position)
end

local function time_of(state, entry)
  return cell(state, 2 * entry - 1)
end

-- Permits up to and including an entry, also the one before the first.
local function total_of(state, entry)
  return cell(state, 2 * entry)
end

-- The first entry from `low` on for which a condition holds that then holds for all, or the one behind the last. Most
-- often it is near `low`.
local function first_entry(state, low, holds)
  local high = state.last + 1
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
  return math.max(now, time_of(state, state.last)) - policy.window
end

local function first_live(policy, state, now)
  local before = cutoff(policy, state, now)
  return first_entry(state, state.first, function(entry)
    return time_of(state, entry) > before
  end)
end

local function permits_from(state, entry)
  return wrapped(total_of(state, state.last) - total_of(state, entry - 1))
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
  return ticks_until(time_of(state, state.last) + policy.window, now)
end

-- The state with other bounds, and changes from an entry on.
local function changed_from(state, entry, first, last)
  local changed = math.min(state.changed, entry)
  return { key = state.key, stored = state.stored, cells = state.cells, first = first, last = last, changed = changed }
end

function log.debit(policy, state, now, permits)
  local live = first_live(policy, state, now)
  if live > state.last then
    return single(now, permits)
  end
  local total = wrapped(total_of(state, state.last) + permits)
  local last = now > time_of(state, state.last) and state.last + 1 or state.last
  if last > state.last then
    state.cells[2 * last - 1] = now
  end
  state.cells[2 * last] = total
  return changed_from(state, last, live, last)
end

local function held_by(state, entry)
  return wrapped(total_of(state, entry) - total_of(state, entry - 1))
end

-- Takes the permits out of the entry of the debit's time, as far as they are there. Also returns the permits that are lost.
function log.refund(policy, state, now, debited_at, permits)
  if debited_at <= cutoff(policy, state, now) then
    return state, 0
  end
  local entry = first_entry(state, state.first, function(candidate)
    return time_of(state, candidate) >= debited_at
  end)
  if entry > state.last or time_of(state, entry) ~= debited_at then
    return state, 0
  end
  if entry <= state.last - REACH then
    return state, permits
  end
  local taken = math.min(permits, held_by(state, entry))
  if entry < state.changed then
    read_cells(state, 2 * entry - 1, 2 * state.changed - 2)
  end
  for i = entry, state.last do
    state.cells[2 * i] = wrapped(state.cells[2 * i] - taken)
  end
  -- An entry before the last that holds nothing any more stays until it is written.
  local last = state.last
  while last >= math.min(entry, state.changed) and held_by(state, last) == 0 do
    last = last - 1
  end
  local next = changed_from(state, entry, state.first, last)
  return next.last < next.first and policy.fresh or next, 0
end

-- Entries more than a window ahead come from a clock that has gone back: what they held then counts from now.
function log.rebase(policy, state, now)
  if time_of(state, state.last) - now <= policy.window then
    return state
  end
  return single(now, permits_from(state, first_live(policy, state, time_of(state, state.last))))
end

function log.decode(policy, key)
  local length = run('LLEN', key)
  if length == 0 then
    return policy.fresh
  end
  if length < 3 or math.fmod(length, 2) == 0 then
    corrupt('a list of another length')
  end
  local last = (length - 1) / 2
  local state = { key = key, stored = last, cells = {}, first = 1, last = last, changed = last + 1 }
  read_cells(state, length - 2, length - 1)
  return state
end

function log.encode(_, state, ttl, part)
  if state == part.loaded then
    return ''
  end
  local key = part.log_key
  local changed = math.max(state.first, state.changed)
  local values = {}
  local before = total_of(state, changed - 1)
  if changed == state.first then
    write('DEL', key)
    values[1] = text(before)
  elseif state.first > 1 or changed <= state.stored then
    write('LTRIM', key, text(2 * state.first - 2), text(2 * changed - 2))
  end
  for entry = changed, state.last do
    local total = total_of(state, entry)
    if total ~= before then
      values[#values + 1] = text(time_of(state, entry))
      values[#values + 1] = text(total)
      before = total
    end
  end
  for i = 1, #values, VALUES_PER_PUSH do
    write('RPUSH', key, unpack(values, i, math.min(i + VALUES_PER_PUSH - 1, #values)))
  end
  write('PEXPIRE', key, text(ttl))
  return ''
end
