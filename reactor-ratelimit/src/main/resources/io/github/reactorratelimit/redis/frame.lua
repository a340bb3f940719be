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
-- A value is a format version, 1; then, if there is more to say than the states, `|pause version shift carried reset refundable|`; then for
-- each part the digit of its form and its state, with `;` between. The algorithms say what a state is. While processes decide by several
-- policies the states of the others follow; then each that is not fresh has `@` behind it and when its policy has recovered.
-- All is read and computed before the first write of a key.

-- How much longer than anything else matters a value is kept: the shift of slots for those who hold them; after a carry-over the
-- policy version, also of a key that recovers meanwhile, for an instance that has not heard of it.
local KEPT_LONGER = 60000000

local function policies_of(part_texts)
  local found = {}
  for name, words in string.gmatch(part_texts, '([^; ]+)([^;]*)') do
    if not algorithms[name] then
      local define = loaders[name] or fail('ERR', 'unknown algorithm ' .. name)
      define()
    end
    local steps = algorithms[name]
    local policy, count = { steps = steps, form = steps.form, fresh = steps.fresh, most = steps.most }, 0
    for word in string.gmatch(words, '%S+') do
      count = count + 1
      policy[steps.parameters[count] or count] = word == 'now' and now or tonumber(word)
    end
    if steps.complete then
      steps.complete(policy)
    end
    found[#found + 1] = policy
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

-- Also the instance whose last slot they are about, nil if none.
local function commands_of(entry)
  local known_entry = parsed[entry]
  if not known_entry.commands then
    known_entry.commands = {}
    for op, count, permits, argument in string.gmatch(entry, ' (%a)(%d*) (%d+) (%S+)') do
      local command = { op = op, permits = tonumber(permits), argument = argument }
      local instance = op == 'r' and match(argument, '(%d+)$') or op == 'l' and match(argument, '^%d+$')
      known_entry.instance = known_entry.instance or instance
      for _ = 1, tonumber(count) or 1 do
        table.insert(known_entry.commands, command)
      end
    end
  end
  return known_entry.commands, known_entry.instance
end

-- The states as their policies read them, brought to now; how many parts there are of each form, and how many states the value has of
-- them. The n-th state of a form is that of the n-th part of that form.
local function load_parts(policies_of_parts)
  local parts, seen, found = {}, {}, 0
  for i, policy in ipairs(policies_of_parts) do
    local steps, form = policy.steps, policy.form
    seen[form] = (seen[form] or 0) + 1
    local log_key = steps.has_log and key.logs[seen[form]]
    local state_read = key.states[form .. seen[form]]
    local stored = log_key or state_read or ''
    found = found + (state_read and 1 or 0)
    local loaded = stored ~= '' and (steps.decode or decode)(policy, stored) or policy.fresh
    if #policies_of_parts > 1 then
      -- Of a policy before, whose slots were void when it became one of several parts.
      loaded.reserved = nil
    end
    local state = steps.rebase(policy, loaded, now)
    local beyond = steps.beyond and steps.beyond(policy, loaded, now)
    parts[i] = { policy = policy, steps = steps, loaded = loaded, state = state, beyond = beyond, log_key = log_key }
  end
  return parts, seen, found
end

-- What was spent under the predecessor counts as spent under this policy, as far as the capacity of each part goes, unless more was
-- spent under this one, in a state of its own. Of a key that is older than the predecessor the usage is unknown: all is spent.
local function carry_over(is_older)
  if key.carried_over or key.policy.before == '' then
    return
  end
  key.carried_over = true
  local before, forms_before = load_parts(policies_of(key.policy.before))
  local spent = most_of(before, 'spent', now)
  local any = next(key.states) ~= nil
  for _, part in ipairs(before) do
    if part.log_key and part.loaded ~= part.policy.fresh then
      any = true
      write('DEL', part.log_key)
    end
  end
  for _, part in ipairs(key.parts) do
    if forms_before[part.policy.form] then
      forget({ part })
    end
    debit_up_to({ part }, (is_older and any and BEYOND or spent) - part.steps.spent(part.policy, part.state, now))
  end
  key.carried = any and now or key.carried
end

function commands.m()
  carry_over()
end

-- What a value says beside the states; times that are NOT_PAUSED are stored as 0.
local HEAD = { 'pause', 'version', 'shift', 'carried', 'reset', 'refundable' }

local function head_of()
  if key.pause == NOT_PAUSED and key.version == 0 and key.shift == 0 and key.carried == NOT_PAUSED and key.reset == NOT_PAUSED then
    return ''
  end
  local values = {}
  for _, name in ipairs(HEAD) do
    values[name] = key[name] ~= NOT_PAUSED and key[name] or 0
  end
  local words = words_of(values, HEAD)
  return words == '0' and '' or '|' .. words .. '|'
end

-- The states by form and occurrence; what else the value says goes into the key, also how many states there are.
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
  local header, rest = match(body, '^|([^|]+)|(.*)$')
  if header then
    for name, value in pairs(integers(header, HEAD)) do
      key[name] = value ~= 0 and value or key[name]
    end
    key.head = '|' .. header .. '|'
  elseif body == '' then
    corrupt('something else than a state')
  end
  key.body = rest or body
  for segment in string.gmatch(key.body, '[^;]+') do
    local form, state = match(segment, '^(%d)([^@]*)')
    if not form then
      corrupt('something else than a state')
    end
    seen[form] = (seen[form] or 0) + 1
    states[form .. seen[form]] = state
    key.stored_states = key.stored_states + 1
  end
  return states
end

-- Fields of a key beside those of prelude.lua: its `version`; `carried`, the time before which debits cannot be refunded because they
-- were carried over; `reset`, the time before which there is nothing to refund, and until when that matters, `refundable`; and `head`,
-- what the value says of these and of pause and shift. Slots ahead and a reset come from a clock that went back if they lie in the future.
local function load_key(i)
  local policy = policy_of(parsed[entries[i]].policy)
  key = {
    name = names[i],
    stored = values[i],
    policy = policy,
    logs = {},
    head = '',
    pause = NOT_PAUSED,
    version = 0,
    shift = 0,
    carried = NOT_PAUSED,
    reset = NOT_PAUSED,
    refundable = NOT_PAUSED,
    stored_states = 0,
  }
  for more = positions[i] + 1, positions[i] + parsed[entries[i]].more do
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
  local back = ticks_until(key.reset, now)
  key.reset, key.refundable = key.reset - back, key.refundable - back
  if key.refundable <= now then
    key.reset, key.refundable = NOT_PAUSED, NOT_PAUSED
  end
  key.parts, key.forms, key.read_states = load_parts(policy.parts)
  if policy.version > key.version then
    local is_older = policy.version_before and key.version < policy.version_before
    key.version = policy.version
    carry_over(is_older)
    key.others = {}
  end
  key.commands, key.instance = commands_of(entries[i])
  local part = key.parts[1]
  local reserved = key.instance and part.loaded.reserved
  key.tail = reserved and reserved.tails[key.instance] or 0
  if part.state.reserved and key.free_key then
    part.state = part.steps.settle(part.policy, part.state, now)
  end
  return key
end

-- The reply for the key, and whether its last command is allowed.
local function reply_of()
  local words, is_allowed = {}, nil
  for i, command in ipairs(key.commands) do
    local execute = commands[command.op] or fail('ERR', 'unknown command ' .. command.op)
    key.touched = key.touched or (command.op ~= 'b' and command.op ~= 'f')
    words[i], is_allowed = execute(key.parts, command.permits, command.argument, command.op)
    if not words[i] then
      words[i], is_allowed = read(0)
    end
  end
  local part = key.parts[1]
  local left = part.state.reserved and part.state.reserved.more == 1 and key.free_key
  return format(
    '%.0f %.0f %.0f %.0f %s|',
    key.pause > now and key.pause or 0,
    key.shift,
    generation_of(part),
    key.tail,
    left and 'm' or '-'
  ) .. table.concat(words, '|'), is_allowed
end

local function save()
  local head = head_of()
  local is_changed, is_spent = head ~= key.head, false
  for _, part in ipairs(key.parts) do
    is_changed = is_changed or part.state ~= part.loaded
    is_spent = is_spent or part.state ~= part.policy.fresh
  end
  if not key.touched or not is_changed then
    return
  end
  -- Ticks until nothing of the states matters, and of the key.
  local others, longest_of_others = kept_of_others()
  local texts, recovers = {}, 0
  for i, part in ipairs(key.parts) do
    local policy, state = part.policy, part.state
    texts[i] = policy.form
    if state ~= policy.fresh then
      local ticks = math.max(part.steps.reset(policy, state, now), part.beyond and part.beyond.at - now or 0)
      recovers = math.max(recovers, ticks)
      texts[i] = policy.form .. (part.steps.encode or encode)(policy, state, ttl_millis(ticks), part)
      texts[i] = #others > 0 and texts[i] .. '@' .. text(now + ticks) or texts[i]
    elseif part.log_key and part.loaded ~= state then
      write('DEL', part.log_key)
    end
  end
  for i = 1, #others do
    texts[#texts + 1] = others[i]
  end
  local longest = math.max(recovers, longest_of_others, ticks_until(key.pause, now), ticks_until(key.refundable, now))
  local is_kept = key.shift ~= 0 or key.carried > now - KEPT_LONGER
  local says_more = head ~= '' or #texts > 1 or not key.parts[1].log_key
  if says_more and (is_spent or longest > 0 or is_kept) then
    longest = is_kept and longest + KEPT_LONGER or longest
    write('SET', key.name, FORMAT .. head .. table.concat(texts, ';'), 'PX', text(ttl_millis(longest)))
  elseif key.stored then
    write('DEL', key.name)
  end
end

-- Decides keys together: if one is denied, nothing is written. A key alone is written in any case.
local function decide(first, last)
  local policy = policy_of(parsed[entries[first]].policy)
  if policy.parts[1].steps.evaluate then
    reply[2 * first] = policy.parts[1].steps.evaluate(policy.parts[1], names[first], commands_of(entries[first]))
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
