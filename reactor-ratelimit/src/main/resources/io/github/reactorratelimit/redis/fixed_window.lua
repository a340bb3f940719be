-- fixed_window.lua: the fixed window. Twin of WindowAlgorithm.java and WindowGrid.java: change both, or
-- neither.
--
-- parameters: limit, then of an epoch_window or a first_request_window its length, of a calendar_window
--   the number of windows that the caller knows and where they lie: the start of the first, the ends of all
-- policy: limit, and the window of now: start, finish (the first tick after it)
-- state, stored: start, finish, used; stored too is the limit, if more are used
-- error RATELIMITWINDOW and the time, if that lies in no window that the caller knows

local window = {}

local function window_policy(limit, start, finish)
  local fresh = { start = -BEYOND, finish = -BEYOND, used = 0 }
  return { steps = window, limit = limit, start = start, finish = finish, fresh = fresh }
end

function algorithms.epoch_window(parameters, now)
  local limit, length = unpack(parameters)
  local start = now - floor_mod(now, length)
  return window_policy(limit, start, start + length)
end

function algorithms.first_request_window(parameters, now)
  local limit, length = unpack(parameters)
  return window_policy(limit, now, now + length)
end

function algorithms.calendar_window(parameters, now)
  local limit, windows = unpack(parameters)
  for i = 3, windows + 2 do
    if parameters[i] <= now and now < parameters[i + 1] then
      return window_policy(limit, parameters[i], parameters[i + 1])
    end
  end
  fail('RATELIMITWINDOW', text(now))
end

local function used_at(state, now)
  return now < state.finish and state.used or 0
end

function window.wait(policy, state, now, permits)
  if permits <= policy.limit - used_at(state, now) then
    return 0
  end
  return ticks_until(state.finish, now)
end

function window.debit(policy, state, now, permits)
  if used_at(state, now) > 0 then
    return { start = state.start, finish = state.finish, used = state.used + permits }
  end
  return { start = policy.start, finish = policy.finish, used = permits }
end

function window.chargeable(policy, state, now, most_debt)
  return with_debt(policy.limit - used_at(state, now), most_debt, BEYOND - 1 - policy.limit)
end

function window.remaining(policy, state, now)
  return math.max(0, policy.limit - used_at(state, now))
end

function window.reset(_, state, now)
  if used_at(state, now) == 0 then
    return 0
  end
  return ticks_until(state.finish, now)
end

-- Counts only in the window of the debit.
function window.refund(policy, state, now, debited_at, permits)
  if now >= state.finish or debited_at < state.start or debited_at >= state.finish then
    return state
  end
  if permits >= state.used then
    return policy.fresh
  end
  return { start = state.start, finish = state.finish, used = state.used - permits }
end

-- A window that starts after the next one comes from a clock that has gone back: its permits count in this one.
function window.rebase(policy, state, now)
  if state.start <= now or state.start <= policy.finish then
    return state
  end
  return { start = policy.start, finish = policy.finish, used = state.used }
end

function window.load(key, policy)
  local numbers = load_integers(key, 3, 1)
  if not numbers then
    return policy.fresh
  end
  local start, finish, used, overdrawn = unpack(numbers)
  if used < 1 or used <= (overdrawn or 0) or finish <= start or finish - start > MAX_TTL_MILLIS * 1000 then
    corrupt('no window')
  end
  return { start = start, finish = finish, used = counted(used, policy.limit, overdrawn) }
end

function window.save(key, policy, state, ttl)
  local stored = text(state.start) .. ' ' .. text(state.finish) .. ' ' .. text(state.used)
  save_text(key, stored .. overdraft(state.used, policy.limit), ttl)
end
