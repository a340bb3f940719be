-- versions.lua: the policies of a limiter by their versions, for processes that have to follow a newer one.
--
-- commands: v version, policy: registers the policy of a version; version 0 only reads
--           g version, policy and, behind a comma, the policy that is in effect from now on, behind the newest or else that version
-- stored: format version, then `version,policy,version,policy`, the newest first
-- The first to register a version defines its policy. The two newest are kept: the policy and its predecessor.

local KEPT = 2

local function register(versions, version, policy)
  for i = 1, #versions do
    if versions[i].version == version then
      return
    end
  end
  versions[#versions + 1] = { version = version, policy = policy }
  table.sort(versions, function(a, b)
    return a.version > b.version
  end)
  versions[KEPT + 1] = nil
end

local function decode(stored)
  local versions = {}
  if stored then
    local written_as = match(stored, '^%d') or corrupt('something else than policy versions')
    if written_as ~= '1' then
      fail('RATELIMITFORMAT', 'unknown format of policy versions')
    end
    for version, policy in string.gmatch(string.sub(stored, 2), '(%d+),([^,]+)') do
      versions[#versions + 1] = { version = integer(version) or corrupt('no version'), policy = policy }
    end
    if #versions == 0 then
      corrupt('something else than policy versions')
    end
  end
  return versions
end

local function encode(versions)
  local words = {}
  for i = 1, #versions do
    words[i] = text(versions[i].version) .. ',' .. versions[i].policy
  end
  return table.concat(words, ',')
end

function algorithms.versions()
  return {
    evaluate = function(key, commands)
      local stored = run('GET', key)
      local versions = decode(stored)
      local words = {}
      for i = 1, #commands do
        local command = commands[i]
        if command.op == 'g' then
          local policy, to = match(command.argument, '^([^,]+),([^,]+)$')
          if not versions[1] or versions[1].version < command.permits then
            if policy ~= to then
              register(versions, command.permits, policy)
              register(versions, command.permits + 1, to)
            end
          elseif versions[1].policy ~= to then
            register(versions, versions[1].version + 1, to)
          end
        elseif command.permits > 0 then
          register(versions, command.permits, command.argument)
        end
        words[i] = '1 0 0 0 0 - 0'
      end
      local known = encode(versions)
      if #versions > 0 and '1' .. known ~= stored then
        write('SET', key, '1' .. known)
      end
      return '0 0 0 0 -|' .. table.concat(words, '|') .. '|' .. known
    end,
  }
end
