-- level.lua: the steps of all rates that are metered continuously: GCRA, the token bucket with continuous refill, which is the
-- same, and the leaky bucket. Twin of DeficitAlgorithm.java, RateArithmetic.java, BucketArithmetic.java and QueueArithmetic.java: change
-- both, or neither.
--
-- parameters: 1 if it queues, else 0; parts per tick, parts per permit, capacity, missing parts, since
-- policy: the same, and  most: the most parts a key can owe    fill: ticks in which they flow back
-- state: { at, parts }: the parts that were owed at a time, and `reserved` while slots lie ahead: reservation.lua
-- stored: the time at which less than a tick's parts are owed and, if not 0, those parts: mostly one integer;
--         `beyond`, the state of another policy that lies farther ahead, `of` and the terms of this one, if there is one;
--         while slots lie ahead `slots` and `reserved` behind them. Of a state without slots that is overdrawn the time
--         and the parts as they are, and the parameters that say what a part is: a time that lies so
--         far ahead could not be distinguished from one of a clock that went back.

local level = {
  parameters = { 'queues', 'parts_per_tick', 'parts_per_permit', 'limit', 'missing', 'since' },
  fields = { 'at', 'parts' },
  counts = { 'parts' },
  fresh = { at = -BEYOND, parts = 0 },
}
algorithms.level = level
local reservation = {}

-- The capacity of a queue does not count what may still be owed when a permit leaves it.
function level.complete(policy)
  policy.queues = policy.queues == 1
  policy.form = policy.queues and '2' or '1'
  policy.capacity_parts = policy.limit * policy.parts_per_permit
  policy.most = policy.queues and policy.capacity_parts + policy.parts_per_tick - 1 or policy.capacity_parts
  policy.most_stored = policy.most
  policy.fill = ceil_div(policy.most, policy.parts_per_tick)
  if policy.missing > 0 then
    policy.fresh = { at = policy.since, parts = policy.missing }
  end
end

function level.terms(policy)
  return format('%.0f %.0f %.0f', policy.parts_per_tick, policy.parts_per_permit, policy.limit)
end

-- What flows back, cut off where nothing can be owed any more.
local function flow_parts(policy, ticks)
  return math.min(ticks, policy.fill) * policy.parts_per_tick
end

-- Rounded up: a tick too early is a tick too lax.
local function ticks_of(policy, parts)
  return ceil_div(parts, policy.parts_per_tick)
end

local function deficit_parts(policy, state, now)
  if now >= state.at then
    local ticks = math.min(now - state.at, ticks_of(policy, state.parts))
    return math.max(0, state.parts - ticks * policy.parts_per_tick)
  end
  if state.reserved then
    return state.parts + (state.at - now) * policy.parts_per_tick
  end
  return math.min(policy.most, state.parts + flow_parts(policy, state.at - now))
end

-- By how much what is owed exceeds what lets permits pass. Those of a bucket pass while what is owed stays within the capacity. A
-- request leaves a queue in the tick in which all that left before it has drained, however many permits it needs.
local function excess_parts(policy, owed, permits)
  if policy.queues then
    return math.max(0, owed - (policy.parts_per_tick - 1))
  end
  return math.max(0, owed - (policy.capacity_parts - permits * policy.parts_per_permit))
end

function level.wait(policy, state, now, permits)
  return ticks_of(policy, excess_parts(policy, deficit_parts(policy, state, now), permits))
end

function level.debit(policy, state, now, permits)
  local parts = permits * policy.parts_per_permit
  local reserved = state.reserved
  if reserved then
    reservation.spend(policy, reserved, now, permits)
  end
  return { at = now, parts = deficit_parts(policy, state, now) + parts, reserved = reserved }
end

-- Slots that lie ahead are no debt: what is owed beyond the capacity when the last of them passes is.
function level.chargeable(policy, state, now, most_debt)
  local owed_now = deficit_parts(policy, state, now)
  local owed = state.reserved and deficit_parts(policy, state, math.max(now, state.reserved.last)) or owed_now
  local free = policy.capacity_parts - owed
  local permit = policy.parts_per_permit
  local room = free >= 0 and floor_div(free, permit) or -ceil_div(-free, permit)
  local exact = BEYOND - 1 - 2 * policy.parts_per_tick
  local exact_debt = floor_div(math.max(0, exact - policy.capacity_parts), permit)
  local charged = with_debt(room, most_debt, exact_debt)
  if state.reserved then
    return math.min(charged, floor_div(math.max(0, exact - owed_now), permit))
  end
  return charged
