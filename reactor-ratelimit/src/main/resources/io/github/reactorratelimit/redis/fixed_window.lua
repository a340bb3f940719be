-- fixed_window.lua: the fixed window. Twin of WindowAlgorithm.java and WindowGrid.java: change both, or
-- neither.
--
-- parameters: limit, where windows lie, and their length. They lie from the epoch on: 0; or each from its first request on: 1. Those
--   of a calendar, 2, have no length: there follow the start of the first window that the caller knows, and the ends of all.
-- policy: limit, and the window of now: start, length; `moves` if it starts with the first debit
-- state: start, length, used, later (those of them that were debited later than a length before the end: the others decide
--   where a window that moves ends)
-- error RATELIMITWINDOW and the time, if that lies in no window that the caller knows

local window = counting({
  form = '4',
  parameters = { 'limit', 'kind', 'length' },
  fields = { 'start', 'length', 'used', 'later' },
  counts = { 'used' },
  fresh = { start = -BEYOND, length = 0, used = 0, later = 0 },
  most = BEYOND - 1,
})
algorithms.fixed_window = window

local EPOCH, FIRST_REQUEST = 0, 1

function window.complete(policy)
  policy.moves = policy.kind == FIRST_REQUEST
  if policy.kind == EPOCH then
    policy.start = now - floor_mod(now, policy.length)
  elseif policy.moves then
    policy.start = now
  else
    local start, i = policy.length, 4
    while policy[i] and policy[i] <= now do
      start, i = policy[i], i + 1
    end
    if start > now or not policy[i] then
      fail('RATELIMITWINDOW', text(now))
    end
    policy.start, policy.length = start, policy[i] - start
  end
end

local function used_at(state, now)
  return now < state.start + state.length and state.used or 0
end

-- Whether a debit at that time counts as later.
local function is_later(policy, state, debited_at)
  return policy.moves and debited_at > state.start + state.length - policy.length
end

function window.room(policy, state, now)
  return policy.limit - used_at(state, now)
end

function window.allowed_at(_, state)
  return state.start + state.length
end

function window.debit(policy, state, now, permits)
  if used_at(state, now) > 0 then
    local later = is_later(policy, state, now) and state.later + permits or state.later
    return { start = state.start, length = state.length, used = state.used + permits, later = later }
  end
  return { start = policy.start, length = policy.length, used = permits, later = 0 }
end

-- Counts only in the window of the debit; the window ends later if it would without the debit: a length after the first of
-- the others, which was no later than now.
function window.refund(policy, state, now, debited_at, permits)
  local start, finish = state.start, state.start + state.length
  if now >= finish or debited_at < start or debited_at >= finish then
    return state
  end
  if permits >= state.used then
    return policy.fresh
  end
  local used, later = state.used - permits, state.later
  if is_later(policy, state, debited_at) then
    later = math.max(0, later - permits)
  end
  if later >= used then
    start, finish = math.max(start, now - policy.length), math.max(finish, now + policy.length)
    later = 0
  end
  return { start = start, length = finish - start, used = used, later = later }
end

-- A window that starts after the next one comes from a clock that has gone back: its permits count in this one.
function window.rebase(policy, state, now)
  if state.start <= now or state.start <= policy.start + policy.length then
    return state
  end
  return { start = policy.start, length = policy.length, used = state.used, later = 0 }
end

function window.fits(policy, state)
  local is_window = state.length > 0 and state.length <= MAX_TTL_MILLIS * 1000 and state.later < state.used
  state.later = policy.moves and state.later or 0
  return is_window
end
