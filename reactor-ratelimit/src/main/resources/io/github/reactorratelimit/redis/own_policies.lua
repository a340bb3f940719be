-- own_policies.lua: the policies that single keys of a limiter were given, for all its processes.
--
-- KEYS[1] the policies of the limiter by their epochs, as policies.lua keeps them
-- KEYS[2] a hash: key -> the number of its last change, a line break, and what OwnRecord.java writes
-- KEYS[3] the version: the number of the last change of any key
-- ARGV    the version that the caller knows
--         for a change also: the key, the number of its last change as the caller knows it (0 = it has none), the epoch that
--         the caller knows, the most keys that may have one, and what is to be written ('' = nothing, the key is left out)
--         or, if a change has reached a key and is not registered: the key and the number of that change
-- returns { d done | s not done, because the caller is behind, or ahead of what was lost | f not done, because there are too many, version,
--         then key, number and what is written, for all keys, unless the caller knows that version }
-- errors: RATELIMITCORRUPT  a key holds something else
-- A number is larger than all before it, also than those that were lost: it is the time, or one more than the last.

local function newest_epoch()
  local newest = 0
  local flat = command('HGETALL', KEYS[1])
  for i = 1, #flat, 2 do
    newest = math.max(newest, integer(flat[i]) or corrupt('something else than epochs'))
  end
  return newest
end

-- The number of the last change of a key, of how many keys there is one, and what is written of it behind the number.
local function number_of(key)
  local number = 0
  local written
  local flat = command('HGETALL', KEYS[2])
  for i = 1, #flat, 2 do
    if flat[i] == key then
      number = integer(string.match(flat[i + 1], '^[^\n]*')) or corrupt('something else than numbers')
      written = string.match(flat[i + 1], '\n(.*)$')
    end
  end
  return number, #flat / 2, written
end

local function register(version, key, written)
  local time = command('TIME')
  version = math.max(version + 1, time[1] * 1000000 + time[2])
  command('SET', KEYS[3], text(version))
  command('HDEL', KEYS[2], key)
  if written ~= '' then
    command('HSETNX', KEYS[2], key, text(version) .. '\n' .. written)
  end
  return version
end

local function write(version)
  local key, written = ARGV[2], ARGV[6]
  local number, count = number_of(key)
  local is_lost = version < tonumber(ARGV[1])
  if is_lost or number ~= tonumber(ARGV[3]) or newest_epoch() > tonumber(ARGV[4]) then
    return 's', version
  end
  if number == 0 and count >= tonumber(ARGV[5]) then
    return 'f', version
  end
  return 'd', register(version, key, written)
end

-- A change that has reached a key was lost. What is registered of the key, or that nothing is, counts from now on, under a number that is
-- larger: so all who know of the lost change hear of it.
local function mend(version)
  local key, reached = ARGV[2], tonumber(ARGV[3])
  local number, _, written = number_of(key)
  if number > reached or number == 0 and version > reached then
    return version
  end
  written = written and string.gsub(written, '^(%d+\n%l+)\n', '%1 lost\n') or ''
  return register(math.max(version, reached), key, written)
end

local function own_policies()
  local stored = load_integers(KEYS[3], 1)
  local version = stored and stored[1] or 0
  local status = 'd'
  if ARGV[4] then
    status, version = write(version)
  elseif ARGV[2] then
    version = mend(version)
  end
  local reply = { status, text(version) }
  if version ~= tonumber(ARGV[1]) then
    local flat = command('HGETALL', KEYS[2])
    for i = 1, #flat do
      reply[i + 2] = flat[i]
    end
  end
  return reply
end

local done, result = pcall(own_policies)
if done then
  return result
end
return redis.error_reply(failure or 'ERR ' .. tostring(result))