end

function level.remaining(policy, state, now)
  local owed = deficit_parts(policy, state, now)
  if policy.queues then
    return owed < policy.parts_per_tick and policy.limit or 0
  end
  return floor_div(math.max(0, policy.capacity_parts - owed), policy.parts_per_permit)
end

function level.reset(policy, state, now)
  return ticks_of(policy, deficit_parts(policy, state, now))
end

-- What was spent, as another policy would count it. Slots ahead are not: who holds one will ask again. Of a bucket
-- with slots ahead all is spent, of a queue no more than the permit that drains now.
function level.spent(policy, state, now)
  if policy.queues and state.reserved then
    return 1
  end
  return math.min(policy.limit, ceil_div(deficit_parts(policy, state, now), policy.parts_per_permit))
end

-- The cost less all that may have flowed back since.
function level.refund(policy, state, now, debited_at, permits)
  local flowed = flow_parts(policy, ticks_until(now, debited_at))
  local back = math.max(0, permits * policy.parts_per_permit - flowed)
  if back == 0 then
    return state
  elseif state.reserved then
    return reservation.lower(policy, state, now, back)
  end
  return { at = now, parts = math.max(0, deficit_parts(policy, state, now) - back) }
end

-- Whether a state lies farther ahead than the policy can owe: it is of a clock that went back, or of another policy on this key.
local function is_beyond(policy, state, now)
  local ahead = ticks_until(state.at, now)
  return ahead > policy.fill or (ahead > 0 and flow_parts(policy, ahead) > policy.most - state.parts)
end

-- Such a state, for the other policy, until it has recovered.
function level.beyond(policy, loaded, now)
  local may_be_cut = loaded ~= policy.fresh and not loaded.reserved and loaded.parts <= policy.most
  local is_cut = may_be_cut and is_beyond(policy, loaded, now)
  local other = is_cut and loaded or loaded.beyond
  return other and other.at > now and other.at - now <= MAX_TTL_MILLIS * 1000 and other or nil
end

function level.rebase(policy, state, now)
  if state.reserved then
    state = reservation.rebase(policy, state, now)
    if state.reserved then
      return state
    end
  end
  if state.parts > policy.most then
    return now < state.at and { at = now, parts = state.parts } or state
  end
  if is_beyond(policy, state, now) then
    return { at = now, parts = policy.most }
  end
  return state
end

-- The time at which less than a tick's parts are owed, and those.
local function whole_ticks(policy, state)
  local ticks = floor_div(state.parts, policy.parts_per_tick)
  return state.at + ticks, state.parts - ticks * policy.parts_per_tick
end

-- Behind a state may be one that lies beyond its policy and the terms of that: a policy with others reads the one beyond.
function level.decode(policy, stored)
  local own, other, terms = match(stored, '^(.-) beyond (.-) of (.*)$')
  if own and terms ~= level.terms(policy) then
    own, other = other, nil
  end
  own = own or stored
  local slots = find(own, ' slots ', 1, true)
  local state = decode(policy, slots and string.sub(own, 1, slots - 1) or own)
  state.reserved = slots and reservation.decode(string.sub(own, slots + 7))
  state.beyond = other and integers(other, level.fields)
  return state
end

function level.encode(policy, state, ttl, part)
  local stored
  if state.reserved or state.parts <= policy.most then
    local at, parts = whole_ticks(policy, state)
    stored = encode(policy, { at = at, parts = parts })
    stored = state.reserved and stored .. ' slots ' .. reservation.encode(state.reserved, ttl) or stored
  else
    stored = encode(policy, state)
  end
  local beyond = part.beyond and words_of(part.beyond, level.fields)
  return beyond and stored .. ' beyond ' .. beyond .. ' of ' .. level.terms(policy) or stored
end
