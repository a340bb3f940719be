-- fixed_window.lua: the fixed window. Twin of WindowAlgorithm.java and WindowGrid.java: change both, or
-- neither.
--
-- parameters: limit, where windows lie, and their length. They lie from the epoch on: 0; or each from its first request on: 1. Those
--   of a calendar, 2, have no length: there follow the start of the first window that the caller knows, and the ends of all.
-- policy: limit, and the window of now: start, finish (the first tick after it); its length, if it starts with the first debit
-- state: start, finish, used, first (those of them that were debited until finish - length, which decides where it ends)
-- stored: start, finish, used; the limit, if more are used; the limit and first, if that is less than used
-- error RATELIMITWINDOW and the time, if that lies in no window that the caller knows

local window = counting()

local EPOCH, FIRST_REQUEST = 0, 1

local function window_policy(limit, start, finish, length)
  return {
    steps = window,
    form = '4',
    limit = limit,
    most = BEYOND - 1,
    start = start,
    finish = finish,
    length = length,
    fresh = { start = -BEYOND, finish = -BEYOND, used = 0, first = 0 },
  }
end

function algorithms.fixed_window(parameters)
  local limit, kind, length = unpack(parameters)
  if kind == EPOCH then
    local start = now - floor_mod(now, length)
    return window_policy(limit, start, start + length)
  elseif kind == FIRST_REQUEST then
    return window_policy(limit, now, now + length, length)
  end
  for i = 3, #parameters - 1 do
    if parameters[i] <= now and now < parameters[i + 1] then
      return window_policy(limit, parameters[i], parameters[i + 1])
    end
  end
  fail('RATELIMITWINDOW', text(now))
end

local function used_at(state, now)
  return now < state.finish and state.used or 0
end

-- Whether a debit at that time counts as first; of a window that starts with the first debit those decide where it ends.
local function sets(policy, finish, debited_at)
  return not policy.length or debited_at <= finish - policy.length
end

function window.room(policy, state, now)
  return policy.limit - used_at(state, now)
end

function window.allowed_at(_, state)
  return state.finish
end

function window.debit(policy, state, now, permits)
  if used_at(state, now) > 0 then
    local first = sets(policy, state.finish, now) and state.first + permits or state.first
    return { start = state.start, finish = state.finish, used = state.used + permits, first = first }
  end
  return { start = policy.start, finish = policy.finish, used = permits, first = permits }
end

-- Counts only in the window of the debit; the window ends later if it would without the debit: a length after the first of
-- the others, which was no later than now.
function window.refund(policy, state, now, debited_at, permits)
  if now >= state.finish or debited_at < state.start or debited_at >= state.finish then
    return state
  end
  if permits >= state.used then
    return policy.fresh
  end
  local used = state.used - permits
  local first = sets(policy, state.finish, debited_at) and state.first - permits or math.min(state.first, used)
  if first > 0 then
    return { start = state.start, finish = state.finish, used = used, first = first }
  end
  local start, finish = math.max(state.start, now - policy.length), math.max(state.finish, now + policy.length)
  return { start = start, finish = finish, used = used, first = used }
end

-- A window that starts after the next one comes from a clock that has gone back: its permits count in this one.
function window.rebase(policy, state, now)
  if state.start <= now or state.start <= policy.finish then
    return state
  end
  return { start = policy.start, finish = policy.finish, used = state.used, first = state.used }
end

function window.decode(policy, stored)
  local start, finish, used, overdrawn, first = unpack(integers(stored, 3, 2))
  if used < 1 or finish <= start or finish - start > MAX_TTL_MILLIS * 1000 then
    corrupt('no window')
  end
  if first and first >= used or not first and used <= (overdrawn or 0) then
    corrupt('no window')
  end
  used = counted(used, policy.limit, overdrawn)
  first = policy.length and first or used
  return { start = start, finish = finish, used = used, first = math.min(first, used) }
end

function window.encode(policy, state)
  return text(state.start) .. ' ' .. text(state.finish) .. ' ' .. text(state.used) .. behind_count(policy, state)
end
