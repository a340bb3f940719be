-- notes.lua: what is known of a key beside its states: the epoch of the policy that rules it, its pause, and
-- what became of slots that were reserved. Most keys have none, and then nothing is stored.
--
-- stored: epoch, time of writing, end of the pause, shift, generation and, if the key was ever given a policy of its own, the
--        number of the last change of that which has reached it (own_policies.lua), and 1 if its states are those of such a policy
-- shift: ticks by which all slots were moved since; a slot is known by its base, its time less the shift, so
--        that those who hold it find it again after a pause
-- generation: counts what made all slots void: a reset, another policy
-- They are kept as long as a slot may lie ahead, and rewritten before that ends.

local REWRITE_AFTER = 30000000
local KEPT_AT_LEAST = 60000000

local NOT_PAUSED = -BEYOND

local notes = { epoch = 0, written = 0, pause = NOT_PAUSED, shift = 0, generation = 0, own = 0, given = 0 }
local noted

-- own: the number of the last change of the key's own policy that the caller knows, 0 if none
local function load_notes(key, epoch, own)
  local numbers = load_integers(key, 5, 2)
  if numbers then
    notes.epoch, notes.written, notes.pause, notes.shift, notes.generation = unpack(numbers)
    notes.own = numbers[6] or 0
    notes.given = numbers[7] or 0
    if notes.own > own then
      fail('RATELIMITOWN', text(notes.own))
    end
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
    and noted[5] == notes.generation
    and (noted[6] or 0) == notes.own
    and (noted[7] or 0) == notes.given
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
  local is_plain = notes.epoch == 0 and notes.own == 0 and notes.pause == NOT_PAUSED
  if not noted and is_plain and notes.shift == 0 and notes.generation == 0 then
    return
  end
  local values = { notes.epoch, now, math.max(0, notes.pause), notes.shift, notes.generation }
  if notes.own > 0 then
    values[6] = notes.own
    values[7] = notes.given > 0 and notes.given or nil
  end
  for i = 1, #values do
    values[i] = text(values[i])
  end
  save_text(key, table.concat(values, ' '), ttl_of_notes(now, parts))
end
