-- takes.lua: takes of many keys under one GCRA or token bucket that is full when a key is new. Each key is decided by
-- itself, all at one time; nothing special may be about it: where it has notes, or its state is not one or two integers that
-- lie no further ahead than the policy can have caused, nothing is written and the caller asks evaluate.lua instead.
-- So what is wrong with one key harms no other. All are read together, for each command that a script calls costs more than a decision.
--
-- KEYS  for each run of takes: the state of the key, its notes. A key may come again in a later run.
-- ARGV  now in microseconds ('' = the server's TIME; tests pass a number), parts per tick, capacity in parts
--       then for each run: parts that a take costs, number of takes
-- returns now, then for each run: takes that are allowed (the first ones; -1 = not decided), parts owed after them.
--       All are integers below 2^53, which Redis passes on as they are.
-- Decides and writes exactly what evaluate.lua does, with the steps of level.lua and gcra.lua written out; what it does not
-- say of each take TakeTerms.java works out. TakesTwinTest compares.

local pcall, format, fmod, match, tonumber = redis.pcall, string.format, math.fmod, string.match, tonumber
local now = tonumber(ARGV[1])
if not now then
  local time = pcall('TIME')
  if time.err then
    return redis.error_reply(time.err)
  end
  now = time[1] * 1000000 + time[2]
end
local per_tick, most = tonumber(ARGV[2]), tonumber(ARGV[3])
local reply = { now }
local in_range = now > -2 ^ 52 and now < 2 ^ 52

-- By key: the state, false if there is none, nil if it must not be decided here.
local states = {}
if #KEYS == 2 then
  if pcall('EXISTS', KEYS[2]) == 0 then
    local stored = pcall('GET', KEYS[1])
    if type(stored) ~= 'table' then
      states[KEYS[1]] = stored
    end
  end
else
  local names, notes, absent = {}, {}, {}
  for i = 1, #KEYS, 2 do
    names[#names + 1] = KEYS[i]
    notes[#notes + 1] = KEYS[i + 1]
  end
  local none_has_notes = pcall('EXISTS', unpack(notes)) == 0
  local stored = pcall('MGET', unpack(names))
  for i = 1, #names do
    local name, state = names[i], stored[i]
    if none_has_notes or pcall('EXISTS', notes[i]) == 0 then
      states[name] = state
      if not state then
        absent[#absent + 1] = name
      end
    end
  end
  -- What is no string is read as if it were absent.
  if #absent > 0 and pcall('EXISTS', unpack(absent)) ~= 0 then
    for i = 1, #absent do
      if pcall('EXISTS', absent[i]) ~= 0 then
        states[absent[i]] = nil
      end
    end
  end
end

for i = 1, #KEYS, 2 do
  local key = KEYS[i]
  local stored = states[key]
  local allowed, owed = -1, 0
  if not in_range or stored == nil then
    allowed = -1
  elseif not stored then
    allowed = 0
  else
    local at, parts = match(stored, '^(%d+) ?(%d*)$')
    if at and (#at <= 15 or tonumber(at) < 2 ^ 52) then
      local ahead = tonumber(at) - now
      owed = tonumber(parts) or 0
      if owed <= most and ahead * per_tick <= most - owed then
        allowed = 0
        owed = ahead > -most and owed + ahead * per_tick or 0
        if owed < 0 then
          owed = 0
        end
      end
    end
  end
  if allowed == 0 then
    local cost, count = tonumber(ARGV[i + 3]), tonumber(ARGV[i + 4])
    local left = most - owed
    allowed = (left - fmod(left, cost)) / cost
    if allowed > count then
      allowed = count
    end
    if allowed > 0 then
      owed = owed + allowed * cost
      local rest = fmod(owed, per_tick)
      local ticks = (owed - rest) / per_tick
      local value
      if rest > 0 then
        value = format('%.0f %.0f', now + ticks, rest)
        ticks = ticks + 1
      else
        value = format('%.0f', now + ticks)
      end
      -- The command fails before it writes.
      if pcall('SET', key, value, 'PX', format('%.0f', (ticks - 1 - fmod(ticks - 1, 1000)) / 1000 + 2)).err then
        allowed = -1
        states[key] = nil
      else
        states[key] = value
      end
    end
  end
  reply[i + 1] = allowed
  reply[i + 2] = allowed >= 0 and owed or 0
end
return reply
