-- reservation.lua: slots ahead. Whoever would rather wait than be denied debits now for the time at which the
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
--               tails       for each instance that holds slots the base of its last one, as `instance:base instance:base`, behind a |.
--                           A slot behind it was reserved in a newer state than this, which was lost
--               free        the free slots that were loaded; nil while they are not needed
--               renewed     whether the free slots of former days have to go
--               before      the state before the first slot, if that was reserved in a pause }
--
-- A slot that its holder does not need any more:
--   at the tail   what is owed becomes what it was before the slot. It is at the tail if no more is owed at its
--                 time, refunds left aside, than the slot itself left behind.
--   in the middle those behind it stay where they are. It is kept in a sorted set by its base (header.shift), and the
--                 next who reserves takes it first. One that passes by unused is lost.
--   in the past   of a bucket it is a debit of that time, and given back as one; of a queue it is lost.
--   by a refund   a slot that refunds paid for gives that back to them. It is earlier than one at the tail would be, and no slot
--                 is timed by it: all others are timed as if there had been no refunds. So they are found at the tail whatever
--                 was refunded between them, and this one may go at any time. Its holder says that it is one.
-- If none is left, the key is as if there never were any.
--
-- Of many free slots a call sees the first and the last WINDOW, so that it holds the server for a bounded time.

local WINDOW = 64
-- As far as a pause can move what lies a year ahead.
local MOST_AHEAD = MAX_TTL_MILLIS * 1000

local function copy(reserved)
  return {
    last = reserved.last,
    floor = reserved.floor,
    seen = reserved.seen,
    lowered = reserved.lowered,
    lent = reserved.lent,
    lent_until = reserved.lent_until,
    freed = reserved.freed,
    more = reserved.more,
    generation = reserved.generation,
    tails = reserved.tails,
    tail_by = reserved.tail_by,
    free = reserved.free,
    renewed = reserved.renewed,
    before = reserved.before,
  }
end

local function member(base, permits)
  return text(base) .. ' ' .. text(permits)
end

local function parse_slot(name)
  local base, permits = match(name, '^(%S+) (%S+)$')
  base = integer(base) or corrupt('a slot that is none')
  permits = integer(permits) or corrupt('a slot that is none')
  return base, permits
end

