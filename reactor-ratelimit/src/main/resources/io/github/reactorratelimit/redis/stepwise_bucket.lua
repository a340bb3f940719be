-- stepwise_bucket.lua: the token bucket with stepwise refill. Twin of StepwiseAlgorithm.java: change
-- both, or neither.
--
-- parameters: capacity, refill, period
-- state, stored: since (the last refill point, or where the grid started), used (tokens missing since then); stored too is the
--   capacity, if more are missing

local stepwise = {}

function algorithms.stepwise_bucket(parameters)
  return {
    steps = stepwise,
    capacity = parameters[1],
    refill = parameters[2],
    period = parameters[3],
    fresh = { since = -BEYOND, used = 0 },
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
  return { since = state.since + refills * policy.period, used = state.used - refills * policy.refill }
end

local function ticks_until_refilled(policy, current, now, tokens)
  return ticks_until(current.since + ceil_div(tokens, policy.refill) * policy.period, now)
end

function stepwise.wait(policy, state, now, permits)
  local current = steps_at(policy, state, now)
  local missing = permits - (policy.capacity - current.used)
  if missing <= 0 then
    return 0
  end
  return ticks_until_refilled(policy, current, now, missing)
end

function stepwise.debit(policy, state, now, permits)
  local current = steps_at(policy, state, now)
  if current.used == 0 then
    return { since = now, used = permits }
  end
  return { since = current.since, used = current.used + permits }
end

-- Times stay exact: so many periods, at most, until all is refilled.
function stepwise.chargeable(policy, state, now, most_debt)
  local most = math.min(BEYOND, floor_div(2 ^ 51, policy.period) * policy.refill)
  return with_debt(policy.capacity - steps_at(policy, state, now).used, most_debt, most - policy.capacity)
end

function stepwise.remaining(policy, state, now)
  return math.max(0, policy.capacity - steps_at(policy, state, now).used)
end

function stepwise.reset(policy, state, now)
  local current = steps_at(policy, state, now)
  if current.used == 0 then
    return 0
  end
  return ticks_until_refilled(policy, current, now, current.used)
end

-- All if no refill point came since the debit, else only what the refills since could not have covered.
function stepwise.refund(policy, state, now, debited_at, permits)
  local current = steps_at(policy, state, now)
  local back = permits
  if current.since > debited_at then
    local periods = floor_div(ticks_until(math.max(now, current.since), debited_at), policy.period)
    local covered = periods >= ceil_div(permits, policy.refill) - 1
    back = covered and 0 or permits - (periods + 1) * policy.refill
  end
  if back >= current.used then
    return policy.fresh
  end
  return { since = current.since, used = current.used - back }
end

function stepwise.rebase(policy, state, now)
  if ticks_until(state.since, now) > policy.period then
    return { since = now, used = state.used }
  end
  return state
end

function stepwise.load(key, policy)
  local numbers = load_integers(key, 2, 1)
  if not numbers then
    return policy.fresh
  end
  local since, used, overdrawn = unpack(numbers)
  if used < 1 or used <= (overdrawn or 0) then
    corrupt('a used amount below 1')
  end
  return { since = since, used = counted(used, policy.capacity, overdrawn) }
end

function stepwise.save(key, policy, state, ttl)
  save_text(key, text(state.since) .. ' ' .. text(state.used) .. overdraft(state.used, policy.capacity), ttl)
end
