-- takes.lua: takes of many keys under one GCRA or token bucket that is full when a key is new. Each key is decided by
-- itself, all at one time; nothing special may be about it: where it has notes, or its state is not one or two integers that
-- lie no further ahead than the policy can have caused, nothing is written and the caller asks evaluate.lua instead.
-- So what is wrong with one key harms no other. All are read together, for each command that a script calls costs more than a decision.
--
-- KEYS  the state of the key of each run of takes, then the notes of each. A key may come again in a later run.
-- ARGV  now in microseconds ('' = the server's TIME; tests pass a number), parts per tick, capacity in parts
--       then for each run, or once if they are the same for all: parts that a take costs, number of takes
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
local in_range = now > -2 ^ 52 and now < 2 ^ 52

local runs = #KEYS / 2
-- By run: the state, false if there is none, nil if it must not be decided here.
local states = {}
if runs == 1 then
  if pcall('EXISTS', KEYS[2]) == 0 then
    local stored = pcall('GET', KEYS[1])
    if type(stored) ~= 'table' then
      states[1] = stored
    end
  end
else
  states = pcall('MGET', unpack(KEYS, 1, runs))
  local strings = 0
  for i = 1, runs do
    if states[i] then
      strings = strings + 1
    end
  end
  -- What is no string is read as if it were absent. Where nothing is there but the states that were read, none is special.
  if pcall('EXISTS', unpack(KEYS, strings == runs and runs + 1 or 1)) ~= (strings == runs and 0 or strings) then
    for i = 1, runs do
      if pcall('EXISTS', KEYS[runs + i]) ~= 0 or not states[i] and pcall('EXISTS', KEYS[i]) ~= 0 then
        states[i] = nil
      end
    end
  end
end

local reply = { now }
-- By key: what it owes after a run before; false if that could not be written.
local owed_by = {}
-- Keys that owe the same have the same state.
local written, value, ttl
local per_run = #ARGV > 5 and 2 or 0
for i = 1, runs do
  local key = KEYS[i]
  local allowed, owed = -1, owed_by[key]
  if owed == nil and in_range then
    local stored = states[i]
    if stored then
      local at, parts = match(stored, '^(%d+) ?(%d*)$')
      at, parts = tonumber(at), tonumber(parts) or 0
      if at and at < 2 ^ 52 and parts <= most and (at - now) * per_tick <= most - parts then
        owed = at - now > -most and parts + (at - now) * per_tick or 0
        if owed < 0 then
          owed = 0
        end
      end
    elseif stored == false then
      owed = 0
    end
  end
  if owed then
    local cost, count = tonumber(ARGV[4 + per_run * (i - 1)]), tonumber(ARGV[5 + per_run * (i - 1)])
    local left = most - owed
    allowed = (left - fmod(left, cost)) / cost
    if allowed > count then
      allowed = count
    end
    if allowed > 0 then
      owed = owed + allowed * cost
      if owed ~= written then
        written = owed
        local rest = fmod(owed, per_tick)
        local ticks = (owed - rest) / per_tick
        if rest > 0 then
          value = format('%.0f %.0f', now + ticks, rest)
          ticks = ticks + 1
        else
          value = format('%.0f', now + ticks)
        end
        ttl = format('%.0f', (ticks - 1 - fmod(ticks - 1, 1000)) / 1000 + 2)
      end
      -- The command fails before it writes.
      if pcall('SET', key, value, 'PX', ttl).err then
        allowed, owed = -1, false
      end
      owed_by[key] = owed
    end
  end
  reply[2 * i] = allowed
  reply[2 * i + 1] = owed or 0
end
return reply
