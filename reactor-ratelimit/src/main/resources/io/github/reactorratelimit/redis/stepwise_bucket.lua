-- stepwise_bucket.lua: the token bucket with stepwise refill. Twin of StepwiseAlgorithm.java: change
-- both, or neither.
--
-- parameters: capacity, refill, period
-- state: from (the last refill point, or the debit that started the grid), since (a period before the next refill point: from, or
--   later if debits were refunded), used (tokens missing), first (those of them that were debited until since)
-- stored: since, used; the capacity, if more are missing; the capacity and first, if that is less than used or from is before
--   since; then also since - from

local stepwise = counting()

function algorithms.stepwise_bucket(parameters)
  local capacity, refill, period = unpack(parameters)
  return {
    steps = stepwise,
    form = '3',
    limit = capacity,
    -- Times stay exact: so many periods, at most, until all is refilled.
    most = math.min(BEYOND, floor_div(2 ^ 51, period) * refill),
    refill = refill,
    period = period,
    fresh = { from = -BEYOND, since = -BEYOND, used = 0, first = 0 },
  }
end

-- A time before the last refill point counts as that point.
local function steps_at(policy, state, now)
  local refills = floor_div(ticks_until(now, state.since), policy.period)
  if refills >= ceil_div(state.used, policy.refill) then
    return policy.fresh
  end
  if refills == 0 then
    return state
  end
  local since, used = state.since + refills * policy.period, state.used - refills * policy.refill
  return { from = since, since = since, used = used, first = used }
end

function stepwise.room(policy, state, now)
  return policy.limit - steps_at(policy, state, now).used
end

function stepwise.allowed_at(policy, state, now, permits)
  local current = steps_at(policy, state, now)
  local missing = permits - (policy.limit - current.used)
  return current.since + ceil_div(missing, policy.refill) * policy.period
end

function stepwise.debit(policy, state, now, permits)
  local current = steps_at(policy, state, now)
  if current.used == 0 then
    return { from = now, since = now, used = permits, first = permits }
  end
  local first = now <= current.since and current.first + permits or current.first
  return { from = current.from, since = current.since, used = current.used + permits, first = first }
end

-- All if no refill point came since the debit, and the grid starts now if nothing else keeps it; else only what the refills since,
-- and one more, could not have covered.
function stepwise.refund(policy, state, now, debited_at, permits)
  local current = steps_at(policy, state, now)
  local back = permits
  if current.from > debited_at then
    local periods = floor_div(ticks_until(math.max(now, current.since), debited_at), policy.period)
    local covered = periods >= ceil_div(permits, policy.refill) - 2
    back = covered and 0 or permits - (periods + 2) * policy.refill
  end
  if back == 0 or current.used == 0 then
    return state
  end
  if back >= current.used then
    return policy.fresh
  end
  local from, since, used, first = current.from, current.since, current.used - back, current.first
  first = debited_at <= since and first - back or math.min(first, used)
  if first <= 0 then
    since = math.max(now, since)
    first = used
  end
  return { from = from, since = since, used = used, first = first }
end

function stepwise.rebase(policy, state, now)
  if ticks_until(state.since, now) > policy.period then
    return { from = now, since = now, used = state.used, first = state.used }
  end
  return state
end

function stepwise.decode(policy, stored)
  local since, used, overdrawn, first, age = unpack(integers(stored, 2, 3))
  if used < 1 or not first and used <= (overdrawn or 0) or first and first > used then
    corrupt('a used amount below 1')
  end
  used = counted(used, policy.limit, overdrawn)
  return { from = since - (age or 0), since = since, used = used, first = math.min(first or used, used) }
end

function stepwise.encode(policy, state)
  local is_later = state.from < state.since
  local stored = text(state.since) .. ' ' .. text(state.used) .. behind_count(policy, state, is_later)
  if is_later then
    stored = stored .. ' ' .. text(state.since - state.from)
  end
  return stored
end
