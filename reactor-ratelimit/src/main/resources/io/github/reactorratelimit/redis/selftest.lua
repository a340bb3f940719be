-- selftest.lua: tries every command that the scripts use, on separate keys that it deletes again.
-- KEYS[1] a key for strings    KEYS[2] for lists    KEYS[3] for sorted sets, all in one slot
-- returns { command, error, command, error, ... } of the commands that failed; nothing if all is well

local failed = {}

local function try(name, ...)
  local reply = redis.pcall(name, ...)
  if type(reply) == 'table' and reply.err then
    failed[#failed + 1] = name
    failed[#failed + 1] = reply.err
  end
end

try('TIME')
try('SET', KEYS[1], '1', 'PX', '1000')
try('GET', KEYS[1])
try('MGET', KEYS[1], KEYS[2])
try('PEXPIRE', KEYS[1], '1000')
try('PTTL', KEYS[1])
try('RPUSH', KEYS[2], '1')
try('PEXPIRE', KEYS[2], '1000')
try('LLEN', KEYS[2])
try('LRANGE', KEYS[2], '0', '0')
try('LTRIM', KEYS[2], '0', '0')
try('EXISTS', KEYS[3])
try('ZADD', KEYS[3], '1', 'a', '2', 'b')
try('PEXPIRE', KEYS[3], '1000')
try('ZCARD', KEYS[3])
try('ZCOUNT', KEYS[3], '1', '2')
try('ZSCORE', KEYS[3], 'a')
try('ZRANGEBYSCORE', KEYS[3], '1', '2')
try('ZREVRANGE', KEYS[3], '0', '0')
try('ZREM', KEYS[3], 'a')
try('DEL', KEYS[1], KEYS[2], KEYS[3])
return failed
