-- joint.lua: takes of several keys, all or nothing, as one atomic step: worked off in order, and nothing is
-- written if one is denied. Answers as evaluate.lua would to one take after the other.
--
-- KEYS  for each ask: the notes of the key, where slots can be reserved its free slots, one for each part
--       of its policy. No key may appear twice.
-- ARGV  now in microseconds ('' = the server's TIME; tests pass a number)
--       then for each ask: permits, epoch, parts, then for each part: algorithm, number of parameters, parameters
-- returns now, number of asks answered: up to the first that is denied, then for each ask allowed 1|0, remaining,
--       wait, reset, index of the part that binds, more, as in evaluate.lua; zeros for those not answered
-- errors: as in evaluate.lua

-- What evaluate.lua keeps of one key is kept of each.
local function copy_of(values)
  local copied = {}
  for name, value in pairs(values) do
    copied[name] = value
  end
  return copied
end

local NO_NOTES = copy_of(notes)

local function enter(entry)
  for name, value in pairs(entry.notes) do
    notes[name] = value
  end
  noted = entry.noted
  reservation.key = entry.free_slots
end

local function load_entry(now, position, key)
  local entry = { permits = tonumber(ARGV[position]), key = KEYS[key], notes = NO_NOTES }
  local epoch = tonumber(ARGV[position + 1])
  key = key + 1
  if reservation.load then
    entry.free_slots = KEYS[key]
    key = key + 1
  end
  enter(entry)
  load_notes(entry.key, epoch)
  notes.epoch = math.max(notes.epoch, epoch)
  entry.parts, position, key = load_parts(now, position + 2, key)
  entry.notes = copy_of(notes)
  entry.noted = noted
  return entry, position, key
end

-- Allowed, or not; and what is told of it.
local function take(entry, now)
  local parts = entry.parts
  if notes.pause > now or composite.wait(parts, now, entry.permits) > 0 then
    return false, read(parts, now, entry.permits)
  end
  composite.debit(parts, now, entry.permits)
  return true, read(parts, now, 0)
end

local function save_all(entries, now)
  for i = 1, #entries do
    local entry = entries[i]
    enter(entry)
    for j = 1, #entry.parts do
      save(entry.parts[j], now)
    end
    save_notes(entry.key, now, entry.parts)
  end
end

local function take_all()
  local now = time_now(ARGV[1])
  local entries = {}
  local position, key = 2, 1
  while position <= #ARGV do
    entries[#entries + 1], position, key = load_entry(now, position, key)
  end
  local reply = { text(now) }
  local answered = 0
  local allowed = true
  for i = 1, #entries do
    local reading
    if allowed then
      enter(entries[i])
      allowed, reading = take(entries[i], now)
      answered = i
    end
    local size = 6 * i - 4
    reply[size + 1] = reading and allowed and '1' or '0'
    reply[size + 2] = reading and text(reading.remaining) or '0'
    reply[size + 3] = reading and text(reading.wait) or '0'
    reply[size + 4] = reading and text(reading.reset) or '0'
    reply[size + 5] = reading and reading.part.index or '0'
    reply[size + 6] = reading and reading.more and text(reading.more) or ''
  end
  reply[2] = text(answered)
  if allowed then
    save_all(entries, now)
    flush()
  end
  return reply
end

local done, result = pcall(take_all)
if done then
  return result
end
return redis.error_reply(failure or 'ERR ' .. tostring(result))
