-- prelude.lua: integers, errors and writes for all that is not plain.
--
-- Every number is an integer. Doubles hold those below 2^53 exactly, and ScriptPart.java refuses policies that need more; times
-- lie below 2^52, so that the difference of two is exact too. Numbers leave by text(), which neither rounds nor uses
-- exponents as tostring does, and enter by integer(), which takes nothing but digits. The operator % is not exact
-- for large numbers: math.fmod is.

local find = string.find
local FORMAT = '1'
local BEYOND = 2 ^ 53
local MOST_TIME = 2 ^ 52
-- Twice the longest window a policy may have, 366 days: the longest that a state matters.
local MAX_TTL_MILLIS = 2 * 366 * 86400 * 1000

-- The error of the key at hand, code first. Kept here, because what pcall makes of an error differs from version to version.
local failure

local function fail(code, message)
  failure = code .. ' ' .. message
  error(failure)
end

local function corrupt(found)
  fail('RATELIMITCORRUPT', 'the key holds ' .. found .. ', which is no state of this limiter')
end

-- Adding 0 turns a negative zero into a plain one.
local function text(number)
  return format('%.0f', number + 0)
end

-- nil if it is not the decimal form of an exact integer
local function integer(stored)
  local number = type(stored) == 'string' and match(stored, '^-?%d+$') and tonumber(stored)
  return number and math.abs(number) < BEYOND and number or nil
end

-- Division of integers that are not negative, rounded down and up.
local function floor_div(dividend, divisor)
  return (dividend - fmod(dividend, divisor)) / divisor
end

local function ceil_div(dividend, divisor)
  if dividend == 0 then
    return 0
  end
  return floor_div(dividend - 1, divisor) + 1
end

-- The remainder that is not negative, also for times before the epoch.
local function floor_mod(dividend, divisor)
  local rest = fmod(dividend, divisor)
  return rest < 0 and rest + divisor or rest
end

-- Ticks from one time to a later one, 0 if that is past.
local function ticks_until(to, from)
  return math.max(0, to - from)
end

-- The error becomes that of the key, under its own code in every version of Redis. Redis 7.0 and earlier do not name the
-- command that a user may not run.
local function run(name, ...)
  local answer = pcall(name, ...)
  if type(answer) == 'table' and answer.err then
    if find(answer.err, 'WRONGTYPE', 1, true) then
      corrupt('another type')
    end
    failure = answer.err
    if find(failure, "can't run this command", 1, true) then
      failure = failure .. ": run the '" .. string.lower(name) .. "' command"
    end
    error(failure)
  end
  return answer
end

-- What follows the format version.
local function body_of(stored)
  local version = match(stored, '^%d') or corrupt('something else than a state')
  if version ~= FORMAT then
    fail('RATELIMITFORMAT', 'the key has format ' .. version)
  end
  return string.sub(stored, 2)
end

-- Writes that did not run yet: they run when all is computed.
local pending = {}

