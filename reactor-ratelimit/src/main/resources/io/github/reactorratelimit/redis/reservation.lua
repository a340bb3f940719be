-- reservation.lua: slots ahead. A request that may wait debits now for the time at which the
-- permits are there, its slot. Only for a policy of one part that is metered continuously (level.lua).
--
-- While slots lie ahead a key owes more than a key can owe otherwise, so a state says so:
--   reserved: { last        no slot lies behind this time
--               floor       the least that is owed just before a slot: a refund may lower what is owed by this much,
--                           for more the bucket would have been full before that slot, and have overflowed
--               seen        the time of the last write: if now is earlier, the clock went back, and all slots with it
--               lowered     by how much refunds have lowered what is owed since; slots and takes that this pays for lower it again
--               lent        permits of the slots that it has paid for
--               lent_until  none of those lies behind this time
--               freed       permits of all free slots
--               more        1 if free slots at the tail are left for the next call to collapse, else 0
--               generation  random, chosen by the first who reserves: slots of another one are of a state that was lost
--               tails       by instance that holds slots, the base of its last one; stored as `instance:base instance:base`, behind a |.
--                           A slot behind it was reserved in a newer state than this, which was lost
--               free        the free slots that were loaded; nil while they are not needed
--               before      the state before the first slot, if that was reserved in a pause }
-- Each call reads it into one table, which its states hand on and change in place: only the latest is ever used.
--
-- A slot that its holder does not need any more:
--   at the tail   what is owed becomes what it was before the slot. It is at the tail if no more is owed at its
--                 time, refunds not counted, than the slot itself left behind.
--   in the middle those behind it stay where they are. It is kept in a sorted set by its base (key.shift), and the
--                 next who reserves takes it first. One that passes by unused is lost.
--   in the past   of a bucket it is a debit of that time, and given back as one; of a queue it is lost.
--   by a refund   a slot that refunds paid for gives that back to them. It is earlier than one at the tail would be, and no slot
--                 is timed by it: all others are timed as if there had been no refunds. So they are found at the tail whatever
--                 was refunded between them, and this one may go at any time. Its holder says that it is one.
-- If none is left, the key is as if there never were any.
--
-- Of many free slots a call sees the first and the last WINDOW, so that it holds the server for a bounded time.

local WINDOW = 64
-- As they are stored.
local FIELDS = {
  'last', 'floor', 'seen', 'lowered', 'freed', 'more', 'generation', 'lent', 'lent_until', 'before_at', 'before_parts',
}
-- As far as a pause can move what lies a year ahead.
local MOST_AHEAD = MAX_TTL_MILLIS * 1000

local function member(base, permits)
  return text(base) .. ' ' .. text(permits)
end

-- The base of a slot and its permits.
local function slot_of(name)
  local base, permits = match(name, '^(%S+) (%S+)$')
  base = integer(base) or corrupt('a slot that is none')
  permits = integer(permits) or corrupt('a slot that is none')
  return base, permits
end

