-- evaluate.lua: the asks for one key, worked off in order as one atomic step.
--
-- KEYS  if an epoch is given the notes of the key and, where slots can be reserved, its free slots; then one for
--       each part of the policy, then one for each part of the policy before it
-- ARGV  now in microseconds ('' = the server's TIME; tests pass a number)
--       epoch of the policy ('' = none: no notes are kept, there are no pauses; for tests) and, if it is known, the
--       epoch of the one before it
--       parts, then for each: algorithm, number of parameters, parameters
--       parts of the policy before it (0 = unknown or none), then for each the same
--       then for each ask: op, permits, at
--         t take: debit if all parts allow        l look: as t without the debit; `at` is 0, or the instance that looks
--         b give back what was debited at `at`    c charge: debit what remains of the permits
--         x reset: fresh, not paused              u take up to the permits, as many as there are
--         r reserve: `longest-wait generation instance`, the generation if no slots are ahead (reservation.lua)
--         f free the slot `base generation`, and ` r` if refunds paid for it
--         p pause for `at`, 0 ends the pause      m move what was spent under the policy before
--         q pause for `at`, unless paused longer  o overdraw: debit the permits, there or not, with a debt of at most `at`
-- returns now, end of the pause (0 = not paused), shift and generation of the slots (0 = none ahead), base of the last slot of the
--       instance before the call (0 = none), 1 if free slots are left to collapse, else 0, then for each ask:
--       allowed 1|0, remaining, wait, reset (microseconds), index of the part that binds, time until more
--       remains ('' if denied or unknown); all as decimal strings. Of a denial and a look for its permits,
--       else for 0. The wait of r is the time until its slot, also if it is allowed, which is 2 if refunds pay for it; of u it is the number
--       of permits taken, of o of those that were not, of b of those that are lost.
-- errors: RATELIMITCORRUPT  a key holds what is no state of ours
--         RATELIMITWINDOW   now lies in no calendar window that was passed; its time follows
--         RATELIMITEPOCH    another caller came with a newer policy; its epoch follows
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

-- Slots of a policy that ruled before the one before do not hold any more.
local function void(state)
  return state.reserved and reservation.void(state) or state
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
    part.state = void(part.state)
    local charged = math.min(spent, part.steps.remaining(part.policy, part.state, now))
    if charged > 0 then
      part.state = part.steps.debit(part.policy, part.state, now, charged)
    end
  end
end

local function reset(parts, now)
  for i = 1, #parts do
    local part = parts[i]
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

local function refund(parts, now, debited_at, permits)
  local lost = composite.refund(parts, now, debited_at, permits)
  local reading = read(parts, now, 0)
  reading.allowed = '1'
  reading.wait = lost
  return reading
end

local function overdraw(parts, now, permits, most_debt)
  local left = composite.overdraw(parts, now, permits, most_debt)
  local reading = read(parts, now, 0)
  reading.allowed = '1'
  reading.wait = left
  return reading
end

local function reserve(part, now, permits, at)
  local most_wait, generation, instance = string.match(at, '^(%d+) (%d+) (%d+)$')
  most_wait, generation = tonumber(most_wait), tonumber(generation)
  local from = math.max(now, notes.pause)
  local wait, state, by_refund =
    part.steps.reserve(part.policy, part.state, now, permits, from, most_wait, generation, instance)
  local reading = { part = part, wait = wait, allowed = not state and '0' or by_refund and '2' or '1' }
  part.state = state or part.state
  reading.remaining = part.steps.remaining(part.policy, part.state, now)
  reading.reset = part.steps.reset(part.policy, part.state, now)
  reading.more = state and wait == 0 and composite.more({ part }, now, reading.remaining) or nil
  return reading
end

-- The generation of the slots ahead, 0 if there are none.
local function generation_of(part)
  return part.state.reserved and part.state.reserved.generation or 0
end

-- A slot that has passed is a debit as any other where the slots of its generation have all passed.
local function free(part, now, permits, slot)
  local base, generation, by_refund = string.match(slot, '^(%S+) (%S+) ?(r?)$')
  base, generation = tonumber(base), tonumber(generation)
  local current = generation_of(part)
  local is_debit = base + notes.shift <= now and (current == 0 or generation == 0)
  if is_debit or current == generation then
    part.state = part.steps.free(part.policy, part.state, now, permits, base, by_refund == 'r')
  end
end

-- The instance whose tail is asked for, nil if none is.
local function instance_of(op, at)
  local instance = op == 'r' and string.match(at, '(%d+)$') or op == 'l' and at
  return instance ~= '0' and instance or nil
end

local function answer(op, parts, before, now, permits, at)
  if op == 't' then
    return take(parts, now, permits)
  elseif op == 'l' then
    return read(parts, now, permits)
  elseif op == 'r' then
    return reserve(parts[1], now, permits, at)
  elseif op == 'u' then
    return take_up_to(parts, now, permits)
  elseif op == 'o' then
    return overdraw(parts, now, permits, tonumber(at))
  elseif op == 'b' then
    return refund(parts, now, tonumber(at), permits)
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

-- Epoch of the policy and of the one before it; nil if not given.
local function epochs_of(argument)
  local epoch, before = string.match(argument, '^(%d+) ?(%d*)$')
  return tonumber(epoch), tonumber(before)
end

local function evaluate()
  local now = time_now(ARGV[1])
  local epoch, epoch_before = epochs_of(ARGV[2])
  local key = 1
  if epoch then
    load_notes(KEYS[1], epoch)
    reservation.key = KEYS[2]
    key = reservation.load and 3 or 2
  end
  local parts, position
  local before = {}
  parts, position, key = load_parts(now, 3, key)
  local asks = skip_parts(position)
  local takes_over = epoch and epoch > notes.epoch
  -- Only then: under the old parameters the state of the new policy would look wrong, and be mended.
  if takes_over or ARGV[asks] == 'm' then
    before = load_parts(now, position, key)
  end
  position = asks
  if takes_over then
    local is_older = epoch_before and notes.epoch < epoch_before
    notes.epoch = epoch
    if #before > 0 then
      move(parts, before, now, is_older)
    end
  end
  local first = parts[1]
  local loaded = first.loaded.reserved
  if first.state.reserved then
    first.state = reservation.settle(first.policy, first.state, now)
  end
  local reply = { text(now) }
  local size = 6
  local tail, instance = 0, nil
  for i = position, #ARGV, 3 do
    if loaded and not instance then
      instance = instance_of(ARGV[i], ARGV[i + 2])
      tail = instance and reservation.tail(loaded, instance) or 0
    end
    local reading = answer(ARGV[i], parts, before, now, tonumber(ARGV[i + 1]), ARGV[i + 2])
    reply[size + 1] = reading.allowed or (reading.wait == 0 and '1' or '0')
    reply[size + 2] = text(reading.remaining)
    reply[size + 3] = text(reading.wait)
    reply[size + 4] = text(reading.reset)
    reply[size + 5] = reading.part.index
    reply[size + 6] = reading.more and text(reading.more) or ''
    size = size + 6
  end
  reply[2] = text(notes.pause > now and notes.pause or 0)
  reply[3] = text(notes.shift)
  reply[4] = text(generation_of(first))
  reply[5] = text(tail)
  reply[6] = text(first.state.reserved and first.state.reserved.more or 0)
  for i = 1, #before do
    save(before[i], now)
  end
  for i = 1, #parts do
    save(parts[i], now)
  end
  if epoch then
    save_notes(KEYS[1], now, parts)
  end
  flush()
  return reply
end

local done, result = pcall(evaluate)
if done then
  return result
end
return redis.error_reply(failure or 'ERR ' .. tostring(result))
