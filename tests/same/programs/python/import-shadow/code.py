# A module of the job's own that is called as one of the library is found first.
import queue
import statistics
import textwrap

print(queue.mine, statistics.__file__, textwrap.shorten("a b c", 3))
