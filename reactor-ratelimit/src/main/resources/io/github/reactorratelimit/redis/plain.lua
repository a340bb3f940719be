-- plain.lua: the beginning of the script. Reads the arguments and all values, and decides the plain keys: acquires of one GCRA or
-- token bucket that is full when a key is new, for a key without pause, policy version and slots. The head of frame.lua
-- lists the arguments and replies. All values are read together, because a command costs more than a decision. Redis builds
-- each function again for each call, so what plain keys do not need comes behind.
--
-- Plain keys are decided and written exactly as by frame.lua with level.lua, whose steps are written out here; CommandTwinTest compares.
-- BucketRate.java works out what the reply does not say of each acquire.

local lua_pcall = pcall
local pcall, format, fmod, match, tonumber = redis.pcall, string.format, math.fmod, string.match, tonumber

local now = tonumber(ARGV[1])
if not now then
  local time = pcall('TIME')
  if time.err then
    return redis.error_reply(time.err)
  end
  now = time[1] * 1000000 + time[2]
end
if now <= -2 ^ 52 or now >= 2 ^ 52 then
  return redis.error_reply('ERR time is not below 2^52')
end

local policies, atomic = match(ARGV[2], '^(%d+)(a?)$')
policies = tonumber(policies)
local entries_from = 3 + policies
-- One entry for all keys.
local shared = #ARGV == entries_from and ARGV[entries_from]

-- By policy: parts per tick, parts per permit and the most parts that can be owed, of buckets alone.
local per_tick_of, per_permit_of, most_of = {}, {}, {}
for i = 1, policies do
  local per_tick, per_permit, capacity = match(ARGV[2 + i], '^0,%-,1 level 0 (%d+) (%d+) (%d+) 0 0$')
  if per_tick then
    per_tick_of[i], per_permit_of[i] = tonumber(per_tick), tonumber(per_permit)
    most_of[i] = tonumber(capacity) * per_permit_of[i]
  end
end

-- By entry: its policy, how many keys follow the value's, and, if it is plain, the number of acquires and their permits.
local parsed = {}
local function parse(entry)
  local policy, count, permits = match(entry, '^(%d+) a(%d*) (%d+) %-$')
  local known = { more = 0 }
  if policy then
    known.policy, known.count, known.permits = tonumber(policy), tonumber(count) or 1, tonumber(permits)
    known.plain = atomic == '' and most_of[known.policy]
  else
    local more
    policy, more = match(entry, '^(%d+)(%+?)')
    known.policy = tonumber(policy)
    if more == '+' then
      known.more = tonumber(match(ARGV[2 + known.policy], '^%d+,[%d%-]+,(%d+)'))
    end
  end
  parsed[entry] = known
  return known
end

-- By key: its entry, where its name lies in KEYS, and the names.
local entries, positions, names = {}, {}, KEYS
if shared and (parsed[shared] or parse(shared)).more == 0 then
  for i = 1, #KEYS do
    entries[i], positions[i] = shared, i
  end
else
  names = {}
  local position = 1
  while position <= #KEYS do
    local i = #names + 1
    local entry = shared or ARGV[entries_from + i - 1]
    entries[i], positions[i], names[i] = entry, position, KEYS[position]
    position = position + 1 + (parsed[entry] or parse(entry)).more
  end
end

-- By key: its value, false if there is none, nil if it is no string or cannot be read.
local values
if #names == 1 then
  local stored = pcall('GET', names[1])
  values = {}
  if type(stored) ~= 'table' then
    values[1] = stored
  end
else
  values = pcall('MGET', unpack(names))
  if values.err then
    return redis.error_reply(values.err)
  end
  local absent = {}
  for i = 1, #names do
    if not values[i] then
      absent[#absent + 1] = names[i]
    end
  end
  -- What is no string is read as if it were absent.
  if #absent > 0 and pcall('EXISTS', unpack(absent)) ~= 0 then
    for i = 1, #names do
      if not values[i] and pcall('EXISTS', names[i]) ~= 0 then
        values[i] = nil
      end
    end
  end
end

local reply = { now }
-- Keys that are not plain.
local others = {}
-- Keys that owe the same have the same value.
local written, written_policy, value, ttl
for i = 1, #names do
  local entry = parsed[entries[i]]
  local policy = entry.policy
  local most = entry.plain
  local owed
  local stored = values[i]
  if not most then
    owed = nil
  elseif stored then
    local at, parts = match(stored, '^11(%d+) ?(%d*)$')
    at, parts = tonumber(at), tonumber(parts) or 0
    if at and at < 2 ^ 52 and parts <= most and (at - now) * per_tick_of[policy] <= most - parts then
      owed = at - now > -most and parts + (at - now) * per_tick_of[policy] or 0
      if owed < 0 then
        owed = 0
      end
    end
  elseif stored == false then
    owed = 0
  end
  if owed then
    local per_tick, cost = per_tick_of[policy], entry.permits * per_permit_of[policy]
    local left = most - owed
    local allowed = (left - fmod(left, cost)) / cost
    if allowed > entry.count then
      allowed = entry.count
    end
    if allowed > 0 then
      owed = owed + allowed * cost
      if owed ~= written or policy ~= written_policy then
        written, written_policy = owed, policy
        local rest = fmod(owed, per_tick)
        local ticks = (owed - rest) / per_tick
        if rest > 0 then
          value = format('11%.0f %.0f', now + ticks, rest)
          ticks = ticks + 1
        else
          value = format('11%.0f', now + ticks)
        end
        ttl = format('%.0f', (ticks - 1 - fmod(ticks - 1, 1000)) / 1000 + 2)
      end
      if pcall('SET', names[i], value, 'PX', ttl).err then
        -- frame.lua tries it again and replies with the error.
        others[#others + 1] = i
      end
    end
    reply[2 * i], reply[2 * i + 1] = allowed, owed
  else
    others[#others + 1] = i
  end
end
if #others == 0 then
  return reply
end
