-- reservation.lua: slots ahead. Whoever would rather wait than be denied debits now for the time at which the
-- permits are there, its slot. Only for a policy of one part that is metered continuously (level.lua).
--
-- While slots lie ahead a key owes more than a key can owe otherwise, so a state says so:
--   reserved: { last     no slot lies behind this time
--               floor    the least that is owed just before a slot: a refund may lower what is owed by this much,
--                        for more the bucket would have been full before that slot, and have overflowed
--               seen     the time of the last write: if now is earlier, the clock went back, and all slots with it
--               lowered  by how much refunds have lowered what is owed since
--               count    free slots
--               free     those of them that were loaded, in order; nil while they are not needed
--               renewed  whether the free slots of former days have to go
--               before   the state before the first slot, if that was reserved in a pause }
--
-- A slot that its holder does not need any more:
--   at the tail   what is owed becomes what it was before the slot. It is at the tail if no more is owed at its
--                 time than the slot itself left behind. Refunds since may hide that, never pretend it.
--   in the middle those behind it stay where they are. It is kept in a sorted set by its base (notes.lua), and the
--                 next who reserves takes it first. One that passes by unused is lost.
--   in the past   of a bucket it is a debit of that time, and given back as one; of a queue it is lost.

local MOST_LOADED = 256
-- As far as a pause can move what lies a year ahead.
local MOST_AHEAD = MAX_TTL_MILLIS * 1000
local MOST_FREE = 10000

local function copy(reserved)
  return {
    last = reserved.last,
    floor = reserved.floor,
    seen = reserved.seen,
    lowered = reserved.lowered,
    count = reserved.count,
    free = reserved.free,
    stored = reserved.stored,
    renewed = reserved.renewed,
    before = reserved.before,
  }
end

local function member(slot)
  return text(slot.base) .. ' ' .. text(slot.permits)
end

-- Those ahead of now, the first of them.
local function load_free(reserved, now)
  if reserved.free then
    return
  end
  reserved.free = {}
  reserved.stored = {}
  if reserved.count == 0 or reserved.renewed then
    return
  end
  local from = text(now - notes.shift)
  local members = command('ZRANGEBYSCORE', reservation.key, from, '+inf', 'LIMIT', '0', text(MOST_LOADED))
  for i = 1, #members do
    local base, permits = string.match(members[i], '^(%S+) (%S+)$')
    base = integer(base) or corrupt('a slot that is none')
    permits = integer(permits) or corrupt('a slot that is none')
    reserved.free[i] = { base = base, permits = permits }
    reserved.stored[members[i]] = true
  end
end

local function add_free(reserved, added)
  local free = reserved.free
  local position = #free + 1
  while position > 1 and free[position - 1].base > added.base do
    position = position - 1
  end
  local before = free[position - 1]
  if before and before.base == added.base then
    free[position - 1] = { base = added.base, permits = before.permits + added.permits }
  elseif reserved.count < MOST_FREE then
    table.insert(free, position, added)
    reserved.count = reserved.count + 1
  end
end

-- The first free slot that is large enough, nil if there is none in time; a pause has moved them behind its end. What is left of one of a bucket stays
-- free at the same time; of one of a queue it is lost, because its time would lie between two ticks.
local function take_free(policy, reserved, latest, permits)
  for i = 1, #reserved.free do
    local slot = reserved.free[i]
    local at = slot.base + notes.shift
    if at > latest then
      return nil
    end
    if slot.permits >= permits then
      local rest = slot.permits - permits
      if rest > 0 and not policy.queues then
        reserved.free[i] = { base = slot.base, permits = rest }
      else
        table.remove(reserved.free, i)
        reserved.count = reserved.count - 1
      end
      return at
    end
  end
  return nil
end

local function free_permits(reserved)
  local sum = 0
  for i = 1, #reserved.free do
    sum = sum + reserved.free[i].permits
  end
  return sum
end

-- Whether a queue has no place for more: what is owed beyond the permit that drains now waits in it.
local function is_full(policy, state, now, permits)
  if not policy.queues then
    return false
  end
  local waiting = math.max(0, ceil_div(deficit_parts(policy, state, now), policy.parts_per_permit) - 1)
  if state.reserved then
    waiting = waiting - free_permits(state.reserved)
  end
  return waiting + permits > policy.capacity
end

-- As it is stored: the time at which less than a tick's parts are owed, and those. Of a key that owes nothing a
-- time that is long past.
local function plain(policy, state)
  local ticks = floor_div(state.parts, policy.parts_per_tick)
  return { at = math.max(1, state.at + ticks), parts = state.parts - ticks * policy.parts_per_tick }
end

local function reserve_at(policy, state, now, permits, from, slot)
  local owed = deficit_parts(policy, state, slot)
  local reserved = state.reserved
  if reserved then
    reserved = copy(reserved)
    reserved.last = math.max(reserved.last, slot)
    reserved.floor = math.min(reserved.floor, owed)
  else
    reserved = { last = slot, floor = owed, seen = now, lowered = 0, count = 0, free = {}, stored = {}, renewed = true }
    reserved.before = from > now and plain(policy, state) or nil
  end
  return { at = slot, parts = owed + permits * policy.parts_per_permit, reserved = reserved }
