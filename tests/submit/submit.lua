-- SPDX-License-Identifier: Apache-2.0
-- submit JOB CONFIG: see submit.py. Lua cannot make directories by itself; it
-- waits by looking for exit_code.
local job, config = arg[1], arg[2]

local function put(name, text)
	local f = assert(io.open(job .. "/" .. name, "w"))
	assert(f:write(text))
	assert(f:close())
end

assert(os.execute("mkdir '" .. job .. "'"))
put("code.sh", "out hello\nerr oops\nwrite result.txt made\nexit 7\n")
put("config.json", config)
local done
repeat
	done = io.open(job .. "/exit_code")
until done
done:close()
for _, name in ipairs { "exit_code", "stdout", "output/result.txt" } do
	io.write(assert(io.open(job .. "/" .. name)):read("a"))
end
