-- warm_up.lua: the warm-up. Twin of WarmUpAlgorithm.java: change both, or neither.
--
-- parameters: parts that a tick of a cold key pays, parts per permit, permits per period at the full rate, ticks of the warm-up
-- state: at, owed (parts), warm (ticks, from 0, cold, to those of the warm-up)

local warm_up = {
  form = '7',
  parameters = { 'flow', 'cost', 'limit', 'ticks' },
  fields = { 'at', 'owed', 'warm' },
  counts = {},
  fresh = { at = -BEYOND, owed = 0, warm = 0 },
}
algorithms.warm_up = warm_up

-- Steps from cold to the full rate.
local STEPS = 16

local function step_of(policy, warm)
  return math.min(STEPS - 1, floor_div(warm * STEPS, policy.ticks))
end

-- Parts that a tick pays at this warmth.
local function flow_of(policy, warm)
  return (step_of(policy, warm) + 1) * policy.flow
end

local function ticks_to_next_step(policy, warm)
  local next = step_of(policy, warm) + 1
  if next == STEPS then
    return BEYOND
  end
  return ceil_div(next * policy.ticks, STEPS) - warm
end

-- Ticks until the tick that pays the last part, or `most` if that is earlier; what is owed then, and the warmth.
local function free(policy, state, most)
  local passed, owed, warm = 0, state.owed, state.warm
  while true do
    local flow = flow_of(policy, warm)
    local ticks = math.min(floor_div(owed, flow), most - passed, ticks_to_next_step(policy, warm))
    if ticks == 0 then
      return passed, owed, warm
    end
    passed = passed + ticks
    owed = owed - ticks * flow
    warm = math.min(policy.ticks, warm + ticks)
  end
end

-- The same until all is paid.
local function paid(policy, state, most)
  local passed, owed, warm = free(policy, state, most)
  if owed > 0 and owed < flow_of(policy, warm) and passed < most then
    return passed + 1, 0, math.min(policy.ticks, warm + 1)
  end
  return passed, owed, warm
end

local function pace_at(policy, state, now)
  if now <= state.at then
    return state
  end
  local elapsed = now - state.at
  local passed, owed, warm = paid(policy, state, elapsed)
  return { at = now, owed = owed, warm = math.max(0, warm - (elapsed - passed)) }
end

function warm_up.wait(policy, state, now, _)
  local current = pace_at(policy, state, now)
  local wait = free(policy, current, BEYOND)
  return wait == 0 and 0 or ticks_until(current.at, now) + wait
end

function warm_up.debit(policy, state, now, permits)
  local current = pace_at(policy, state, now)
  return { at = current.at, owed = current.owed + permits * policy.cost, warm = current.warm }
end

-- What is owed, as permits: what remains does not say it.
function warm_up.chargeable(policy, state, now, _)
  local left = policy.limit * policy.cost - pace_at(policy, state, now).owed
  return left <= 0 and 0 or floor_div(left, policy.cost)
end

function warm_up.remaining(policy, state, now)
  local current = pace_at(policy, state, now)
  return current.owed < flow_of(policy, current.warm) and policy.limit or 0
end

-- Until the key is cold: only then it replies like one that was never seen.
function warm_up.reset(policy, state, now)
  local current = pace_at(policy, state, now)
  if current.owed == 0 and current.warm == 0 then
    return 0
  end
  local passed, _, warm = paid(policy, current, BEYOND)
  return ticks_until(current.at, now) + passed + warm
end

function warm_up.spent(policy, state, now)
  return math.min(policy.limit, ceil_div(pace_at(policy, state, now).owed, policy.cost))
end

-- Gives back the cost less all that a warm key could have paid since, and cools the key by all that the debit could have warmed it.
function warm_up.refund(policy, state, now, debited_at, permits)
  local current = pace_at(policy, state, now)
  local elapsed = ticks_until(current.at, debited_at)
  local cost, full_flow = permits * policy.cost, STEPS * policy.flow
  if elapsed >= ceil_div(cost, full_flow) then
    return state
  end
  local back = cost - elapsed * full_flow
  return {
    at = current.at,
    owed = math.max(0, current.owed - back),
    warm = math.max(0, current.warm - 2 * elapsed),
  }
end

function warm_up.rebase(_, state, now)
  if state.at > now then
    return { at = now, owed = state.owed, warm = state.warm }
  end
  return state
end

function warm_up.fits(policy, state)
  state.warm = math.min(state.warm, policy.ticks)
  return true
end
