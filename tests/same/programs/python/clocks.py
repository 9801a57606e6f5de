# Clocks of the process begin with the program, and none goes back.
import os
import time

now = time.monotonic()
print(time.process_time() < 20, time.thread_time() < 20, sum(os.times()[:2]) < 20)
print(time.monotonic() >= now, time.time() > 1.7e9, time.perf_counter() > 0)
print(time.get_clock_info("monotonic"))
with open("/proc/self/stat") as f:
    ticks = int(f.read().rpartition(")")[2].split()[19])
with open("/proc/uptime") as f:
    age = float(f.read().split()[0]) - ticks / os.sysconf("SC_CLK_TCK")
print("the process is young:", age < 20)
begin = time.monotonic()
time.sleep(0.05)
print(0.05 <= time.monotonic() - begin)
print(time.tzname, time.timezone, time.daylight, time.gmtime(0)[:6])
