-- leaky_bucket.lua: the leaky bucket as a queue: a request leaves in the tick in which all that left
-- before it has drained, however many permits it asks for. Twin of QueueArithmetic.java: change both, or neither.
-- Parameters and state: level.lua

local function queue_excess_parts(policy, deficit_parts)
  return deficit_parts - (policy.parts_per_tick - 1)
end

local function queue_remaining(policy, deficit_parts)
  if deficit_parts < policy.parts_per_tick then
    return policy.capacity
  end
  return 0
end

function algorithms.leaky_bucket(parameters)
  local parts_per_tick = parameters[1]
  local policy = level_policy(parameters, parts_per_tick - 1, queue_excess_parts, queue_remaining)
  policy.queues = true
  return policy
end
