-- fast_gcra.lua: the short way for what is asked most: permits of one GCRA or token bucket, and nothing special
-- about the key. Redis builds every function of a script anew for every call, and the whole script has many; so
-- it follows in one function, which is built but not run where the short way leads to the end.
--
-- Takes the short way only if: the policy has one part, which is full when a key is new; there was no policy
-- before; all asks are takes; the key has no notes; its state is one or two integers that lie no further ahead
-- than the policy can have caused. Whoever is sent the long way has written nothing yet.
-- Answers and writes exactly what evaluate.lua does, with the steps of level.lua and gcra.lua written out:
-- TwinTest drives both ways.

local function take_the_short_way()
  local pcall, format, fmod = redis.pcall, string.format, math.fmod
  if ARGV[3] ~= '1' or ARGV[4] ~= 'gcra' or ARGV[9] ~= '0' or ARGV[11] ~= '0' then
    return nil
  end
  for i = 12, #ARGV, 3 do
    if ARGV[i] ~= 't' then
      return nil
    end
  end
  local key = KEYS[1]
  if ARGV[2] ~= '' then
    if ARGV[2] ~= '0' or pcall('EXISTS', key) ~= 0 then
      return nil
    end
    key = KEYS[3]
  end
  local now = tonumber(ARGV[1])
  if not now then
    local time = pcall('TIME')
    if time.err then
      return nil
    end
    now = time[1] * 1000000 + time[2]
  end
  if math.abs(now) >= 2 ^ 52 then
    return nil
  end
  local per_tick, per_permit, capacity = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
  local most = capacity * per_permit
  local owed = 0
  local stored = pcall('GET', key)
  if stored then
    if type(stored) ~= 'string' then
      return nil
    end
    local at, parts = string.match(stored, '^(%d+) ?(%d*)$')
    if not at or #at > 15 and tonumber(at) >= 2 ^ 52 then
      return nil
    end
    local ahead = tonumber(at) - now
    owed = tonumber(parts) or 0
    if ahead * per_tick > most - owed or owed > most then
      return nil
    elseif ahead > -most then
      owed = math.max(0, owed + ahead * per_tick)
    else
      owed = 0
    end
  end
  local reply = { format('%.0f', now), '0', '0', '0', '0', '0' }
  local taken = false
  for i = 13, #ARGV, 3 do
    local size = #reply
    local after = owed + tonumber(ARGV[i]) * per_permit
    local excess = after - most
    if excess <= 0 then
      owed = after
      taken = true
      reply[size + 1] = '1'
      reply[size + 3] = '0'
    else
      reply[size + 1] = '0'
      reply[size + 3] = format('%.0f', (excess - 1 - fmod(excess - 1, per_tick)) / per_tick + 1)
    end
    local left = most - owed
    reply[size + 2] = format('%.0f', (left - fmod(left, per_permit)) / per_permit)
    reply[size + 4] = owed == 0 and '0' or format('%.0f', (owed - 1 - fmod(owed - 1, per_tick)) / per_tick + 1)
    reply[size + 5] = '0'
    local missing = per_permit - fmod(left, per_permit) - 1
    reply[size + 6] = excess <= 0 and format('%.0f', (missing - fmod(missing, per_tick)) / per_tick + 1) or ''
  end
  if taken then
    local rest = fmod(owed, per_tick)
    local ticks = (owed - rest) / per_tick
    local value = format('%.0f', now + ticks)
    if rest > 0 then
      value = value .. format(' %.0f', rest)
      ticks = ticks + 1
    end
    local set = pcall('SET', key, value, 'PX', format('%.0f', (ticks - 1 - fmod(ticks - 1, 1000)) / 1000 + 2))
    if set.err then
      return nil
    end
  end
  return reply
end
