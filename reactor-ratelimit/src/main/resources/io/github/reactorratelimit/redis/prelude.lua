-- prelude.lua: integers, errors and writes for all that is not plain.
--
-- Every number is an integer. Doubles hold those below 2^53 exactly, and ScriptPart.java refuses policies that need more; times
-- lie below 2^52, so that the difference of two is exact too. Numbers leave by text(), which neither rounds nor uses
-- exponents as tostring does, and enter by integer(), which takes nothing but digits. The operator % is not exact
-- for large numbers: math.fmod is.

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
    if string.find(answer.err, 'WRONGTYPE', 1, true) then
      corrupt('another type')
    end
    failure = answer.err
    if string.find(failure, "can't run this command", 1, true) then
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
    local checked = {}
    for i = 1, #writes do
      local name = writes[i][1]
      if not checked[name] and not redis.acl_check_cmd(unpack(writes[i])) then
        fail('NOPERM', "the user has no permissions to run the '" .. string.lower(name) .. "' command; nothing was written")
      end
      checked[name] = true
    end
  end
  for i = 1, #writes do
    run(unpack(writes[i]))
  end
end

-- Permits that can be charged: what is there, below 0 if more are spent, and what may be owed and counted exactly.
local function with_debt(room, most_debt, exact_debt)
  return math.max(0, room + math.min(most_debt, math.max(0, exact_debt)))
end

-- What is stored of a count: what exceeds the limit only if it was overdrawn under the same limit.
local function counted(count, limit, overdrawn)
  return overdrawn == limit and count or math.min(count, limit)
end

-- The integers of a state that consists of `count` of them and of up to `more` others, which are positive, or at least `least`.
local function integers(state, count, more, least)
  local numbers = {}
  for word in string.gmatch(state, '[^ ]+') do
    numbers[#numbers + 1] = integer(word) or corrupt('something else than integers')
  end
  if #numbers < count or #numbers > count + more then
    corrupt('another number of integers')
  end
  for i = count + 1, #numbers do
    if numbers[i] < (least or 1) then
      corrupt('another number of integers')
    end
  end
  return numbers
end

-- What is stored behind a count, if it is overdrawn.
local function overdraft(policy, count)
  return count > policy.limit and ' ' .. text(policy.limit) or ''
end

-- The same of a state whose `first` may be less than what is `used`: then both the limit and that.
local function behind_count(policy, state, has_more)
  if has_more or state.first < state.used then
    return ' ' .. text(policy.limit) .. ' ' .. text(state.first)
  end
  return overdraft(policy, state.used)
end

-- Until the state no longer matters, rounded up. One more, because Redis takes 0 for a mistake and deletes at
-- once what ends with a millisecond that passes meanwhile.
local function ttl_millis(ticks)
  return math.min(ceil_div(ticks, 1000) + 1, MAX_TTL_MILLIS)
end

-- The key at hand: frame.lua. For algorithms `shift`, ticks by which reserved slots were moved, `pause`, its end, and `free_key`.
local NOT_PAUSED = -BEYOND
local key

-- An algorithm is a function in `algorithms`: (parameters) -> policy, a table with what its steps need to know, `form`, the digit
-- that tells its states from others, `fresh`, the state of a key never seen, and `steps`, a table with those of its Java twin:
--   wait, debit, remaining, reset, refund, rebase, chargeable (policy, state, ...) as in Algorithm.java
--   spent(policy, state, now)    what cannot be acquired of what could be when nothing was spent
--   decode(policy, text) -> state
--   encode(policy, state, ttl) -> the text of a state that is not fresh
-- If it `has_log`, a list is its state: decode(policy, _, log_key) reads it, encode(policy, state, ttl, part) writes it.
-- A step returns the next state and leaves the one it was given, or returns that one if nothing changes.
local algorithms = {}

-- The steps of an algorithm that counts permits up to `limit` of its policy, `most` with debts, from two steps:
--   room(policy, state, now)                  what is left of the limit, below 0 if it is overdrawn
--   allowed_at(policy, state, now, permits)   when they are there, if they are not now
local function counting()
  local steps = {}
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

-- By file, what defines its algorithms: only those that a call needs are run.
local loaders = {}
