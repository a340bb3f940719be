-- commands.lua: what the commands do with the parts of a key's policy. The head of frame.lua lists them.
--
-- part: { policy, steps, loaded, state, log_key, beyond }: the state that was stored, and the one that the commands change; what is kept
-- beside it for another policy (level.lua)

-- The most that a step says of any part.
local function most_of(parts, step, at, permits)
  local most = 0
  for i = 1, #parts do
    local part = parts[i]
    most = math.max(most, part.steps[step](part.policy, part.state, at, permits))
  end
  return most
end

-- Takes a step in each part; the most that it counts in any of them.
local function step_all(parts, step, first, second)
  local most = 0
  for i = 1, #parts do
    local part = parts[i]
    local count
    part.state, count = part.steps[step](part.policy, part.state, now, first, second)
    most = math.max(most, count or 0)
  end
  return most
end

-- Debits the permits, or as many as remain; how many.
local function debit_up_to(parts, permits)
  for i = 1, #parts do
    local part = parts[i]
    permits = math.min(permits, part.steps.remaining(part.policy, part.state, now))
  end
  if permits > 0 then
    step_all(parts, 'debit', permits)
  end
  return permits
end

-- Ticks until more than what remains is there; nil if there never is.
local function more_of(parts, at, remaining)
  for i = 1, #parts do
    if remaining >= parts[i].policy.limit then
      return nil
    end
  end
  return most_of(parts, 'wait', at, remaining + 1)
end

-- How the key reads for this many permits: by the part with the longest wait or, if none waits, the one with least remaining; the
-- reset is that of all parts. In a pause all is as when it ends: until then there is nothing. What was done is about 0 permits, and
-- allowed; `reserved_wait` and `allowed` are those of a slot. As the reply has it, and whether it is allowed.
local function read(permits, count, reserved_wait, allowed)
  local parts = key.parts
  local ahead = ticks_until(key.pause, now)
  local at = now + ahead
  local binding, wait, remaining = 0, -1, 0
  for i = 1, #parts do
    local part = parts[i]
    local part_wait = permits == 0 and 0 or part.steps.wait(part.policy, part.state, at, permits)
    local part_remaining = part.steps.remaining(part.policy, part.state, at)
    if part_wait > wait or part_wait == wait and part_remaining < remaining then
      binding, wait, remaining = i, part_wait, part_remaining
    end
  end
  wait = reserved_wait or wait
  local more = wait == 0 and more_of(parts, at, remaining)
  if permits > 0 then
    wait = wait + ahead
  end
  allowed = allowed or wait == 0 and '1' or '0'
  local reading = format(
    '%s %.0f %.0f %.0f %d %s %.0f',
    allowed,
    ahead == 0 and remaining or 0,
    wait,
    most_of(parts, 'reset', at) + ahead,
    binding - 1,
    more and text(more + ahead) or '-',
    count or 0
  )
  return reading, allowed ~= '0'
end

-- The generation of the slots ahead, 0 if there are none.
local function generation_of(part)
  return part.state.reserved and part.state.reserved.generation or 0
end

-- Nothing is spent any more.
local function forget(parts)
  for i = 1, #parts do
    local part = parts[i]
    part.state = part.steps.rebase(part.policy, part.policy.fresh, now)
    part.beyond = nil
  end
end

