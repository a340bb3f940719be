-- stepwise_bucket.lua: the token bucket with stepwise refill. Twin of StepwiseAlgorithm.java: change
-- both, or neither.
--
-- state: since (a period before the next refill point: the last one, or the debit that started the grid, or later if debits
--   were refunded), used (tokens missing), later (those of them that were debited after since), age (since then)

local stepwise = counting({
  form = '3',
  parameters = { 'limit', 'refill', 'period' },
  fields = { 'since', 'used', 'later', 'age' },
  counts = { 'used' },
  fresh = { since = -BEYOND, used = 0, later = 0, age = 0 },
})
algorithms.stepwise_bucket = stepwise

-- Times stay exact: so many periods, at most, until all is refilled.
function stepwise.complete(policy)
  policy.most = math.min(BEYOND, floor_div(2 ^ 51, policy.period) * policy.refill)
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
  return { since = state.since + refills * policy.period, used = state.used - refills * policy.refill, later = 0, age = 0 }
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
    return { since = now, used = permits, later = 0, age = 0 }
  end
  local later = now <= current.since and current.later or current.later + permits
  return { since = current.since, used = current.used + permits, later = later, age = current.age }
end

-- All if no refill point came since the debit, and the grid starts now if nothing else keeps it; else only what the refills since,
-- and one more, could not have covered.
function stepwise.refund(policy, state, now, debited_at, permits)
  local current = steps_at(policy, state, now)
  local from = current.since - current.age
  local back = permits
  if from > debited_at then
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
  local since, used, later = current.since, current.used - back, current.later
  if debited_at > since then
    later = math.max(0, later - back)
  end
  if later >= used then
    since = math.max(now, since)
    later = 0
  end
  return { since = since, used = used, later = later, age = since - from }
end

function stepwise.rebase(policy, state, now)
  if ticks_until(state.since, now) > policy.period then
    return { since = now, used = state.used, later = 0, age = 0 }
  end
  return state
end

function stepwise.fits(_, state)
  return state.later < state.used
end