local function write(...)
  pending[#pending + 1] = { ... }
end

-- Runs the writes: all, or none if the user may not run one of them. Redis 6 cannot tell beforehand.
local function flush()
  local writes = pending
  pending = {}
  if redis.acl_check_cmd and #writes > 1 then
    for _, command in ipairs(writes) do
      if not redis.acl_check_cmd(unpack(command)) then
        local name = string.lower(command[1])
        fail('NOPERM', "the user has no permissions to run the '" .. name .. "' command; nothing was written")
      end
    end
  end
  for _, command in ipairs(writes) do
    run(unpack(command))
  end
end

-- Permits that can be charged: what is there, below 0 if more are spent, and what may be owed and counted exactly.
local function with_debt(room, most_debt, exact_debt)
  return math.max(0, room + math.min(most_debt, math.max(0, exact_debt)))
end

-- Until the state no longer matters, rounded up. One more, because Redis takes 0 for a mistake and deletes at
-- once what ends with a millisecond that passes meanwhile.
local function ttl_millis(ticks)
  return math.min(ceil_div(ticks, 1000) + 1, MAX_TTL_MILLIS)
end

-- The key at hand: frame.lua. For algorithms `shift`, ticks by which reserved slots were moved, `pause`, its end, and `free_key`.
local NOT_PAUSED = -BEYOND
local key

-- An algorithm is a table in `algorithms`, the `steps` of its policies:
--   form         the digit that tells its states from others
--   parameters   the names under which a policy has its parameters
--   fields       the names of a state's integers as they are stored: a time, and what is not negative
--   fresh        the state of a key never seen
--   counts       those that are cut to `most_stored` of the policy, by default its limit, unless they were overdrawn under the
--                same terms(policy), a text
--   most         what a policy can count, debts included
--   complete(policy)   sets what else the steps need to know
--   wait, debit, remaining, reset, refund, rebase, chargeable (policy, state, ...)   as in Algorithm.java
--   spent(policy, state, now)   what cannot be acquired of what could be when nothing was spent
--   fits(policy, state)         false of what is stored and cannot be; may make it fit
-- A list is the state of one that `has_log`: decode(policy, log_key) reads it, encode(policy, state, ttl, part) writes it.
-- A step returns the next state and leaves the one it was given, or returns that one if nothing changes.
local algorithms = {}

-- An algorithm that counts permits up to `limit` of its policy, `most` with debts, from two steps:
--   room(policy, state, now)                  what is left of the limit, below 0 if it is overdrawn
--   allowed_at(policy, state, now, permits)   when they are there, if they are not now
local function counting(steps)
  function steps.terms(policy)
    return text(policy.limit)
  end
  function steps.wait(policy, state, now, permits)
    if permits <= steps.room(policy, state, now) then
      return 0
    end
    return ticks_until(steps.allowed_at(policy, state, now, permits), now)
  end
  function steps.remaining(policy, state, now)
    return math.max(0, steps.room(policy, state, now))
  end
  function steps.spent(policy, state, now)
    return policy.limit - steps.remaining(policy, state, now)
  end
  function steps.chargeable(policy, state, now, most_debt)
    return with_debt(steps.room(policy, state, now), most_debt, policy.most - policy.limit)
  end
  function steps.reset(policy, state, now)
    return steps.wait(policy, state, now, policy.limit)
  end
  return steps
end

-- Integers by their names, in that order, as they are stored: without zeros at the end.
local function words_of(values, names)
  local words, last = {}, #names
  while last > 1 and values[names[last]] == 0 do
    last = last - 1
  end
  for i = 1, last do
    words[i] = text(values[names[i]])
  end
  return table.concat(words, ' ')
end

local function integers(stored, names)
  local values, count = {}, 0
  for word in string.gmatch(stored, '[^ ]+') do
    count = count + 1
    values[names[count] or corrupt('too many integers')] = integer(word) or corrupt('something else than integers')
  end
  for i = count + 1, #names do
    values[names[i]] = 0
  end
  return values
end

-- A state as it is stored: its integers; if it is overdrawn `over` and the terms behind them.
local function encode(policy, state)
  local steps, over = policy.steps, ''
  for i = 1, #steps.counts do
    if state[steps.counts[i]] > (policy.most_stored or policy.limit) then
      over = ' over ' .. steps.terms(policy)
    end
  end
  return words_of(state, steps.fields) .. over
end

local function decode(policy, stored)
  local steps = policy.steps
  local over = find(stored, ' over ', 1, true)
  local terms = over and (match(stored, '^[%d ]+$', over + 6) or corrupt('something else than integers'))
  local state = integers(over and string.sub(stored, 1, over - 1) or stored, steps.fields)
  for i = 2, #steps.fields do
    if state[steps.fields[i]] < 0 then
      corrupt('an integer below 0')
    end
  end
  if steps.fits and not steps.fits(policy, state) then
    corrupt('a state that cannot be')
  end
  for i = 1, #steps.counts do
    local name = steps.counts[i]
    local excess = state[name] - (policy.most_stored or policy.limit)
    if excess > 0 and terms ~= steps.terms(policy) then
      state[name] = state[name] - excess
      state.later = state.later and math.max(0, state.later - excess)
    end
  end
  return state
end

-- By file, what defines its algorithms: only those that a call needs are run.
local loaders = {}
