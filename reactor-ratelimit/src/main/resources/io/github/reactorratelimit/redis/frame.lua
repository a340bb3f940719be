-- frame.lua: all commands of a call. Each key is decided by itself, its commands in order, as one atomic step, all at one time; or all
-- keys together.
--
-- KEYS  for each key: its value; if its entry says `+`, the keys that hold more of it: freed slots (`:free`) if its policy or the
--       predecessor reserves slots, then the lists of its logs (`:log`). No key appears twice.
-- ARGV  now in microseconds ('' = the server's TIME; tests pass a number)
--       number of policies, then `a` if the keys are decided together: all are debited, or none
--       policies: `version,version of the predecessor or -,number of keys that hold more`, a blank and the parts; then `|` and the
--         parts of the predecessor, if it is known. Parts have `;` between: algorithm and parameters with blanks between.
--       for each key, or once for all keys: number of its policy, `+` if the keys that hold more follow, then for each
--         command ` op permits argument`, with a number behind op if so many equal ones follow each other:
--           a acquire: debit if all parts allow      l peek: as a without the debit; argument: the instance that holds slots, or -
--           u acquire up to the permits              b refund what was debited at argument
--           c charge as many of them as remain       o charge the permits, there or not, with a debt of at most argument
--           r reserve: `longest wait,generation if no slots are ahead,instance` (reservation.lua)
--           f free the slot `base,generation,r` if refunds paid for it, else `base,generation,-`
--           p pause for argument, 0 ends the pause   q as p, unless paused for longer
--           x reset: fresh, not paused               m carry over what was spent under the predecessor
--         of concurrency.lua t, w, e, n; of versions.lua v, g
-- returns now, then for each key two values:
--       of plain acquires (plain.lua) how many are allowed, the first ones, and the parts owed after them: integers
--       of others a string and 0: end of the pause (0 = not paused), shift and generation of the slots (0 = none ahead), base of the last
--         slot of the instance before the call (0 = none), `m` if freed slots are left to collapse, `w` if a waiter exists, else -; then for
--         each command `|` and: allowed 1|0 (2 = reserved, refunds pay for it), remaining, wait, reset (microseconds), index of
--         the part that binds, time until more remains or -, and a count: permits acquired by u, lost by b, not charged by o.
--         A denial and a peek are about their permits, the others about 0.
--         Decided together, keys behind the first denial get an empty string.
--       of a key that fails `-`, a code and a message; nothing is written for it. RATELIMITCORRUPT: it holds what is no state of ours.
--         RATELIMITFORMAT: it was written by a newer release. RATELIMITWINDOW: now, which follows, lies in no calendar window that was
--         passed. RATELIMITVERSION: it is under a newer policy version, which follows. Others are those of Redis.
--
-- A value is a format version, 1; then, if there is more to say than the states, `|pause version shift carried|`; then for each part the
-- digit of its form and its state, with `;` between. The algorithms say what a state is.
-- All is read and computed before the first write of a key.

-- The shift of slots is kept so much longer than anything else matters, for those who hold them.
local KEPT_LONGER = 60000000

local FILES = {
  gcra = 'level',
  leaky_bucket = 'level',
  epoch_window = 'fixed_window',
  first_request_window = 'fixed_window',
  calendar_window = 'fixed_window',
}

local function policies_of(part_texts)
  local found = {}
  for part in string.gmatch(part_texts, '[^;]+') do
    local name, words = match(part, '^(%S+)(.*)$')
    local parameters = {}
    for word in string.gmatch(words, '%S+') do
      parameters[#parameters + 1] = word == 'now' and now or tonumber(word)
    end
    if not algorithms[name] then
      local loader = loaders[FILES[name] or name] or fail('ERR', 'unknown algorithm ' .. name)
      loader()
    end
    found[#found + 1] = algorithms[name](parameters, now)
  end
  return found
end

-- By number: the policies that were needed.
local known = {}
local function policy_of(number)
  local policy = known[number]
  if not policy then
    local version, version_before, parts, before = match(ARGV[2 + number], '^(%d+),([%d%-]+),%d+ ([^|]*)|?(.*)$')
    policy = {
      version = tonumber(version),
      version_before = tonumber(version_before),
      parts = policies_of(parts),
      before = before,
    }
    known[number] = policy
  end
  return policy
end

local function commands_of(entry)
  local commands = parsed[entry].commands
  if not commands then
    commands = {}
    for op, count, permits, argument in string.gmatch(entry, ' (%a)(%d*) (%d+) (%S+)') do
      local command = { op = op, permits = tonumber(permits), argument = argument }
      for _ = 1, tonumber(count) or 1 do
        commands[#commands + 1] = command
      end
    end
    parsed[entry].commands = commands
  end
  return commands
end

-- The longest wait of all parts.
local function wait_of(parts, at, permits)
  local most = 0
  for i = 1, #parts do
    local part = parts[i]
    most = math.max(most, part.steps.wait(part.policy, part.state, at, permits))
  end
  return most
end

local function debit(parts, permits)
  for i = 1, #parts do
    local part = parts[i]
    part.state = part.steps.debit(part.policy, part.state, now, permits)
  end
end

-- Debits the permits, or as many as remain; how many.
local function debit_up_to(parts, permits)
  for i = 1, #parts do
    local part = parts[i]
    permits = math.min(permits, part.steps.remaining(part.policy, part.state, now))
  end
  if permits > 0 then
    debit(parts, permits)
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
  return wait_of(parts, at, remaining + 1)
end

local function binds(wait, remaining, other)
  if wait == other.wait then
    return remaining < other.remaining
  end
  return wait > other.wait
end

-- The part with the longest wait or, if none waits, the one with least remaining; the reset is that of all parts. In a pause
-- all is as when it ends: until then there is nothing.
local function read(parts, permits)
  local ahead = ticks_until(key.pause, now)
  local at = now + ahead
  local binding
  local reset = 0
  for i = 1, #parts do
    local part = parts[i]
    local wait = permits == 0 and 0 or part.steps.wait(part.policy, part.state, at, permits)
    local remaining = part.steps.remaining(part.policy, part.state, at)
    reset = math.max(reset, part.steps.reset(part.policy, part.state, at))
    if not binding or binds(wait, remaining, binding) then
      binding = { part = i, wait = wait, remaining = remaining }
    end
  end
  binding.reset = reset
  binding.more = binding.wait == 0 and more_of(parts, at, binding.remaining) or nil
  if ahead > 0 then
    binding.remaining = 0
    binding.reset = reset + ahead
    binding.more = binding.more and binding.more + ahead
    if permits > 0 then
      binding.wait = binding.wait + ahead
    end
  end
  return binding
end

-- Done, with a count.
local function done(parts, count)
  local reading = read(parts, 0)
  reading.allowed = '1'
  reading.count = count
  return reading
end

local function acquire(parts, permits)
  if key.pause > now or wait_of(parts, now, permits) > 0 then
    return read(parts, permits)
  end
  debit(parts, permits)
  return read(parts, 0)
end

-- Each part as far as it goes; how many permits are lost, of the part that lost most. What was carried over to another policy is
-- lost, and the caller may have named the former one: then its reading of the states must not be written.
local function refund(parts, debited_at, permits)
  if debited_at <= key.carried then
    return done(parts, permits)
  end
  key.touched = true
  local most_lost = 0
  for i = 1, #parts do
    local part = parts[i]
    local lost
    part.state, lost = part.steps.refund(part.policy, part.state, now, debited_at, permits)
    most_lost = math.max(most_lost, lost or 0)
  end
  return done(parts, most_lost)
end

-- Each part as many of the permits as it can; how many it could not, of the part that took fewest.
local function charge(parts, permits, most_debt)
  local most_left = 0
  for i = 1, #parts do
    local part = parts[i]
    local steps = part.steps
    local charged = math.min(permits, steps.chargeable(part.policy, part.state, now, most_debt))
    if charged > 0 then
      part.state = (steps.charge or steps.debit)(part.policy, part.state, now, charged)
    end
    most_left = math.max(most_left, permits - charged)
  end
  return done(parts, most_left)
end

local function reserve(part, permits, argument)
  local most_wait, generation, instance = match(argument, '^(%d+),(%d+),(%d+)$')
  local from = math.max(now, key.pause)
  local wait, state, by_refund = part.steps.reserve(
    part.policy, part.state, now, permits, from, tonumber(most_wait), tonumber(generation), instance)
  local reading = { part = 1, wait = wait, allowed = not state and '0' or by_refund and '2' or '1' }
  part.state = state or part.state
  reading.remaining = part.steps.remaining(part.policy, part.state, now)
  reading.reset = part.steps.reset(part.policy, part.state, now)
  reading.more = state and wait == 0 and more_of({ part }, now, reading.remaining) or nil
  -- A pause that follows in the same call moves the slot.
  reading.count = state and now + wait - key.shift or nil
  return reading
end

-- The generation of the slots ahead, 0 if there are none.
local function generation_of(part)
  return part.state.reserved and part.state.reserved.generation or 0
end

-- A slot that has passed is a debit as any other, also where the slots of its generation have all passed; unless it may be
-- of the time before a carry-over, where it became void: then nothing is written, because its policy may be the former one.
local function free_slot(part, permits, argument)
  local base, generation, by_refund = match(argument, '^(%-?%d+),(%d+),([r-])$')
  base, generation = tonumber(base), tonumber(generation)
  local at = base + key.shift
  local current = generation_of(part)
  local is_its_state = current == generation and current ~= 0
  local is_debit = generation == 0 or current == 0 and key.carried == NOT_PAUSED
  if is_its_state or at <= now and at > key.carried and is_debit then
    key.touched = true
    part.state = part.steps.free(part.policy, part.state, now, permits, base, by_refund == 'r')
  end
end

-- Nothing is spent any more.
local function forget(parts)
  for i = 1, #parts do
    local part = parts[i]
    part.state = part.steps.rebase(part.policy, part.policy.fresh, now)
  end
end

-- Slots that lay ahead when the pause began are moved with its end, and nothing refills for them meanwhile. Those
-- that were reserved in the pause, when none lay ahead, count on what refills until its end: if that comes earlier,
-- they are void, and who holds them reserves again.
local function pause(parts, micros, never_ends_earlier)
  local until_now = math.max(now, key.pause)
  if never_ends_earlier and now + micros <= until_now then
    return
  end
  local length = math.min(micros, MAX_TTL_MILLIS * 1000)
  local part = parts[1]
  local reserved = part.state.reserved
  if reserved then
    local later = now + length - until_now
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

-- What is spent under the part of which most is.
local function spent_of(parts)
  local most = 0
  for i = 1, #parts do
    local part = parts[i]
    most = math.max(most, part.steps.spent(part.policy, part.state, now))
  end
  return most
end

-- The states as their policies read them, brought to now. The n-th state of a form is that of the n-th part of that form.
local function load_parts(policies_of_parts, states, logs)
  local parts, seen = {}, {}
  for i = 1, #policies_of_parts do
    local policy = policies_of_parts[i]
    local steps, form = policy.steps, policy.form
    seen[form] = (seen[form] or 0) + 1
    local loaded = policy.fresh
    local log_key
    if steps.load then
      log_key = logs[seen[form]]
      loaded = steps.load(log_key, policy)
    else
      local stored = states[form .. seen[form]]
      loaded = stored and stored ~= '' and steps.decode(policy, stored) or policy.fresh
    end
    if #policies_of_parts > 1 then
      -- Of a policy before, whose slots were void when it became one of several parts.
      loaded.reserved = nil
    end
    local state = steps.rebase(policy, loaded, now)
    parts[i] = { policy = policy, steps = steps, loaded = loaded, state = state, log_key = log_key }
  end
  return parts
end

-- What was spent under the predecessor counts as spent under this policy, as far as the capacity of each part goes. Of a key
-- that is older than the predecessor the usage is unknown: all is spent.
local function carry_over(is_older)
  if key.carried_over or key.policy.before == '' then
    return
  end
  key.carried_over = true
  local before = load_parts(policies_of(key.policy.before), key.states, key.logs)
  local spent = spent_of(before)
  local any = next(key.states) ~= nil
  for i = 1, #before do
    any = any or before[i].loaded ~= before[i].policy.fresh
    if before[i].log_key and before[i].loaded ~= before[i].policy.fresh then
      write('DEL', before[i].log_key)
    end
  end
  if is_older and any then
    spent = BEYOND
  end
  forget(key.parts)
  for i = 1, #key.parts do
    debit_up_to({ key.parts[i] }, spent)
  end
  if any then
    key.carried = now
  end
end

-- The states by form and occurrence; what else the value says goes into the key.
local function read_value(stored)
  local states, seen = {}, {}
  if not stored then
    if stored == nil then
      -- Fails again.
      run('GET', key.name)
    end
    return states
  end
  local body = body_of(stored)
  local ends, version, shift, carried, rest = match(body, '^|(%d+) (%d+) (%-?%d+) (%-?%d+)|(.*)$')
  if rest then
    local found = 'something else than a header'
    ends, carried = integer(ends) or corrupt(found), integer(carried) or corrupt(found)
    key.version, key.shift = integer(version) or corrupt(found), integer(shift) or corrupt(found)
    key.pause = ends ~= 0 and ends or NOT_PAUSED
    key.carried = carried ~= 0 and carried or NOT_PAUSED
    key.head = string.sub(body, 1, -1 - #rest)
  elseif body == '' then
    corrupt('something else than a state')
  end
  for segment in string.gmatch(rest or body, '[^;]+') do
    local form, state = match(segment, '^(%d)(.*)$')
    if not form then
      corrupt('something else than a state')
    end
    seen[form] = (seen[form] or 0) + 1
    states[form .. seen[form]] = state
  end
  return states
end

-- Fields of a key beside those of prelude.lua: its `version`, `carried`, the time before which debits cannot be refunded because they
-- were carried over, and `head`, what the value says of all these.
local function load_key(i)
  local known = parsed[entries[i]]
  local policy = policy_of(known.policy)
  key = { head = '', pause = NOT_PAUSED, version = 0, shift = 0, carried = NOT_PAUSED }
  key.name, key.stored = names[i], values[i]
  key.policy, key.logs = policy, {}
  key.commands = commands_of(entries[i])
  for more = positions[i] + 1, positions[i] + known.more do
    if string.sub(KEYS[more], -5) == ':free' then
      key.free_key = KEYS[more]
    else
      key.logs[#key.logs + 1] = KEYS[more]
    end
  end
  key.states = read_value(key.stored)
  if key.version > policy.version then
    fail('RATELIMITVERSION', text(key.version))
  end
  key.parts = load_parts(policy.parts, key.states, key.logs)
  if policy.version > key.version then
    local is_older = policy.version_before and key.version < policy.version_before
    key.version = policy.version
    carry_over(is_older)
  end
  local part = key.parts[1]
  key.first_reserved = part.loaded.reserved
  if part.state.reserved and key.free_key then
    part.state = part.steps.settle(part.policy, part.state, now)
  end
  return key
end

local function execute(command)
  local op, permits, argument = command.op, command.permits, command.argument
  local parts = key.parts
  key.touched = key.touched or (op ~= 'b' and op ~= 'f')
  if op == 'a' then
    return acquire(parts, permits)
  elseif op == 'l' then
    return read(parts, permits)
  elseif op == 'r' then
    return reserve(parts[1], permits, argument)
  elseif op == 'u' then
    return done(parts, key.pause > now and 0 or debit_up_to(parts, permits))
  elseif op == 'b' then
    return refund(parts, tonumber(argument), permits)
  elseif op == 'o' then
    return charge(parts, permits, tonumber(argument))
  elseif op == 'f' then
    free_slot(parts[1], permits, argument)
  elseif op == 'c' then
    debit_up_to(parts, permits)
  elseif op == 'x' then
    forget(parts)
    key.pause = NOT_PAUSED
  elseif op == 'p' or op == 'q' then
    pause(parts, tonumber(argument), op == 'q')
  elseif op == 'm' then
    carry_over()
  else
    fail('ERR', 'unknown command ' .. op)
  end
  return done(parts, 0)
end

-- The instance whose last slot a command is about, nil if none.
local function instance_of(command)
  local instance = command.op == 'r' and match(command.argument, '(%d+)$') or command.op == 'l' and command.argument
  return instance and instance ~= '-' and instance or nil
end

-- The reply for the key, and whether its last command is allowed.
local function reply_of()
  local words, allowed = {}, nil
  local tail, instance = 0, nil
  local part = key.parts[1]
  for i = 1, #key.commands do
    local command = key.commands[i]
    if key.first_reserved and not instance then
      instance = instance_of(command)
      tail = instance and part.steps.tail(key.first_reserved, instance) or 0
    end
    local reading = execute(command)
    allowed = reading.allowed or (reading.wait == 0 and '1' or '0')
    words[i] = format(
      '%s %.0f %.0f %.0f %d %s %.0f',
      allowed,
      reading.remaining,
      reading.wait,
      reading.reset,
      reading.part - 1,
      reading.more and text(reading.more) or '-',
      reading.count or 0
    )
  end
  local left = part.state.reserved and part.state.reserved.more == 1 and key.free_key
  return format(
    '%.0f %.0f %.0f %.0f %s|',
    key.pause > now and key.pause or 0,
    key.shift,
    generation_of(part),
    tail,
    left and 'm' or '-'
  ) .. table.concat(words, '|'), allowed ~= '0'
end

local function head_of()
  local is_carried = key.carried ~= NOT_PAUSED
  if key.pause == NOT_PAUSED and key.version == 0 and key.shift == 0 and not is_carried then
    return ''
  end
  return format(
    '|%.0f %.0f %.0f %.0f|',
    math.max(0, key.pause),
    key.version,
    key.shift,
    is_carried and key.carried or 0
  )
end

local function save()
  local head = head_of()
  local is_changed, is_spent = head ~= key.head, false
  for i = 1, #key.parts do
    is_changed = is_changed or key.parts[i].state ~= key.parts[i].loaded
    is_spent = is_spent or key.parts[i].state ~= key.parts[i].policy.fresh
  end
  if not key.touched or not is_changed then
    return
  end
  -- Ticks until nothing of the key matters.
  local texts, longest = {}, ticks_until(key.pause, now)
  for i = 1, #key.parts do
    local part = key.parts[i]
    local policy, state = part.policy, part.state
    local ticks = part.steps.reset(policy, state, now)
    longest = math.max(longest, ticks)
    texts[i] = policy.form
    if state == policy.fresh then
      if part.log_key and part.loaded ~= policy.fresh then
        write('DEL', part.log_key)
      end
    elseif not part.log_key then
      texts[i] = policy.form .. part.steps.encode(policy, state, ttl_millis(ticks), now)
    elseif state ~= part.loaded then
      part.steps.save(part.log_key, policy, state, ttl_millis(ticks))
    end
  end
  if not is_spent and key.pause <= now and key.shift == 0 then
    if key.stored then
      write('DEL', key.name)
    end
  elseif head ~= '' or #texts > 1 or not key.parts[1].log_key then
    longest = key.shift ~= 0 and longest + KEPT_LONGER or longest
    write('SET', key.name, FORMAT .. head .. table.concat(texts, ';'), 'PX', text(ttl_millis(longest)))
  end
end

-- Decides keys together: if one is denied, nothing is written. A key alone is written in any case.
local function decide(first, last)
  local policy = policy_of(parsed[entries[first]].policy)
  if policy.parts[1].evaluate then
    reply[2 * first] = policy.parts[1].evaluate(names[first], commands_of(entries[first]))
    return flush()
  end
  local keys, is_allowed = {}, true
  for i = first, last do
    keys[i] = load_key(i)
  end
  for i = first, last do
    key = keys[i]
    reply[2 * i] = ''
    if is_allowed then
      reply[2 * i], is_allowed = reply_of()
    end
  end
  if is_allowed or first == last then
    for i = first, last do
      key = keys[i]
      save()
    end
    flush()
  end
end

-- An error is that of all keys that are decided together.
local function attempt(first, last)
  failure, pending = nil, {}
  local succeeded, result = lua_pcall(decide, first, last)
  for i = first, last do
    if not succeeded then
      reply[2 * i] = '-' .. (failure or 'ERR ' .. tostring(result))
    end
    reply[2 * i + 1] = 0
  end
end

if atomic == 'a' then
  attempt(1, #names)
else
  for k = 1, #others do
    attempt(others[k], others[k])
  end
end
return reply
