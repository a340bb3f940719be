-- leaky_bucket.lua: the leaky bucket as a queue: a request leaves in the tick in which all that left
-- before it has drained, however many permits it asks for. Twin of QueueMeter.java: change both, or neither.
-- Parameters and state: level.lua

algorithms.leaky_bucket = level.algorithm(
  function(parameters)
    local parts_per_tick = parameters[1]
    return parts_per_tick - 1
  end,
  function(policy, deficit_parts)
    return deficit_parts - (policy.parts_per_tick - 1)
  end,
  function(policy, deficit_parts)
    if deficit_parts < policy.parts_per_tick then
      return policy.capacity
    end
    return 0
  end
)
