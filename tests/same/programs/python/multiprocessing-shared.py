# Memory is shared by name, and managers serve objects.
import multiprocessing as mp
from multiprocessing import shared_memory


def works(name, things):
    memory = shared_memory.SharedMemory(name)
    memory.buf[:5] = b"child"
    memory.close()
    things["child"] = [1, 2]


if __name__ == "__main__":
    mp.set_start_method("fork")
    memory = shared_memory.SharedMemory(create=True, size=100)
    with mp.Manager() as manager:
        things = manager.dict(parent=0)
        p = mp.Process(target=works, args=(memory.name, things))
        p.start()
        p.join()
        print(bytes(memory.buf[:5]), dict(things))
    memory.close()
    memory.unlink()
