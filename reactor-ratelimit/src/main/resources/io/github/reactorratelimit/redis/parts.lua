-- parts.lua: the parts of a policy in Redis: loaded, read and saved. Used by evaluate.lua and joint.lua.

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

-- The position behind parts that nobody needs.
local function skip_parts(position)
  local count = tonumber(ARGV[position])
  position = position + 1
  for _ = 1, count do
    position = position + 2 + tonumber(ARGV[position + 1])
  end
  return position
end

-- The parts, loaded and brought to now, and the positions behind them in ARGV and KEYS.
local function load_parts(now, position, key)
  local parts = {}
  local count = tonumber(ARGV[position])
  position = position + 1
  for i = 1, count do
    local algorithm = algorithms[ARGV[position]] or fail('ERR', 'unknown algorithm ' .. ARGV[position])
    local parameters = {}
    for j = 1, tonumber(ARGV[position + 1]) do
      parameters[j] = tonumber(ARGV[position + 1 + j])
    end
    local policy = algorithm(parameters, now)
    local steps = policy.steps
    local loaded = steps.load(KEYS[key], policy)
    if count > 1 then
      -- Of a policy before, whose slots were void when it became one of several parts.
      loaded.reserved = nil
    end
    local state = steps.rebase(policy, loaded, now)
    parts[i] = { key = KEYS[key], index = text(i - 1), policy = policy, steps = steps, loaded = loaded, state = state }
    position = position + 2 + #parameters
    key = key + 1
  end
  return parts, position, key
end

-- As of the end of the pause: until then there is nothing.
local function read(parts, now, permits)
  local ahead = ticks_until(notes.pause, now)
  local reading = composite.read(parts, now + ahead, permits)
  if ahead > 0 then
    reading.remaining = 0
    reading.reset = reading.reset + ahead
    reading.more = reading.more and reading.more + ahead
    if permits > 0 then
      reading.wait = reading.wait + ahead
    end
  end
  return reading
end

local function save(part, now)
  if part.state == part.loaded or part.replaced then
    return
  end
  if part.state == part.policy.fresh then
    command('DEL', part.key)
  else
    local ttl = ttl_millis(part.steps.reset(part.policy, part.state, now))
    part.steps.save(part.key, part.policy, part.state, ttl, now)
  end
end
