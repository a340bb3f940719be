-- policies.lua: the policies of a limiter by their epochs, for processes that have to follow a newer one.
--
-- KEYS[1] a hash: epoch -> the policy as PolicyText.java writes it
-- ARGV    epoch and policy of the caller; epoch 0 = it has none, and only reads
--         for a change also the policy that is to rule from now on, in place of the newest that is there, or else the caller's
-- returns { epoch, policy, epoch, policy, ... } as they are then
-- errors: RATELIMITCORRUPT  the key holds something else
-- The first who comes with an epoch says what it means. The two newest are kept: the policy and the one before.
-- A change leaves both, whoever comes later and whatever it was built with; to what rules already there is none.

local KEPT = 2

local function register(key, epoch, policy)
  local flat = command('HGETALL', key)
  local epochs = { epoch }
  for i = 1, #flat, 2 do
    local known = integer(flat[i]) or corrupt('something else than epochs')
    if known ~= epoch then
      epochs[#epochs + 1] = known
    end
  end
  table.sort(epochs, function(a, b)
    return a > b
  end)
  for i = 1, #epochs do
    if i > KEPT then
      command('HDEL', key, text(epochs[i]))
    elseif epochs[i] == epoch then
      command('HSETNX', key, text(epoch), policy)
    end
  end
end

local function change(key, epoch, policy, to)
  local flat = command('HGETALL', key)
  local newest, ruling = epoch, policy
  for i = 1, #flat, 2 do
    local known = integer(flat[i]) or corrupt('something else than epochs')
    if known >= newest then
      newest, ruling = known, flat[i + 1]
    end
  end
  if ruling ~= to then
    register(key, newest, ruling)
    register(key, newest + 1, to)
  end
end

local function policies()
  local epoch = tonumber(ARGV[1])
  if ARGV[3] then
    change(KEYS[1], epoch, ARGV[2], ARGV[3])
  elseif epoch > 0 then
    register(KEYS[1], epoch, ARGV[2])
  end
  return command('HGETALL', KEYS[1])
end

local done, result = pcall(policies)
if done then
  return result
end
return redis.error_reply(failure or 'ERR ' .. tostring(result))
