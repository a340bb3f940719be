-- sliding_counter.lua: the sliding window counter. Twin of CounterAlgorithm.java: change both, or neither.
--
-- parameters: limit, window in ticks, ticks of a grain, window in grains (limit * grains stays below 2^53)
-- policy: the same, and  start: the first tick of the window of now
-- state: start, previous, current (permits of the window that starts there and of the one before)

local counter = counting({
  form = '5',
  parameters = { 'limit', 'window', 'grain', 'grains' },
  fields = { 'start', 'previous', 'current' },
  counts = { 'previous', 'current' },
  fresh = { start = -BEYOND, previous = 0, current = 0 },
})
algorithms.sliding_counter = counter

function counter.complete(policy)
  policy.most = math.min(BEYOND, floor_div(BEYOND, policy.grains)) - 1
  policy.start = now - floor_mod(now, policy.window)
end

local function counts_at(policy, state, now)
  local elapsed = ticks_until(now, state.start)
  if elapsed < policy.window then
    return state
  end
  local previous = elapsed < 2 * policy.window and state.current or 0
  return { start = policy.start, previous = previous, current = 0 }
end

function counter.room(policy, state, now)
  local counts = counts_at(policy, state, now)
  local elapsed_grains = floor_div(ticks_until(now, counts.start), policy.grain)
  local weighted = floor_div(counts.previous * (policy.grains - elapsed_grains), policy.grains)
  return policy.limit - counts.current - weighted
end

-- Ticks into a window until `previous` weighs less than `enough` + 1.
local function elapsed_until(policy, previous, enough)
  if previous <= enough then
    return 0
  end
  return (policy.grains + 1 - ceil_div((enough + 1) * policy.grains, previous)) * policy.grain
end

-- In this window if enough of the previous one slides out in time, else in the next, at last in the one after.
function counter.allowed_at(policy, state, now, permits)
  local counts = counts_at(policy, state, now)
  if counts.current + permits <= policy.limit then
    local elapsed = elapsed_until(policy, counts.previous, policy.limit - counts.current - permits)
    if elapsed < policy.window then
      return counts.start + elapsed
    end
  end
  local elapsed = math.min(elapsed_until(policy, counts.current, policy.limit - permits), policy.window)
  return counts.start + policy.window + elapsed
end

function counter.debit(policy, state, now, permits)
  local counts = counts_at(policy, state, now)
  return { start = counts.start, previous = counts.previous, current = counts.current + permits }
end

-- Counts only in the window of the debit.
function counter.refund(policy, state, now, debited_at, permits)
  local counts = counts_at(policy, state, now)
  if debited_at < counts.start or debited_at - counts.start >= policy.window then
    return state
  end
  return { start = counts.start, previous = counts.previous, current = math.max(0, counts.current - permits) }
end

-- A window that starts after the next one comes from a clock that has gone back: all permits count in this one.
function counter.rebase(policy, state, _)
  if state.start > policy.start + policy.window then
    local current = math.max(state.current, math.min(policy.limit, state.previous + state.current))
    return { start = policy.start, previous = 0, current = current }
  end
  return state
end
