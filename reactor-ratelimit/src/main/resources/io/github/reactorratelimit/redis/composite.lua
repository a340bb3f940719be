-- composite.lua: the steps over all parts of a policy, also if there is but one: all allow, or none is
-- debited. Twin of CompositeAlgorithm.java: change both, or neither.
--
-- A part: { key, index, policy, steps, loaded, state }; the steps replace its state.

local composite = {}

function composite.wait(parts, now, permits)
  local most = 0
  for i = 1, #parts do
    local part = parts[i]
    most = math.max(most, part.steps.wait(part.policy, part.state, now, permits))
  end
  return most
end

function composite.remaining(parts, now)
  local least = BEYOND
  for i = 1, #parts do
    local part = parts[i]
    least = math.min(least, part.steps.remaining(part.policy, part.state, now))
  end
  return least
end

function composite.debit(parts, now, permits)
  for i = 1, #parts do
    local part = parts[i]
    part.state = part.steps.debit(part.policy, part.state, now, permits)
  end
end

-- Each part as many of the permits as it can take: how many it could not, of the part that took fewest.
function composite.overdraw(parts, now, permits, most_debt)
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
  return most_left
end

-- How many of the permits are lost, of the part that lost most.
function composite.refund(parts, now, debited_at, permits)
  local most_lost = 0
  for i = 1, #parts do
    local part = parts[i]
    local lost
    part.state, lost = part.steps.refund(part.policy, part.state, now, debited_at, permits)
    most_lost = math.max(most_lost, lost or 0)
  end
  return most_lost
end

-- What cannot be had now of what could be had when nothing was spent, of the part that binds.
function composite.spent(parts, now)
  local most = 0
  for i = 1, #parts do
    local part = parts[i]
    local steps, policy = part.steps, part.policy
    local spent
    if steps.spent then
      spent = steps.spent(policy, part.state, now)
    else
      local limit = steps.remaining(policy, steps.rebase(policy, policy.fresh, now), now)
      spent = limit - steps.remaining(policy, part.state, now)
    end
    most = math.max(most, spent)
  end
  return most
end

-- Ticks until more than what remains is there; nil if there never is.
function composite.more(parts, now, remaining)
  for i = 1, #parts do
    if remaining >= (parts[i].policy.limit or parts[i].policy.capacity) then
      return nil
    end
  end
  return composite.wait(parts, now, remaining + 1)
end

local function binds(wait, remaining, other)
  if wait == other.wait then
    return remaining < other.remaining
  end
  return wait > other.wait
end

-- The part with the longest wait or, if none waits, the one with least remaining; the reset is that of all parts.
function composite.read(parts, now, permits)
  local binding
  local reset = 0
  for i = 1, #parts do
    local part = parts[i]
    local wait = permits == 0 and 0 or part.steps.wait(part.policy, part.state, now, permits)
    local remaining = part.steps.remaining(part.policy, part.state, now)
    reset = math.max(reset, part.steps.reset(part.policy, part.state, now))
    if not binding or binds(wait, remaining, binding) then
      binding = { part = part, wait = wait, remaining = remaining }
    end
  end
  binding.reset = reset
  binding.more = binding.wait == 0 and composite.more(parts, now, binding.remaining) or nil
  return binding
end
