-- held_slots.lua: whether the slots that one instance holds are still there, for many keys at once. Only reads.
--
-- KEYS  for each key: its notes, its state
-- ARGV  the instance
-- returns now, then for each key: shift and generation of the slots, base of the last slot of the instance, as evaluate.lua answers
--       a look; a generation of -1 if the server's clock went back, so that evaluate.lua has to be asked

local time = redis.pcall('TIME')
if time.err then
  return redis.error_reply(time.err)
end
local now = time[1] * 1000000 + time[2]
-- What is no string is read as if it were absent: whoever reserves the next slot is told.
local values = redis.pcall('MGET', unpack(KEYS))
if values.err then
  return redis.error_reply(values.err)
end
local reply = { string.format('%.0f', now) }
for i = 1, #KEYS, 2 do
  local shift = values[i] and string.match(values[i], '^%d+ %d+ %d+ (%-?%d+)')
  local seen, generation, tails
  if values[i + 1] then
    seen, generation, tails =
      string.match(values[i + 1], '^%d+ %d+ %-?%d+ %-?%d+ (%-?%d+) %d+ %d+ %d+ (%d+)[^|]*|?(.*)$')
  end
  if seen and tonumber(seen) > now then
    generation = '-1'
  end
  local tail = tails and string.match(' ' .. tails, ' ' .. ARGV[1] .. ':(%-?%d+)')
  reply[#reply + 1] = shift or '0'
  reply[#reply + 1] = generation or '0'
  reply[#reply + 1] = tail or '0'
end
return reply