-- Adds slots that are stored; the permits of all of them.
local function add_stored(free, names, from, to, step)
  local sum = 0
  for i = from, to, step do
    local base, permits = slot_of(names[i])
    free.bases[#free.bases + 1] = base
    free.stored[base], free.permits[base] = permits, permits
    sum = sum + permits
  end
  return sum
end

-- free: { bases     of those ahead of now, in order of their times
--         split     others may lie behind this base
--         beyond    and before this one
--         stored    by base, the permits as they are stored
--         permits   and as they are to be stored
--         passed    members that are over }
local function load_free(reserved, now)
  local free = { bases = {}, split = BEYOND, beyond = -BEYOND, stored = {}, permits = {}, passed = {} }
  reserved.free = free
  if reserved.freed == 0 then
    return
  end
  local from = text(now - key.shift)
  free.passed = run('ZRANGEBYSCORE', key.free_key, '-inf', '(' .. from, 'LIMIT', '0', text(WINDOW))
  local names = run('ZRANGEBYSCORE', key.free_key, from, '+inf', 'LIMIT', '0', text(2 * WINDOW))
  if #names < 2 * WINDOW then
    reserved.freed = add_stored(free, names, 1, #names, 1)
    return
  end
  for i = 1, #free.passed do
    local _, permits = slot_of(free.passed[i])
    reserved.freed = reserved.freed - permits
  end
  add_stored(free, names, 1, WINDOW, 1)
  names = run('ZREVRANGE', key.free_key, '0', text(WINDOW - 1))
  add_stored(free, names, #names, 1, -1)
  free.split, free.beyond = free.bases[WINDOW], free.bases[WINDOW + 1]
end

-- The state with its free slots, as another one.
local function with_free(state, now)
  if not state.reserved.free then
    load_free(state.reserved, now)
  end
  return { at = state.at, parts = state.parts, reserved = state.reserved }
end

local function change_free(reserved, base, difference)
  local permits = reserved.free.permits
  permits[base] = (permits[base] or 0) + difference
  reserved.freed = reserved.freed + difference
end

local function add_free(reserved, base, permits)
  local free = reserved.free
  local bases = free.bases
  if base > free.split and base < free.beyond and not free.permits[base] then
    -- It is not known yet what else is free at its time.
    local names = run('ZRANGEBYSCORE', key.free_key, text(base), text(base))
    for i = 1, #names do
      local _, stored = slot_of(names[i])
      free.stored[base], free.permits[base] = stored, stored
    end
  elseif (free.permits[base] or 0) == 0 then
    local position = #bases + 1
    while position > 1 and bases[position - 1] > base do
      position = position - 1
    end
    table.insert(bases, position, base)
  end
  change_free(reserved, base, permits)
end

-- The first free slot that is large enough, nil if there is none in time; a pause has moved them behind its end. What is left of
-- one of a bucket stays free at the same time; of one of a queue it is lost, because its time would lie between two ticks.
local function take_free(policy, reserved, latest, permits)
  local free = reserved.free
  for i, base in ipairs(free.bases) do
    local at = base + key.shift
    if at > latest or base > free.split then
      return nil
    end
    local there = free.permits[base]
    if there >= permits then
      local taken = policy.queues and there or permits
      change_free(reserved, base, -taken)
      if taken == there then
        table.remove(free.bases, i)
      end
      return at
    end
  end
  return nil
end

-- Whether a queue has no place for more: what is owed beyond the permit that drains now waits in it.
local function is_full(policy, state, now, permits)
  if not policy.queues then
    return false
  end
  local waiting = math.max(0, ceil_div(deficit_parts(policy, state, now), policy.parts_per_permit) - 1)
  -- Where more than a window of free slots has passed it is not known how many are left.
  if state.reserved and #state.reserved.free.passed < WINDOW then
    waiting = waiting - state.reserved.freed
  end
  return waiting + permits > policy.limit
end

local function reserve_at(policy, state, now, permits, from, slot, generation, by_refund)
  local owed = deficit_parts(policy, state, slot)
  local reserved = state.reserved
  if not reserved then
    reserved = integers('', FIELDS)
    reserved.last, reserved.floor, reserved.generation, reserved.tails = slot, owed, generation, {}
    -- Free slots of a state that is gone.
    write('DEL', key.free_key)
    if from > now then
      -- Of a key that owes nothing a time that is long past.
      local at, parts = whole_ticks(policy, state)
      reserved.before = { at = math.max(1, at), parts = parts }
    end
  end
  -- Below 0 by a fraction of a tick if the slots that refunds paid for cannot give back all of it.
  reserved.floor = math.min(reserved.floor, owed - reserved.lent * policy.parts_per_permit)
  if by_refund then
    reserved.lowered = reserved.lowered - permits * policy.parts_per_permit
    reserved.lent = reserved.lent + permits
    reserved.lent_until = math.max(reserved.lent_until, slot)
  else
    -- The bucket is full before the slot if refunds have lowered it by more: the rest of them is lost.
    local without_refunds = deficit_parts(policy, state, from) + reserved.lowered - (slot - from) * policy.parts_per_tick
    reserved.lowered = math.min(reserved.lowered, math.max(0, without_refunds - owed))
    reserved.last = math.max(reserved.last, slot)
  end
  return { at = slot, parts = owed + permits * policy.parts_per_permit, reserved = reserved }
end

-- An instance holds a slot at this time.
local function hold(state, instance, slot)
  local tails = state.reserved.tails
  local base = slot - key.shift
  tails[instance] = math.max(tails[instance] or base, base)
  return state
end

local function first_slot(policy, owed, permits, from)
  return from + ticks_of(policy, excess_parts(policy, owed, permits))
end

-- The wait until the slot, the state with it, without one if nothing was reserved, and whether refunds pay for it.
function level.reserve(policy, state, now, permits, most_wait, generation, instance)
  local from = math.max(now, key.pause)
  local lowered = 0
  if state.reserved then
    state = with_free(state, now)
    local slot = take_free(policy, state.reserved, now + most_wait, permits)
    if slot then
      return slot - now, hold(state, instance, slot)
    end
    lowered = state.reserved.lowered
  end
  local by_refund = lowered >= permits * policy.parts_per_permit and lowered > 0
  local owed = deficit_parts(policy, state, from)
  local slot = first_slot(policy, owed, permits, from)
  if slot > now and not by_refund then
    slot = first_slot(policy, owed + lowered, permits, from)
  end
  local wait = slot - now
  if wait > most_wait or wait > MOST_AHEAD or wait * policy.parts_per_tick + policy.most >= MOST_TIME then
    return wait, nil
  elseif wait == 0 then
    return wait, level.debit(policy, state, now, permits)
  elseif is_full(policy, state, now, permits) then
    return wait, nil
  end
  local reserved = reserve_at(policy, state, now, permits, from, slot, generation, by_refund)
  return wait, hold(reserved, instance, slot), by_refund
end

-- What is owed at the time of a slot if it is the last: of a bucket all it can owe, of a queue what it cost itself.
local function is_tail(policy, state, at, permits)
  local most = policy.capacity_parts
  if policy.queues then
    most = permits * policy.parts_per_permit + policy.parts_per_tick - 1
  end
  return deficit_parts(policy, state, at) + state.reserved.lowered <= most
end

local function without_tail(policy, state, at, permits)
  local reserved = state.reserved
  reserved.last = at
  local owed = deficit_parts(policy, state, at) - permits * policy.parts_per_permit
  reserved.lowered = math.max(0, reserved.lowered + math.min(0, owed))
  return { at = at, parts = math.max(0, owed), reserved = reserved }
end

-- Without the free slots at the tail, as far as they were loaded.
local function collapse(policy, state)
  local reserved = state.reserved
  local bases, beyond = reserved.free.bases, reserved.free.beyond
  local base = bases[#bases] or -BEYOND
  while base > -BEYOND and base >= beyond do
    local at, permits = base + key.shift, reserved.free.permits[base]
    if not is_tail(policy, state, at, permits) then
      break
    end
    table.remove(bases)
    change_free(reserved, base, -permits)
    state = without_tail(policy, state, at, permits)
    base = bases[#bases] or -BEYOND
  end
  reserved.more = base < beyond and 1 or 0
  return state
end

-- A slot ahead leaves more owed now than a key can owe without slots, refunds not counted, but for one of a pause.
local function unless_none_is_left(policy, state, now)
  local reserved = state.reserved
  local most = policy.queues and policy.parts_per_permit or policy.capacity_parts
  local is_lent = reserved.lent > 0 and reserved.lent_until > now
  if is_lent or key.pause > now or deficit_parts(policy, state, now) + reserved.lowered > most then
    return state
  end
  write('DEL', key.free_key)
  return { at = state.at, parts = state.parts }
end

-- What the call before has left to do.
function level.settle(policy, state, now)
  if state.reserved.more == 0 then
    return state
  end
  return unless_none_is_left(policy, collapse(policy, with_free(state, now)), now)
end

-- A slot that refunds paid for.
local function free_lent(policy, state, now, permits)
  local owed = deficit_parts(policy, state, now)
  local reserved = state.reserved
  local lost = math.max(0, -reserved.floor)
  local back = math.max(0, math.min(owed, permits * policy.parts_per_permit) - lost)
  reserved.floor = math.max(0, reserved.floor)
  reserved.lowered = reserved.lowered + back
  reserved.lent = math.max(0, reserved.lent - permits)
  reserved.lent_until = reserved.lent > 0 and reserved.lent_until or 0
  return { at = now, parts = owed - back, reserved = reserved }
end

function level.free(policy, state, now, permits, base, by_refund)
  local at = base + key.shift
  if at <= now and not policy.queues then
    return level.refund(policy, state, now, at, permits)
  elseif not state.reserved or at <= now then
    return state
  elseif by_refund then
    return unless_none_is_left(policy, free_lent(policy, state, now, permits), now)
  elseif at > state.reserved.last then
    return state
  end
  state = with_free(state, now)
  if not is_tail(policy, state, at, permits) then
    add_free(state.reserved, base, permits)
    return state
  end
  return unless_none_is_left(policy, collapse(policy, without_tail(policy, state, at, permits)), now)
end

-- All slots come later, or earlier if a pause is cut short.
function level.shift(state, ticks)
  local reserved = state.reserved
  reserved.last = reserved.last + ticks
  reserved.lent_until = reserved.lent > 0 and reserved.lent_until + ticks or 0
  return { at = state.at + ticks, parts = state.parts, reserved = reserved }
end

function reservation.lower(policy, state, now, back_parts)
  local reserved = state.reserved
  local lowered = math.min(back_parts, reserved.floor)
  if lowered <= 0 then
    return state
  end
  local owed = deficit_parts(policy, state, now)
  reserved.floor = reserved.floor - lowered
  reserved.lowered = reserved.lowered + lowered
  return { at = now, parts = owed - lowered, reserved = reserved }
end

-- What is debited at once is paid for by refunds first, and is owed before every slot; also if the slots are void when a pause
-- ends early.
function reservation.spend(policy, reserved, now, permits)
  local parts = permits * policy.parts_per_permit
  reserved.lowered = math.max(0, reserved.lowered - parts)
  reserved.floor = reserved.floor + parts
  if reserved.before then
    reserved.before = level.debit(policy, reserved.before, now, permits)
  end
end

-- The state with its slots where the clock is now; without them if all have passed. What is overdrawn is not cut off with them.
function reservation.rebase(policy, state, now)
  local back = state.reserved.seen - now
  if back > 0 then
    state = level.shift(state, -back)
    local reserved = state.reserved
    reserved.seen = now
    if reserved.before then
      reserved.before = { at = math.max(1, reserved.before.at - back), parts = reserved.before.parts }
    end
    key.shift = key.shift - back
  end
  if math.max(state.reserved.last, state.reserved.lent_until) > now then
    return state
  end
  return { at = now, parts = deficit_parts(policy, state, now) }
end

function reservation.decode(stored)
  local words, tails = match(stored, '^([^|]*)|?(.*)$')
  local reserved = integers(words, FIELDS)
  local least = math.min(reserved.lowered, reserved.freed, reserved.more, reserved.generation, reserved.lent)
  local furthest = math.max(reserved.last, reserved.lent_until)
  if least < 0 or furthest - reserved.seen > 2 * MOST_AHEAD then
    corrupt('slots that cannot have been reserved')
  end
  reserved.before = reserved.before_at ~= 0 and { at = reserved.before_at, parts = reserved.before_parts } or nil
  reserved.tails = {}
  for instance, base in string.gmatch(tails, '(%d+):(%-?%d+)') do
    reserved.tails[instance] = tonumber(base)
  end
  return reserved
end

local function save_free(reserved)
  local free = reserved.free
  local gone, added = free.passed, {}
  for base, permits in pairs(free.permits) do
    local stored = free.stored[base]
    if stored and stored ~= permits then
      gone[#gone + 1] = member(base, stored)
    end
    if permits > 0 and stored ~= permits then
      added[#added + 1] = text(base)
      added[#added + 1] = member(base, permits)
    end
  end
  if #gone > 0 then
    write('ZREM', key.free_key, unpack(gone))
  end
  if #added > 0 then
    write('ZADD', key.free_key, unpack(added))
  end
end

-- Of those instances whose slots lie ahead.
local function tails_of(reserved)
  local tails = {}
  for instance, base in pairs(reserved.tails) do
    if base + key.shift > now then
      tails[#tails + 1] = instance .. ':' .. text(base)
    end
  end
  return #tails > 0 and ' |' .. table.concat(tails, ' ') or ''
end

function reservation.encode(reserved, ttl)
  if reserved.free then
    save_free(reserved)
  end
  if reserved.freed > 0 and key.free_key then
    write('PEXPIRE', key.free_key, text(ttl))
  end
  local before = reserved.before or { at = 0, parts = 0 }
  reserved.seen, reserved.before_at, reserved.before_parts = now, before.at, before.parts
  return words_of(reserved, FIELDS) .. tails_of(reserved)
end