-- The states that the value holds of other policies: those that no part has read.
local function states_of_others()
  if key.others then
    return key.others
  end
  local others, seen = {}, {}
  key.others = others
  if key.stored_states > key.read_states then
    for form, state, recovered in string.gmatch(key.body, '(%d)([^;@]*)@?([^;]*);?') do
      seen[form] = (seen[form] or 0) + 1
      if seen[form] > (key.forms[form] or 0) then
        others[#others + 1] = { form = form, state = state, recovered = tonumber(recovered) }
      end
    end
  end
  return others
end

-- The same as they are to be stored, for the processes that decide by them, and the ticks until all have recovered. While a value holds
-- the states of one policy, only its time to live says when that is.
local function kept_of_others()
  local others, texts, longest = states_of_others(), {}, 0
  for i = 1, #others do
    local other = others[i]
    texts[i] = other.form
    if other.state ~= '' then
      local left = not other.recovered and run('PTTL', key.name)
      local recovered = other.recovered or now + 1000 * (left < 0 and MAX_TTL_MILLIS or left)
      if recovered > now then
        longest = math.max(longest, recovered - now)
        texts[i] = other.form .. other.state .. '@' .. text(recovered)
      end
    end
  end
  return longest > 0 and texts or {}, longest
end

-- By op, what a command does: (parts, permits, argument, op) -> how the key reads then, and whether it is allowed; nil if as for 0 permits.
local commands = {}

function commands.a(parts, permits)
  if key.pause > now or most_of(parts, 'wait', now, permits) > 0 then
    return read(permits)
  end
  step_all(parts, 'debit', permits)
end

function commands.l(_, permits)
  return read(permits)
end

function commands.u(parts, permits)
  return read(0, key.pause > now and 0 or debit_up_to(parts, permits))
end

function commands.c(parts, permits)
  debit_up_to(parts, permits)
end

-- Each part as far as it goes; how many permits are lost, of the part that lost most. What was carried over to another policy is
-- lost, and the caller may have named the former one: then its reading of the states must not be written. What was reset is back.
function commands.b(parts, permits, argument)
  local debited_at = tonumber(argument)
  if debited_at <= key.carried then
    return read(0, permits)
  end
  key.touched = true
  if debited_at <= key.reset then
    return read(0)
  end
  return read(0, step_all(parts, 'refund', debited_at, permits))
end

-- Each part as many of the permits as it can; how many it could not, of the part that took fewest.
function commands.o(parts, permits, argument)
  local most_left = 0
  for i = 1, #parts do
    local part = parts[i]
    local charged = math.min(permits, part.steps.chargeable(part.policy, part.state, now, tonumber(argument)))
    if charged > 0 then
      part.state = part.steps.debit(part.policy, part.state, now, charged)
    end
    most_left = math.max(most_left, permits - charged)
  end
  return read(0, most_left)
end

function commands.r(parts, permits, argument)
  local part = parts[1]
  local most_wait, generation, instance = match(argument, '^(%d+),(%d+),(%d+)$')
  local wait, state, by_refund =
    part.steps.reserve(part.policy, part.state, now, permits, tonumber(most_wait), tonumber(generation), instance)
  part.state = state or part.state
  -- A pause that follows in the same call moves the slot.
  return read(0, state and now + wait - key.shift, wait, not state and '0' or by_refund and '2' or '1')
end

-- A slot that has passed is a debit as any other, also where the slots of its generation have all passed; unless it may be
-- of the time before a carry-over or a reset, where it became void: then nothing is written, because its policy may be the former one.
function commands.f(parts, permits, argument)
  local part = parts[1]
  local base, generation, by_refund = match(argument, '^(%-?%d+),(%d+),([r-])$')
  base, generation = tonumber(base), tonumber(generation)
  local at = base + key.shift
  local current = generation_of(part)
  local is_its_state = current == generation and current ~= 0
  local void = math.max(key.carried, key.reset)
  local is_debit = generation == 0 or current == 0 and void == NOT_PAUSED
  if is_its_state or at <= now and at > void and is_debit then
    key.touched = true
    part.state = part.steps.free(part.policy, part.state, now, permits, base, by_refund == 'r')
  end
end

-- Also what other policies hold of the key is forgotten. As long as any of it would have mattered, no refund gives it back once more.
function commands.x(parts)
  local _, longest_of_others = kept_of_others()
  local matters = math.max(most_of(parts, 'reset', now), longest_of_others)
  if matters > 0 then
    key.reset, key.refundable = now, math.max(key.refundable, now + matters)
  end
  forget(parts)
  key.others = {}
  key.pause = NOT_PAUSED
end

-- Slots that lay ahead when the pause began are moved with its end, and nothing refills for them meanwhile. Those
-- that were reserved in the pause, when none lay ahead, count on what refills until its end: if that comes earlier,
-- they are void, and who holds them reserves again. So are those that another policy holds.
function commands.p(parts, _, argument, op)
  local length = math.min(tonumber(argument), MAX_TTL_MILLIS * 1000)
  local later = now + length - math.max(now, key.pause)
  if op == 'q' and later <= 0 then
    return
  end
  for _, other in ipairs(states_of_others()) do
    other.state = string.gsub(other.state, ' slots [%d%s|:-]*', '')
  end
  local part = parts[1]
  local reserved = part.state.reserved
  if reserved then
    if key.pause <= now then
      reserved.before = nil
    end
    if later < 0 and reserved.before then
      part.state = { at = reserved.before.at, parts = reserved.before.parts }
    else
      part.state = part.steps.shift(part.state, later)
      key.shift = key.shift + later
    end
  end
  key.pause = length > 0 and now + length or NOT_PAUSED
end

commands.q = commands.p
