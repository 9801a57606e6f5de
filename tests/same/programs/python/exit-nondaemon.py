# The interpreter waits for threads that are no daemons, not for daemons.
import threading

begin = threading.Event()
for_ever = threading.Event()


def works():
    begin.wait()
    print("worker ends")


threading.Thread(target=works).start()
threading.Thread(target=for_ever.wait, daemon=True).start()
print("main ends")
begin.set()
