-- gcra.lua: GCRA, and the token bucket with continuous refill, which is the same: permits pass while
-- what is owed stays within the capacity. Twin of BucketArithmetic.java: change both, or neither.
-- Parameters and state: level.lua

local function bucket_excess_parts(policy, deficit_parts, permits)
  return deficit_parts - (policy.capacity_parts - permits * policy.parts_per_permit)
end

local function bucket_remaining(policy, deficit_parts)
  return floor_div(math.max(0, policy.capacity_parts - deficit_parts), policy.parts_per_permit)
end

function algorithms.gcra(parameters)
  return level_policy(parameters, 0, bucket_excess_parts, bucket_remaining)
end
