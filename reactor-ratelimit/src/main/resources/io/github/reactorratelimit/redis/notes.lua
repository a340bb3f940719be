-- notes.lua: what is known of a key beside its states: the epoch of the policy that rules it, its pause, and
-- what became of slots that were reserved. Most keys have none, and then nothing is stored.
--
-- stored: epoch, time of writing, end of the pause, shift
-- shift: ticks by which all slots were moved since; a slot is known by its base, its time less the shift, so
--        that those who hold it find it again after a pause
-- They are kept as long as a slot may lie ahead, and rewritten before that ends.

local REWRITE_AFTER = 30000000
local KEPT_AT_LEAST = 60000000

local NOT_PAUSED = -BEYOND

local notes = { epoch = 0, written = 0, pause = NOT_PAUSED, shift = 0 }
local noted

local function load_notes(key, epoch)
  local numbers = load_integers(key, 4)
  if numbers then
    notes.epoch, notes.written, notes.pause, notes.shift = unpack(numbers)
    if notes.epoch > epoch then
      fail('RATELIMITEPOCH', text(notes.epoch))
    end
  end
  noted = numbers
end

local function is_noted(now)
  return noted[1] == notes.epoch
    and noted[3] == math.max(0, notes.pause)
    and noted[4] == notes.shift
    and now - notes.written < REWRITE_AFTER
end

local function ttl_of_notes(now, parts)
  local matters = ticks_until(notes.pause, now)
  for i = 1, #parts do
    matters = math.max(matters, parts[i].steps.reset(parts[i].policy, parts[i].state, now))
  end
  return ttl_millis(KEPT_AT_LEAST + matters)
end

local function is_changed(parts)
  for i = 1, #parts do
    if parts[i].state ~= parts[i].loaded then
      return true
    end
  end
  return false
end

local function save_notes(key, now, parts)
  if noted and is_noted(now) then
    -- A state must not outlive its notes: an older policy would take it for its own, slots would be found elsewhere.
    if is_changed(parts) then
      command('PEXPIRE', key, text(ttl_of_notes(now, parts)))
    end
    return
  end
  local is_plain = notes.epoch == 0 and notes.pause == NOT_PAUSED
  if not noted and is_plain and notes.shift == 0 then
    return
  end
  local values = { notes.epoch, now, math.max(0, notes.pause), notes.shift }
  for i = 1, #values do
    values[i] = text(values[i])
  end
  save_text(key, table.concat(values, ' '), ttl_of_notes(now, parts))
end