-- The slots of these members, in order of their times, and their permits.
local function read_window(free, names, from, to, step)
  local window, sum = {}, 0
  for i = from, to, step do
    local base, permits = parse_slot(names[i])
    window[#window + 1] = { base = base, permits = permits }
    free.stored[base] = permits
    sum = sum + permits
  end
  return window, sum
end

-- free: { first    those ahead of now, the first of them
--         last     the last of them; the same table as `first` if that has them all
--         split    the base of the last of `first` as it was loaded, if others lie between the two
--         stored   by base, the permits as they are stored
--         changed  by base, the permits as they are to be stored
--         passed   members that are over }
local function load_free(reserved, now)
  local free = { first = {}, stored = {}, changed = {}, passed = {} }
  free.last = free.first
  reserved.free = free
  if reserved.freed == 0 or reserved.renewed then
    return
  end
  local from = text(now - header.shift)
  free.passed = run('ZRANGEBYSCORE', header.free_key, '-inf', '(' .. from, 'LIMIT', '0', text(WINDOW))
  local names = run('ZRANGEBYSCORE', header.free_key, from, '+inf', 'LIMIT', '0', text(2 * WINDOW))
  if #names < 2 * WINDOW then
    free.first, reserved.freed = read_window(free, names, 1, #names, 1)
    free.last = free.first
    return
  end
  for i = 1, #free.passed do
    local _, permits = parse_slot(free.passed[i])
    reserved.freed = reserved.freed - permits
  end
  free.first = read_window(free, names, 1, WINDOW, 1)
  free.split = free.first[WINDOW].base
  names = run('ZREVRANGE', header.free_key, '0', text(WINDOW - 1))
  free.last = read_window(free, names, #names, 1, -1)
  free.last_from = free.last[1].base
end

-- A state with its free slots is this call's own, and is changed in place.
local function with_free(state, now)
  if state.reserved.free then
    return state
  end
  local reserved = copy(state.reserved)
  load_free(reserved, now)
  return { at = state.at, parts = state.parts, reserved = reserved }
end

local function change_free(reserved, base, permits, difference)
  reserved.free.changed[base] = permits
  reserved.freed = reserved.freed + difference
end

-- A slot of which nobody knows what else is free at its time.
local function add_between(reserved, added)
  local free = reserved.free
  local base = added.base
  if not free.changed[base] then
    local names = run('ZRANGEBYSCORE', header.free_key, text(base), text(base))
    read_window(free, names, 1, #names, 1)
  end
  local permits = free.changed[base] or free.stored[base] or 0
  change_free(reserved, base, permits + added.permits, added.permits)
end

local function add_free(reserved, added)
  local free = reserved.free
  local window = free.first
  if free.split and added.base > free.split then
    if added.base < free.last_from then
      return add_between(reserved, added)
    end
    window = free.last
  end
  free.too_large = nil
  local position = #window + 1
  while position > 1 and window[position - 1].base > added.base do
    position = position - 1
  end
  local same = window[position - 1]
  local permits = added.permits
  if same and same.base == added.base then
    permits = permits + same.permits
    window[position - 1] = { base = added.base, permits = permits }
  else
    table.insert(window, position, added)
  end
  change_free(reserved, added.base, permits, added.permits)
end

-- The first free slot that is large enough, nil if there is none in time; a pause has moved them behind its end. What is left of one of a bucket stays
-- free at the same time; of one of a queue it is lost, because its time would lie between two ticks.
local function take_free(policy, reserved, latest, permits)
  local free = reserved.free
  if free.too_large and permits >= free.too_large then
    return nil
  end
  for i = 1, #free.first do
    local slot = free.first[i]
    local at = slot.base + header.shift
    if at > latest then
      return nil
    end
    if slot.permits >= permits then
      local rest = slot.permits - permits
      if rest > 0 and not policy.queues then
        free.first[i] = { base = slot.base, permits = rest }
        change_free(reserved, slot.base, rest, -permits)
      else
        table.remove(free.first, i)
        change_free(reserved, slot.base, 0, -slot.permits)
      end
      return at
    end
  end
  free.too_large = permits
  return nil
end

-- Where more than a window of them has passed it is not known how many are left.
local function free_permits(reserved)
  return #reserved.free.passed < WINDOW and reserved.freed or 0
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

local function reserve_at(policy, state, now, permits, from, slot, generation, by_refund)
  local owed = deficit_parts(policy, state, slot)
  local reserved = state.reserved
  if reserved then
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
  else
    reserved = { last = slot, floor = owed, seen = now, lowered = 0, freed = 0, more = 0, tails = '', renewed = true }
    reserved.lent, reserved.lent_until = 0, 0
    reserved.generation = generation
    reserved.before = from > now and plain(policy, state) or nil
    load_free(reserved, now)
  end
  return { at = slot, parts = owed + permits * policy.parts_per_permit, reserved = reserved }
end

-- The base of the last slot that an instance has reserved, 0 if it has none ahead.
function reservation.tail(reserved, instance)
  local base = reserved and match(' ' .. reserved.tails, ' ' .. instance .. ':(%-?%d+)')
  return base and tonumber(base) or 0
end

-- An instance holds a slot at this time.
local function hold(state, instance, slot)
  local reserved = state.reserved
  if not reserved.tail_by then
    reserved.tail_by = {}
    for holder, base in string.gmatch(reserved.tails, '(%d+):(%-?%d+)') do
      reserved.tail_by[holder] = tonumber(base)
    end
  end
  local base = slot - header.shift
  reserved.tail_by[instance] = math.max(reserved.tail_by[instance] or base, base)
  return state
end

local function first_slot(policy, owed, permits, from)
  return from + ticks_of(policy, math.max(0, policy.excess_parts(policy, owed, permits)))
end

-- The wait until the slot, the state with it, without one if nothing was reserved, and whether refunds pay for it.
function level.reserve(policy, state, now, permits, from, most_wait, generation, instance)
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
  local last = reserved.free.last
  local slot = last[#last]
  while slot and is_tail(policy, state, slot.base + header.shift, slot.permits) do
    table.remove(last)
    change_free(reserved, slot.base, 0, -slot.permits)
    state = without_tail(policy, state, slot.base + header.shift, slot.permits)
    slot = last[#last]
  end
  reserved.more = not slot and reserved.free.split and 1 or 0
  return state
end

-- A slot ahead leaves more owed now than a key can owe without slots, refunds left aside, but for one of a pause.
local function unless_none_is_left(policy, state, now)
  local reserved = state.reserved
  local most = policy.queues and policy.parts_per_permit or policy.capacity_parts
  local is_lent = reserved.lent > 0 and reserved.lent_until > now
  if is_lent or header.pause > now or deficit_parts(policy, state, now) + reserved.lowered > most then
    return state
  end
  if not reserved.renewed then
    write('DEL', header.free_key)
  end
  return { at = state.at, parts = state.parts }
end

-- What the call before has left to do.
function reservation.settle(policy, state, now)
  if not state.reserved or state.reserved.more == 0 then
    return state
  end
  return unless_none_is_left(policy, collapse(policy, with_free(state, now)), now)
end

-- A slot that refunds paid for.
local function free_lent(policy, state, now, permits)
  local owed = deficit_parts(policy, state, now)
  local reserved = copy(state.reserved)
  local lost = math.max(0, -reserved.floor)
  local back = math.max(0, math.min(owed, permits * policy.parts_per_permit) - lost)
  reserved.floor = math.max(0, reserved.floor)
  reserved.lowered = reserved.lowered + back
  reserved.lent = math.max(0, reserved.lent - permits)
  reserved.lent_until = reserved.lent > 0 and reserved.lent_until or 0
  return { at = now, parts = owed - back, reserved = reserved }
end

function level.free(policy, state, now, permits, base, by_refund)
  local at = base + header.shift
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
    add_free(state.reserved, { base = base, permits = permits })
    return state
  end
  return unless_none_is_left(policy, collapse(policy, without_tail(policy, state, at, permits)), now)
end

-- Nobody's slots hold any more.
function reservation.void(state)
  if not state.reserved then
    return state
  end
  local reserved = copy(state.reserved)
  reserved.generation = reserved.generation + 1
  reserved.tails = ''
  reserved.tail_by = nil
  reserved.lent, reserved.lent_until = 0, 0
  return { at = state.at, parts = state.parts, reserved = reserved }
end

-- All slots come later, or earlier if a pause is cut short.
function level.shift(state, ticks)
  local reserved = copy(state.reserved)
  reserved.last = reserved.last + ticks
  reserved.lent_until = reserved.lent > 0 and reserved.lent_until + ticks or 0
  return { at = state.at + ticks, parts = state.parts, reserved = reserved }
end

function reservation.lower(policy, state, now, back_parts)
  local lowered = math.min(back_parts, state.reserved.floor)
  if lowered <= 0 then
    return state
  end
  local reserved = copy(state.reserved)
  reserved.floor = reserved.floor - lowered
  reserved.lowered = reserved.lowered + lowered
  return { at = now, parts = deficit_parts(policy, state, now) - lowered, reserved = reserved }
end

-- What is debited at once is paid for by refunds first, and is owed before every slot.
function reservation.spend(reserved, parts)
  reserved = copy(reserved)
  reserved.lowered = math.max(0, reserved.lowered - parts)
  reserved.floor = reserved.floor + parts
  return reserved
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
    header.shift = header.shift - back
  end
  if math.max(state.reserved.last, state.reserved.lent_until) > now then
    return state
  end
  local owed = deficit_parts(policy, state, now)
  if owed > policy.most then
    return { at = now, parts = owed }
  end
  return { at = state.at, parts = state.parts }
end

function reservation.decode(stored)
  local words, tails = match(stored, '^([^|]*)|?(.*)$')
  local numbers = {}
  for word in string.gmatch(words, '[^ ]+') do
    numbers[#numbers + 1] = integer(word) or corrupt('something else than integers')
  end
  if #numbers ~= 9 and #numbers ~= 11 then
    corrupt('another number of integers')
  end
  local last, floor, seen, lowered, freed, more, generation, lent, lent_until, at, parts = unpack(numbers)
  local least = math.min(lowered, freed, more, generation, lent, parts or 0)
  if least < 0 or math.max(last, lent_until) - seen > 2 * MOST_AHEAD then
    corrupt('slots that nobody can have reserved')
  end
  local reserved = { last = last, floor = floor, seen = seen, lowered = lowered, freed = freed, more = more }
  reserved.generation = generation
  reserved.lent, reserved.lent_until = lent, lent_until
  reserved.tails = tails
  reserved.before = at and { at = at, parts = parts } or nil
  return reserved
end

local function save_free(reserved)
  local free = reserved.free
  local gone, added = free.passed, {}
  for base, permits in pairs(free.changed) do
    local stored = free.stored[base]
    if stored and stored ~= permits then
      gone[#gone + 1] = member(base, stored)
    end
    if permits > 0 and stored ~= permits then
      added[#added + 1] = text(base)
      added[#added + 1] = member(base, permits)
    end
  end
  if reserved.renewed then
    write('DEL', header.free_key)
  elseif #gone > 0 then
    write('ZREM', header.free_key, unpack(gone))
  end
  if #added > 0 then
    write('ZADD', header.free_key, unpack(added))
  end
end

-- Of those instances whose slots lie ahead.
local function tails_of(reserved, now)
  if not reserved.tail_by then
    return reserved.tails
  end
  local tails = {}
  for instance, base in pairs(reserved.tail_by) do
    if base + header.shift > now then
      tails[#tails + 1] = instance .. ':' .. text(base)
    end
  end
  return table.concat(tails, ' ')
end

function reservation.encode(reserved, ttl, now)
  if reserved.free then
    save_free(reserved)
  end
  if reserved.freed > 0 and header.free_key then
    write('PEXPIRE', header.free_key, text(ttl))
  end
  local numbers = { reserved.last, reserved.floor, now, reserved.lowered, reserved.freed, reserved.more, reserved.generation }
  numbers[8], numbers[9] = reserved.lent, reserved.lent_until
  if reserved.before then
    numbers[10], numbers[11] = reserved.before.at, reserved.before.parts
  end
  for i = 1, #numbers do
    numbers[i] = text(numbers[i])
  end
  local tails = tails_of(reserved, now)
  return ' ' .. table.concat(numbers, ' ') .. (tails == '' and '' or ' |' .. tails)
end

level.settle = reservation.settle
level.tail = reservation.tail
