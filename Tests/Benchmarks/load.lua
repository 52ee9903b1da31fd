-- What wrk runs. Arguments after `--`: mode, method, file of keys (one a line), path prefix, path suffix, threads.
--   random  any key of the file, again and again
--   once    each key once: a thread takes its own share and stops at its end
--   mint    no file; every request is an insert of a new row
local counter = 0
function setup(thread)
  thread:set("number", counter)
  counter = counter + 1
end

local mode, method, prefix, suffix, keys, at

function init(args)
  mode, method, prefix, suffix = args[1], args[2], args[4], args[5] or ""
  local threads = tonumber(args[6])
  math.randomseed(os.time() * 7 + number)
  keys, at = {}, 0
  if mode ~= "mint" then
    local line = 0
    for key in io.lines(args[3]) do
      if mode == "random" or line % threads == number then keys[#keys + 1] = key end
      line = line + 1
    end
  end
end

local function uuid()
  local r = math.random
  return string.format("%08x-%04x-4%03x-8%03x-%08x%04x", r(0, 0x7fffffff), r(0, 0xffff), r(0, 0xfff), r(0, 0xfff),
    r(0, 0x7fffffff), r(0, 0xffff))
end

function request()
  at = at + 1
  if mode == "random" then
    return wrk.format(method, prefix .. keys[math.random(#keys)] .. suffix)
  elseif mode == "once" then
    if at >= #keys then wrk.thread:stop() end
    return wrk.format(method, prefix .. keys[math.min(at, #keys)] .. suffix)
  end
  local body = string.format(
    '{"id":"%s","list_id":"%s","title":"Minted %d","done":false,"n":%d,"created_at":"2026-01-02T03:04:05.678901+00:00"}',
    uuid(), uuid(), at, at)
  return wrk.format(method, prefix, { ["Content-Type"] = "application/json" }, body)
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"us":%d,"p50":%d,"p99":%d,"refused":%d,"broken":%d}\n', summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99), e.status, e.connect + e.read + e.write + e.timeout))
end
