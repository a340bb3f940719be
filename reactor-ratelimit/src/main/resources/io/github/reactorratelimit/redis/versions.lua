-- versions.lua: the policies of a limiter by their versions, for processes that have to follow a newer one.
--
-- commands: v version, policy: registers the policy of a version; version 0 only reads
--           g version, policy and, behind a comma, the policy that is in effect from now on, behind the newest or else that version
-- stored: format version, then `version,policy,version,policy`, the newest first
-- The first to register a version defines its policy. The two newest are kept: the policy and its predecessor.

local KEPT = 2

local function version_of(entry)
  return integer(match(entry, '^%d+')) or corrupt('no version')
end

local function register(versions, version, policy)
  for i = 1, #versions do
    if version_of(versions[i]) == version then
      return
    end
  end
  versions[#versions + 1] = text(version) .. ',' .. policy
  table.sort(versions, function(a, b)
    return version_of(a) > version_of(b)
  end)
  versions[KEPT + 1] = nil
end

-- Registers a policy behind the newest one, or else behind that version, unless it is that.
local function change(versions, version, policy, to)
  local newest = versions[1]
  if newest and version_of(newest) >= version then
    version, policy = version_of(newest), match(newest, ',(.*)$')
  end
  if policy ~= to then
    register(versions, version, policy)
    register(versions, version + 1, to)
  end
end

-- The texts `version,policy`, the newest first; each has a version.
local function decode(stored)
  local versions = {}
  for entry in string.gmatch(stored and body_of(stored) or '', '%d+,[^,]+') do
    version_of(entry)
    versions[#versions + 1] = entry
  end
  if stored and #versions == 0 then
    corrupt('something else than policy versions')
  end
  return versions
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
          change(versions, command.permits, policy, to)
        elseif command.permits > 0 then
          register(versions, command.permits, command.argument)
        end
        words[i] = '1 0 0 0 0 - 0'
      end
      local known = table.concat(versions, ',')
      if #versions > 0 and FORMAT .. known ~= stored then
        write('SET', key, FORMAT .. known)
      end
      return '0 0 0 0 -|' .. table.concat(words, '|') .. '|' .. known
    end,
  }
end
