-- versions.lua: the policies of a limiter by their versions, for processes that have to follow a newer one.
--
-- commands: v version, policy: registers the policy of a version; version 0 only reads
--           g version, policy and, behind a comma, the policy that is in effect from now on, behind the newest or else that version
-- stored: format version, then `version,policy,version,policy`, the newest first
-- The first to register a version defines its policy. The two newest are kept: the policy and its predecessor.

local versions = { parameters = {} }
algorithms.versions = versions

local KEPT = 2

function versions.evaluate(_, name, commands)
  local stored = run('GET', name)
  -- By version, and the versions, the newest first.
  local policies, known = {}, {}
  local function register(version, policy)
    if not policies[version] then
      policies[version] = policy
      known[#known + 1] = version
      table.sort(known, function(a, b)
        return a > b
      end)
    end
  end
  for version, policy in string.gmatch(stored and body_of(stored) or '', '(%d+),([^,]+)') do
    register(integer(version) or corrupt('no version'), policy)
  end
  if stored and #known == 0 then
    corrupt('something else than policy versions')
  end
  for _, command in ipairs(commands) do
    local version, policy = command.permits, command.argument
    if command.op == 'g' then
      local newest, to = known[1], match(policy, ',(.*)$')
      policy = match(policy, '^[^,]+')
      if newest and newest >= version then
        version, policy = newest, policies[newest]
      end
      if policy ~= to then
        register(version, policy)
        register(version + 1, to)
      end
    elseif version > 0 then
      register(version, policy)
    end
  end
  local texts = {}
  for i = 1, math.min(#known, KEPT) do
    texts[i] = text(known[i]) .. ',' .. policies[known[i]]
  end
  local kept = table.concat(texts, ',')
  if kept ~= '' and FORMAT .. kept ~= stored then
    write('SET', name, FORMAT .. kept)
  end
  return '0 0 0 0 -' .. string.rep('|1 0 0 0 0 - 0', #commands) .. '|' .. kept
end
