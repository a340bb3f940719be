-- evaluate.lua: the asks for one key, worked off in order as one atomic step.
--
-- KEYS  one for each part of the policy
-- ARGV  now in microseconds ('' = the server's TIME; tests pass a number)
--       parts, then for each: algorithm, number of parameters, parameters
--       then for each ask: op, permits, at
--         t take: debit if all parts allow        l look: as t without the debit
--         b give back what was debited at `at`    c charge: debit what remains of the permits
--         x reset: fresh
-- returns now, then for each ask: allowed 1|0, remaining, wait, reset (microseconds), index of the part that
--       binds; all as decimal strings. Of a denial and a look for its permits, else for 0.
-- errors: RATELIMITCORRUPT  a key holds what is no state of ours
--         RATELIMITWINDOW   now lies in no calendar window that was passed; its time follows
--       and those of the commands. All is read and computed before the first write: after an error nothing
--       has changed.

local MOST_TIME = 2 ^ 52

local function time_now(given)
  local now
  if given == '' then
    local time = command('TIME')
    now = tonumber(time[1]) * 1000000 + tonumber(time[2])
  else
    now = argument(given)
  end
  if math.abs(now) >= MOST_TIME then
    fail('ERR', 'time is not below 2^52: ' .. text(now))
  end
  return now
end

-- The parts, loaded, and the position of the first ask in ARGV.
local function load_parts(now)
  local parts = {}
  local position = 3
  for i = 1, argument(ARGV[2]) do
    local algorithm = algorithms[ARGV[position]] or fail('ERR', 'unknown algorithm ' .. tostring(ARGV[position]))
    local parameters = {}
    for j = 1, argument(ARGV[position + 1]) do
      parameters[j] = argument(ARGV[position + 1 + j])
    end
    local policy = algorithm.policy(parameters, now)
    local state = algorithm.load(KEYS[i], policy)
    parts[i] = { algorithm = algorithm, policy = policy, key = KEYS[i], loaded = state, state = state }
    position = position + 2 + #parameters
  end
  return parts, position
end

local ops = {}

function ops.t(parts, now, permits)
  if composite.wait(parts, now, permits) > 0 then
    return composite.read(parts, now, permits)
  end
  composite.debit(parts, now, permits)
  return composite.read(parts, now, 0)
end

function ops.l(parts, now, permits)
  return composite.read(parts, now, permits)
end

function ops.b(parts, now, permits, at)
  composite.refund(parts, now, at, permits)
  return composite.read(parts, now, 0)
end

function ops.c(parts, now, permits)
  local charged = math.min(permits, composite.remaining(parts, now))
  if charged > 0 then
    composite.debit(parts, now, charged)
  end
  return composite.read(parts, now, 0)
end

function ops.x(parts, now)
  composite.reset(parts)
  return composite.read(parts, now, 0)
end

local function save_parts(parts, now)
  for _, part in ipairs(parts) do
    if part.state == part.policy.fresh and part.state ~= part.loaded then
      command('DEL', part.key)
    elseif part.state ~= part.loaded then
      local ttl = ttl_millis(part.algorithm.reset(part.policy, part.state, now))
      part.algorithm.save(part.key, part.policy, part.state, ttl)
    end
  end
end

local function evaluate()
  local now = time_now(ARGV[1])
  local parts, position = load_parts(now)
  composite.rebase(parts, now)
  local reply = { text(now) }
  for i = position, #ARGV, 3 do
    local op = ops[ARGV[i]] or fail('ERR', 'unknown op ' .. ARGV[i])
    local reading = op(parts, now, argument(ARGV[i + 1]), argument(ARGV[i + 2]))
    reply[#reply + 1] = reading.wait == 0 and '1' or '0'
    reply[#reply + 1] = text(reading.remaining)
    reply[#reply + 1] = text(reading.wait)
    reply[#reply + 1] = text(reading.reset)
    reply[#reply + 1] = text(reading.index)
  end
  save_parts(parts, now)
  return reply
end

local done, result = pcall(evaluate)
if done then
  return result
end
return redis.error_reply(failure or 'ERR ' .. tostring(result))
