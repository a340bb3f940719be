-- evaluate.lua: the asks for one key, worked off in order as one atomic step.
--
-- KEYS  one for each part of the policy
-- ARGV  now in microseconds ('' = the server's TIME; tests pass a number)
--       parts, then for each: algorithm, number of parameters, parameters
--       then for each ask: op, permits, at
--         t take: debit if all parts allow        l look: as t without the debit
--         b give back what was debited at `at`    c charge: debit what remains of the permits
--         x reset: fresh
--         u take up to: debit what is there of the permits; allowed, and how many in the place of the wait
-- returns now, then for each ask: allowed 1|0, remaining, wait, reset (microseconds), index of the part that
--       binds; all as decimal strings. Of a denial and a look for its permits, else for 0.
-- errors: RATELIMITCORRUPT  a key holds what is no state of ours
--         RATELIMITWINDOW   now lies in no calendar window that was passed; its time follows
--       and those of the commands. All is read and computed before the first write: after an error nothing
--       has changed.

local MOST_TIME = 2 ^ 52

local function time_now(given)
  local now = tonumber(given)
  if not now then
    local time = command('TIME')
    now = time[1] * 1000000 + time[2]
  end
  if math.abs(now) >= MOST_TIME then
    fail('ERR', 'time is not below 2^52: ' .. text(now))
  end
  return now
end

-- The parts, loaded and brought to now, and the position of the first ask in ARGV.
local function load_parts(now)
  local parts = {}
  local position = 3
  for i = 1, tonumber(ARGV[2]) do
    local algorithm = algorithms[ARGV[position]] or fail('ERR', 'unknown algorithm ' .. ARGV[position])
    local count = tonumber(ARGV[position + 1])
    local parameters = {}
    for j = 1, count do
      parameters[j] = tonumber(ARGV[position + 1 + j])
    end
    local policy = algorithm(parameters, now)
    local steps = policy.steps
    local loaded = steps.load(KEYS[i], policy)
    local state = steps.rebase(policy, loaded, now)
    parts[i] = { key = KEYS[i], index = text(i - 1), policy = policy, steps = steps, loaded = loaded, state = state }
    position = position + 2 + count
  end
  return parts, position
end

local function answer(op, parts, now, permits, at)
  if op == 't' then
    if composite.wait(parts, now, permits) > 0 then
      return composite.read(parts, now, permits)
    end
    composite.debit(parts, now, permits)
  elseif op == 'u' then
    local taken = math.min(permits, composite.remaining(parts, now))
    if taken > 0 then
      composite.debit(parts, now, taken)
    end
    local reading = composite.read(parts, now, 0)
    reading.taken = taken
    return reading
  elseif op == 'l' then
    return composite.read(parts, now, permits)
  elseif op == 'b' then
    composite.refund(parts, now, at, permits)
  elseif op == 'c' then
    local charged = math.min(permits, composite.remaining(parts, now))
    if charged > 0 then
      composite.debit(parts, now, charged)
    end
  elseif op == 'x' then
    for i = 1, #parts do
      local part = parts[i]
      part.state = part.steps.rebase(part.policy, part.policy.fresh, now)
    end
  else
    fail('ERR', 'unknown op ' .. op)
  end
  return composite.read(parts, now, 0)
end

local function save(part, now)
  if part.state == part.loaded then
    return
  end
  if part.state == part.policy.fresh then
    command('DEL', part.key)
  else
    local ttl = ttl_millis(part.steps.reset(part.policy, part.state, now))
    part.steps.save(part.key, part.policy, part.state, ttl)
  end
end

local function evaluate()
  local now = time_now(ARGV[1])
  local parts, position = load_parts(now)
  local reply = { text(now) }
  for i = position, #ARGV, 3 do
    local reading = answer(ARGV[i], parts, now, tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]))
    local size = #reply
    reply[size + 1] = reading.wait == 0 and '1' or '0'
    reply[size + 2] = text(reading.remaining)
    reply[size + 3] = text(reading.taken or reading.wait)
    reply[size + 4] = text(reading.reset)
    reply[size + 5] = reading.part.index
  end
  for i = 1, #parts do
    save(parts[i], now)
  end
  return reply
end

local done, result = pcall(evaluate)
if done then
  return result
end
return redis.error_reply(failure or 'ERR ' .. tostring(result))
