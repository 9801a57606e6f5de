# Generators, closures, contexts and decorators.
import contextlib
import contextvars
import functools
import itertools


def counter():
    total = 0
    while True:
        try:
            total += (yield total) or 1
        except ValueError as e:
            print("thrown in:", e)
        finally:
            pass


g = counter()
print(next(g), g.send(10), g.throw(ValueError("x")), g.close())


@contextlib.contextmanager
def block(name):
    print("enter", name)
    try:
        yield name
    except ZeroDivisionError as e:
        print("swallowed", e)
    finally:
        print("leave", name)


with block("a") as a, block("b"):
    1 / 0


@functools.lru_cache
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


print(fib(100), fib.cache_info())
print(list(itertools.islice(itertools.accumulate(itertools.count(1)), 5)))
print([*itertools.batched("abcdefg", 3)], functools.reduce(lambda x, y: x * y, range(1, 9)))
v = contextvars.ContextVar("v", default=0)
contextvars.copy_context().run(v.set, 5)
print(v.get(), [x for x in (y := [1, 2]) if x], y)
with contextlib.ExitStack() as stack:
    stack.callback(print, "last")
    stack.enter_context(contextlib.suppress(KeyError))
    {}["x"]
