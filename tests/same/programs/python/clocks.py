# Clocks of the process begin with the program, and none goes back.
import os
import resource
import time

now = time.monotonic()
used = (time.process_time(), time.thread_time(), sum(os.times()[:2]),
        time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID),
        sum(resource.getrusage(resource.RUSAGE_SELF)[:2]))
print([0 <= seconds < 1 for seconds in used])
print(os.times()[2:4], resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
print(time.monotonic() >= now, time.time() > 1.7e9, time.perf_counter() > 0)
print(time.get_clock_info("monotonic"))
child = os.fork()
if not child:
    os._exit(not all(0 <= seconds < 1 for seconds in (
        time.process_time(), time.thread_time(), sum(os.times()[:2]))))
print("in a child:", os.waitpid(child, 0)[1])
print(time.process_time, time.clock_gettime.__module__, os.times.__self__,
      resource.getrusage.__text_signature__)
begin = time.monotonic()
time.sleep(0.05)
print(0.05 <= time.monotonic() - begin)
print(time.tzname, time.timezone, time.daylight, time.gmtime(0)[:6])