end

-- The wait until the slot and the state with it; without a state if nothing was reserved.
function level.reserve(policy, state, now, permits, from, most_wait)
  if state.reserved then
    local reserved = copy(state.reserved)
    load_free(reserved, now)
    state = { at = state.at, parts = state.parts, reserved = reserved }
    local slot = take_free(policy, reserved, now + most_wait, permits)
    if slot then
      return slot - now, state
    end
  end
  local excess = policy.excess_parts(policy, deficit_parts(policy, state, from), permits)
  local slot = from + ticks_of(policy, math.max(0, excess))
  local wait = slot - now
  if wait > most_wait or wait > MOST_AHEAD or wait * policy.parts_per_tick + policy.most >= MOST_TIME then
    return wait, nil
  elseif wait == 0 then
    return wait, level.debit(policy, state, now, permits)
  elseif is_full(policy, state, now, permits) then
    return wait, nil
  end
  return wait, reserve_at(policy, state, now, permits, from, slot)
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
  return { at = at, parts = math.max(0, owed), reserved = reserved }
end

function level.free(policy, state, now, permits, base)
  local at = base + notes.shift
  if at <= now and not policy.queues then
    return level.refund(policy, state, now, at, permits)
  elseif not state.reserved or at <= now then
    return state
  end
  local reserved = copy(state.reserved)
  load_free(reserved, now)
  state = { at = state.at, parts = state.parts, reserved = reserved }
  if not is_tail(policy, state, at, permits) then
    add_free(reserved, { base = base, permits = permits })
    return state
  end
  state = without_tail(policy, state, at, permits)
  local last = reserved.free[#reserved.free]
  while last and #reserved.free == reserved.count and is_tail(policy, state, last.base + notes.shift, last.permits) do
    table.remove(reserved.free)
    reserved.count = reserved.count - 1
    state = without_tail(policy, state, last.base + notes.shift, last.permits)
    last = reserved.free[#reserved.free]
  end
  return state
end

-- All slots come later, or earlier if a pause is cut short.
function level.shift(state, ticks)
  local reserved = copy(state.reserved)
  reserved.last = reserved.last + ticks
  return { at = state.at + ticks, parts = state.parts, reserved = reserved }
end

function reservation.lower(policy, state, now, back_parts)
  local lowered = math.min(back_parts, state.reserved.floor)
  if lowered == 0 then
    return state
  end
  local reserved = copy(state.reserved)
  reserved.floor = reserved.floor - lowered
  reserved.lowered = reserved.lowered + lowered
  return { at = now, parts = deficit_parts(policy, state, now) - lowered, reserved = reserved }
end

function reservation.charge_before(policy, reserved, now, permits)
  reserved = copy(reserved)
  local before = reserved.before
  reserved.before = level.debit(policy, { at = before.at, parts = before.parts }, now, permits)
  return reserved
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
    notes.shift = notes.shift - back
  end
  if state.reserved.last > now then
    return state
  end
  local owed = deficit_parts(policy, state, now)
  if owed > policy.most then
    return { at = now, parts = owed }
  end
  return { at = state.at, parts = state.parts }
end

function reservation.load(stored)
  local numbers = {}
  for word in string.gmatch(stored, '[^ ]+') do
    numbers[#numbers + 1] = integer(word) or corrupt('something else than integers')
  end
  if #numbers ~= 5 and #numbers ~= 7 then
    corrupt('another number of integers')
  end
  local last, floor, seen, lowered, count, at, parts = unpack(numbers)
  if floor < 0 or lowered < 0 or count < 0 or (parts or 0) < 0 or last - seen > 2 * MOST_AHEAD then
    corrupt('slots that nobody can have reserved')
  end
  local before = at and { at = at, parts = parts } or nil
  return { last = last, floor = floor, seen = seen, lowered = lowered, count = count, before = before }
end

local function save_free(reserved, ttl, now)
  if reserved.renewed then
    command('DEL', reservation.key)
    if #reserved.free == 0 then
      return
    end
  else
    command('ZREMRANGEBYSCORE', reservation.key, '-inf', '(' .. text(now - notes.shift))
  end
  local stored = reserved.stored
  for i = 1, #reserved.free do
    local slot = reserved.free[i]
    local name = member(slot)
    if stored[name] then
      stored[name] = nil
    else
      command('ZADD', reservation.key, text(slot.base), name)
    end
  end
  for name in pairs(stored) do
    command('ZREM', reservation.key, name)
  end
  reserved.count = command('ZCARD', reservation.key)
  command('PEXPIRE', reservation.key, text(ttl))
end

function reservation.save(reserved, ttl, now)
  if reserved.free and (reserved.count > 0 or next(reserved.stored) or reserved.renewed) then
    save_free(reserved, ttl, now)
  end
  local numbers = { reserved.last, reserved.floor, now, reserved.lowered, reserved.count }
  if reserved.before then
    numbers[6] = reserved.before.at
    numbers[7] = reserved.before.parts
  end
  for i = 1, #numbers do
    numbers[i] = text(numbers[i])
  end
  return ' ' .. table.concat(numbers, ' ')
end
