-- prelude.lua: integers, stored values and errors, in front of all that RedisScript.java assembles.
--
-- Every number is an integer. Doubles hold those below 2^53 exactly, and RedisScript's callers refuse
-- policies that need more; times lie below 2^52, so that the difference of two is exact too.
-- Numbers leave by text(), which neither rounds nor takes to exponents as tostring does, and enter by
-- integer(), which takes nothing but digits. The operator % is not exact for large numbers: math.fmod is.
--
-- An algorithm is a function in `algorithms`: (parameters, now) -> policy, a table with what its steps need
-- to know, `fresh`, the state of a key never seen, and `steps`, a table with those of its Java twin:
--   wait, debit, remaining, reset, refund, rebase, chargeable (policy, state, ...) as in Algorithm.java
--   load(key, policy) -> the stored state, policy.fresh if there is none
--   save(key, policy, state, ttl) -> writes a state that is not fresh
-- A step returns the next state and leaves the one it was given, or returns that one if nothing changes.
--
-- Redis builds all of this anew for every call: a function more is a fraction of a microsecond more.

local algorithms = {}

-- What a script knows of slots ahead: nothing, unless reservation.lua is part of it.
local reservation = {}

local BEYOND = 2 ^ 53
local MOST_TIME = 2 ^ 52
-- Twice the longest window a policy may have, 366 days: the longest that a state matters.
local MAX_TTL_MILLIS = 2 * 366 * 86400 * 1000

-- The error that the script answers, code first. Kept here, because what pcall makes of an error differs
-- from version to version.
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
  return string.format('%.0f', number + 0)
end

-- nil if it is not the decimal form of an exact integer
local function integer(value)
  if type(value) == 'string' and string.find(value, '^-?%d+$') then
    local number = tonumber(value)
    if number > -BEYOND and number < BEYOND then
      return number
    end
  end
  return nil
end

-- Division of integers that are not negative, rounded down and up.
local function floor_div(dividend, divisor)
  return (dividend - math.fmod(dividend, divisor)) / divisor
end

local function ceil_div(dividend, divisor)
  if dividend == 0 then
    return 0
  end
  return floor_div(dividend - 1, divisor) + 1
end

-- The remainder that is not negative, also for times before the epoch.
local function floor_mod(dividend, divisor)
  local rest = math.fmod(dividend, divisor)
  if rest < 0 then
    return rest + divisor
  end
  return rest
end

-- Ticks from one time to a later one, 0 if that is past.
local function ticks_until(to, from)
  return math.max(0, to - from)
end

-- The error becomes the answer of the script, under its own code in every version of Redis. Redis 7.0 and earlier do not name the
-- command that a user may not run.
local function run(name, ...)
  local reply = redis.pcall(name, ...)
  if type(reply) == 'table' and reply.err then
    if string.find(reply.err, 'WRONGTYPE', 1, true) then
      corrupt('another type')
    end
    failure = reply.err
    if string.find(failure, "can't run this command", 1, true) then
      failure = failure .. ": run the '" .. string.lower(name) .. "' command"
    end
    error(failure)
  end
  return reply
end

-- Writes that did not run yet, and their keys.
local pending = {}
local touched = {}

-- Runs the writes: all, or none if the user may not run one of them. Redis 6 cannot tell beforehand.
local function flush()
  local writes = pending
  pending, touched = {}, {}
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

-- A command. One that writes runs with the others when the script has computed everything and calls flush(), or before its key is read.
local function command(name, key, ...)
  if
    name == 'SET'
    or name == 'PEXPIRE'
    or name == 'DEL'
    or name == 'RPUSH'
    or name == 'LTRIM'
    or name == 'ZADD'
    or name == 'ZREM'
    or name == 'HSETNX'
    or name == 'HDEL'
  then
    pending[#pending + 1] = { name, key, ... }
    touched[key] = true
    return nil
  end
  if not key then
    return run(name)
  end
  if touched[key] then
    flush()
  end
  return run(name, key, ...)
end

-- Permits that can be charged: what is there, below 0 if more are spent, and what may be owed and counted exactly.
local function with_debt(room, most_debt, exact_debt)
  return math.max(0, room + math.min(most_debt, math.max(0, exact_debt)))
end

-- What is stored of a count: what exceeds the limit only if it was overdrawn under the same limit.
local function counted(count, limit, overdrawn)
  if overdrawn == limit then
    return count
  end
  return math.min(count, limit)
end

-- The integers of a stored string that consists of `count` of them, nil if there is none; of up to `more` others, which are positive:
-- of one where that is the limit that was overdrawn.
local function load_integers(key, count, more)
  local stored = command('GET', key)
  if not stored then
    return nil
  end
  local numbers = {}
  for word in string.gmatch(stored, '[^ ]+') do
    numbers[#numbers + 1] = integer(word) or corrupt('something else than integers')
  end
  if #numbers < count or #numbers > count + (more or 0) then
    corrupt('another number of integers')
  end
  for i = count + 1, #numbers do
    if numbers[i] <= 0 then
      corrupt('another number of integers')
    end
  end
  return numbers
end

-- What is stored behind a count, if it is overdrawn.
local function overdraft(count, limit)
  return count > limit and ' ' .. text(limit) or ''
end

local function save_text(key, value, ttl)
  command('SET', key, value, 'PX', text(ttl))
end

-- Until the state no longer matters, rounded up. One more, because Redis takes 0 for a mistake and deletes at
-- once what ends with a millisecond that passes meanwhile.
local function ttl_millis(ticks)
  return math.min(ceil_div(ticks, 1000) + 1, MAX_TTL_MILLIS)
end
