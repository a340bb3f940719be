-- evaluate.lua: the asks for one key, worked off in order as one atomic step.
--
-- KEYS  if an epoch is given the notes of the key and, where slots can be reserved, its free slots; then one for
--       each part of the policy, then one for each part of the policy before it
-- ARGV  now in microseconds ('' = the server's TIME; tests pass a number)
--       epoch of the policy ('' = none: no notes are kept, there are no pauses; for tests) and, if it is known, the
--       epoch of the one before it; then, if the key was ever given a policy of its own, the number of the change that the caller
--       knows: o and the number if the policy is the key's own by that change, b and the number if the key is given back by it,
--       k and the number if it is only known; l behind it if changes before it were lost
--       parts, then for each: algorithm, number of parameters, parameters
--       parts of the policy before it (0 = unknown or none), then for each the same
--       then for each ask: op, permits, at
--         t take: debit if all parts allow        l look: as t without the debit
--         b give back what was debited at `at`    c charge: debit what remains of the permits
--         x reset: fresh, not paused              u take up to the permits, as many as there are
--         r reserve, waiting at most `at`         f free the slot `base generation` (reservation.lua)
--         p pause for `at`, 0 ends the pause      m move what was spent under the policy before
--         q pause for `at`, unless paused longer  o overdraw: debit the permits, there or not, with a debt of at most `at`
-- returns now, end of the pause (0 = not paused), shift and generation of the slots, then for each ask:
--       allowed 1|0, remaining, wait, reset (microseconds), index of the part that binds; all as decimal
--       strings. Of a denial and a look for its permits, else for 0. The wait of r is the time until its
--       slot, also if it is allowed; of u it is the number of permits taken, of o of those that were not.
-- errors: RATELIMITCORRUPT  a key holds what is no state of ours
--         RATELIMITWINDOW   now lies in no calendar window that was passed; its time follows
--         RATELIMITEPOCH    another caller came with a newer policy; its epoch follows
--         RATELIMITOWN      the key was given another policy of its own, or has none any more; the number of that change follows
--       and those of the commands. All is read and computed before the first write: after an error nothing
--       has changed.

-- What was written under a policy that nobody knows any more: as if everything was spent.
local function spent_under_an_older_one(before)
  for i = 1, #before do
    if before[i].loaded ~= before[i].policy.fresh then
      return BEYOND
    end
  end
  return 0
end

-- What was spent under the policy before counts as spent under this one, as far as the capacity of each part goes.
local function move(parts, before, now, is_older)
  if before.moved then
    return
  end
  before.moved = true
  local spent = is_older and spent_under_an_older_one(before) or composite.spent(before, now)
  for i = 1, #before do
    local old = before[i]
    old.state = old.policy.fresh
    for j = 1, #parts do
      if parts[j].key == old.key then
        parts[j].state = parts[j].steps.rebase(parts[j].policy, parts[j].policy.fresh, now)
        old.replaced = true
      end
    end
  end
  for i = 1, #parts do
    local part = parts[i]
    local charged = math.min(spent, part.steps.remaining(part.policy, part.state, now))
    if charged > 0 then
      part.state = part.steps.debit(part.policy, part.state, now, charged)
    end
  end
  notes.generation = notes.generation + 1
end

-- What was spent under a policy that nobody knows, wherever its states are: everything.
local function spend_all(parts, before, now)
  before.moved = true
  for i = 1, #parts do
    local part = parts[i]
    local state = part.steps.rebase(part.policy, part.policy.fresh, now)
    local remaining = part.steps.remaining(part.policy, state, now)
    part.state = remaining > 0 and part.steps.debit(part.policy, state, now, remaining) or state
  end
  notes.generation = notes.generation + 1
end

local function reset(parts, now)
  for i = 1, #parts do
    local part = parts[i]
    if part.state.reserved then
      notes.generation = notes.generation + 1
    end
    part.state = part.steps.rebase(part.policy, part.policy.fresh, now)
  end
  notes.pause = NOT_PAUSED
end

-- Slots that lay ahead when the pause began are moved with its end, and nothing refills for them meanwhile. Those
-- that were reserved in the pause, when none lay ahead, count on what refills until its end: if that comes earlier,
-- they are void, and who holds them reserves anew.
local function pause(parts, now, micros)
  local until_now = math.max(now, notes.pause)
  local pause = math.min(micros, MAX_TTL_MILLIS * 1000)
  local part = parts[1]
  local reserved = part.state.reserved
  if reserved then
    local later = now + pause - until_now
    if notes.pause <= now then
      reserved.before = nil
    end
    if later < 0 and reserved.before then
      part.state = { at = reserved.before.at, parts = reserved.before.parts }
      notes.generation = notes.generation + 1
    else
      part.state = part.steps.shift(part.state, later)
      notes.shift = notes.shift + later
    end
  end
  notes.pause = pause > 0 and now + pause or NOT_PAUSED
end

local function take(parts, now, permits)
  if notes.pause > now or composite.wait(parts, now, permits) > 0 then
    return read(parts, now, permits)
  end
  composite.debit(parts, now, permits)
  return read(parts, now, 0)
end

local function take_up_to(parts, now, permits)
  local taken = notes.pause > now and 0 or math.min(permits, composite.remaining(parts, now))
  if taken > 0 then
    composite.debit(parts, now, taken)
  end
  local reading = read(parts, now, 0)
  reading.allowed = '1'
  reading.wait = taken
  return reading
end

local function overdraw(parts, now, permits, most_debt)
  local left = composite.overdraw(parts, now, permits, most_debt)
  local reading = read(parts, now, 0)
  reading.allowed = '1'
  reading.wait = left
  return reading
end

local function reserve(part, now, permits, most_wait)
  local wait, state = part.steps.reserve(part.policy, part.state, now, permits, math.max(now, notes.pause), most_wait)
  local reading = { part = part, wait = wait, allowed = state and '1' or '0' }
  part.state = state or part.state
  reading.remaining = part.steps.remaining(part.policy, part.state, now)
  reading.reset = part.steps.reset(part.policy, part.state, now)
  return reading
end

local function free(part, now, permits, slot)
  local base, generation = string.match(slot, '^(%S+) (%S+)$')
  if tonumber(generation) == notes.generation then
    part.state = part.steps.free(part.policy, part.state, now, permits, tonumber(base))
  end
end

local function answer(op, parts, before, now, permits, at)
  if op == 't' then
    return take(parts, now, permits)
  elseif op == 'l' then
    return read(parts, now, permits)
  elseif op == 'r' then
    return reserve(parts[1], now, permits, tonumber(at))
  elseif op == 'u' then
    return take_up_to(parts, now, permits)
  elseif op == 'o' then
    return overdraw(parts, now, permits, tonumber(at))
  elseif op == 'b' then
    composite.refund(parts, now, tonumber(at), permits)
  elseif op == 'f' then
    free(parts[1], now, permits, at)
  elseif op == 'c' then
    local charged = math.min(permits, composite.remaining(parts, now))
    if charged > 0 then
      composite.debit(parts, now, charged)
    end
  elseif op == 'x' then
    reset(parts, now)
  elseif op == 'p' then
    pause(parts, now, tonumber(at))
  elseif op == 'q' then
    if now + tonumber(at) > math.max(now, notes.pause) then
      pause(parts, now, tonumber(at))
    end
  elseif op == 'm' then
    move(parts, before, now)
  else
    fail('ERR', 'unknown op ' .. op)
  end
  return read(parts, now, 0)
end

-- Epoch, the one before, the number of the change of the key's own policy that is known, how it is known, and whether others were lost.
local function rule_of(argument)
  local epoch = tonumber(argument)
  if epoch or argument == '' then
    return epoch, nil, 0, '', false
  end
  local before, how, own, lost
  epoch, before, how, own, lost = string.match(argument, '^(%d+) ?(%d*) ?([obk]?)(%d*)(l?)$')
  return tonumber(epoch), tonumber(before), tonumber(own) or 0, how, lost == 'l'
end

local function evaluate()
  local now = time_now(ARGV[1])
  local epoch, epoch_before, own, how, is_lost = rule_of(ARGV[2])
  local key = 1
  if epoch then
    load_notes(KEYS[1], epoch, own)
    reservation.key = KEYS[2]
    key = reservation.load and 3 or 2
  end
  local parts, position
  local before = {}
  parts, position, key = load_parts(now, 3, key)
  local asks = skip_parts(position)
  local is_change = how == 'o' or how == 'b'
  -- Who only knows of changes, and of none that rules, would have found the way back of one: it was lost.
  local is_unknown = how == 'k' and notes.given > 0 or is_lost and notes.own > 0 and own > notes.own
  local takes_over = epoch and (epoch > notes.epoch or is_change and own > notes.own or is_unknown)
  -- Only then: under the old parameters the state of the new policy would look wrong, and be mended.
  if takes_over or ARGV[asks] == 'm' then
    before = load_parts(now, position, key)
  end
  position = asks
  if takes_over then
    local is_older = epoch_before and notes.epoch < epoch_before
    notes.epoch = epoch
    notes.own = (is_change or is_unknown) and own or notes.own
    notes.given = how == 'o' and 1 or 0
    if is_unknown then
      spend_all(parts, before, now)
    elseif #before > 0 then
      move(parts, before, now, is_older)
    end
  end
  local reply = { text(now) }
  local size = 4
  for i = position, #ARGV, 3 do
    local reading = answer(ARGV[i], parts, before, now, tonumber(ARGV[i + 1]), ARGV[i + 2])
    reply[size + 1] = reading.allowed or (reading.wait == 0 and '1' or '0')
    reply[size + 2] = text(reading.remaining)
    reply[size + 3] = text(reading.wait)
    reply[size + 4] = text(reading.reset)
    reply[size + 5] = reading.part.index
    size = size + 5
  end
  reply[2] = text(notes.pause > now and notes.pause or 0)
  reply[3] = text(notes.shift)
  reply[4] = text(notes.generation)
  for i = 1, #before do
    save(before[i], now)
  end
  for i = 1, #parts do
    save(parts[i], now)
  end
  if epoch then
    save_notes(KEYS[1], now, parts)
  end
  return reply
end

local done, result = pcall(evaluate)
if done then
  return result
end
return redis.error_reply(failure or 'ERR ' .. tostring(result))
