-- composite.lua: the steps over all parts of a policy, also if there is but one: all allow, or none is
-- debited. Twin of CompositeAlgorithm.java: change both, or neither.
--
-- A part: { algorithm, policy, key, loaded, state }; the steps replace its state.

local composite = {}

function composite.wait(parts, now, permits)
  local most = 0
  for _, part in ipairs(parts) do
    most = math.max(most, part.algorithm.wait(part.policy, part.state, now, permits))
  end
  return most
end

function composite.remaining(parts, now)
  local least = BEYOND
  for _, part in ipairs(parts) do
    least = math.min(least, part.algorithm.remaining(part.policy, part.state, now))
  end
  return least
end

function composite.debit(parts, now, permits)
  for _, part in ipairs(parts) do
    part.state = part.algorithm.debit(part.policy, part.state, now, permits)
  end
end

function composite.refund(parts, now, debited_at, permits)
  for _, part in ipairs(parts) do
    part.state = part.algorithm.refund(part.policy, part.state, now, debited_at, permits)
  end
end

function composite.rebase(parts, now)
  for _, part in ipairs(parts) do
    part.state = part.algorithm.rebase(part.policy, part.state, now)
  end
end

function composite.reset(parts)
  for _, part in ipairs(parts) do
    part.state = part.policy.fresh
  end
end

local function read_part(part, index, now, permits)
  return {
    index = index,
    remaining = part.algorithm.remaining(part.policy, part.state, now),
    wait = permits == 0 and 0 or part.algorithm.wait(part.policy, part.state, now, permits),
    reset = part.algorithm.reset(part.policy, part.state, now),
  }
end

local function binds(reading, other)
  if reading.wait == other.wait then
    return reading.remaining < other.remaining
  end
  return reading.wait > other.wait
end

-- The part with the longest wait or, if none waits, the one with least remaining; indices start at 0.
function composite.read(parts, now, permits)
  local binding = read_part(parts[1], 0, now, permits)
  for i = 2, #parts do
    local reading = read_part(parts[i], i - 1, now, permits)
    if binds(reading, binding) then
      binding = reading
    end
  end
  return binding
end
