# traceback, inspect and linecache find the program's own lines.
import inspect
import linecache
import sys
import traceback


def outer():
    def inner():
        raise KeyError("k")
    inner()


try:
    outer()
except KeyError:
    traceback.print_exc(file=sys.stdout)
    for frame in traceback.extract_tb(sys.exc_info()[2]):
        print(frame.filename, frame.lineno, frame.name, frame.line, frame.colno)
print(inspect.getsource(outer))
print(inspect.getsourcefile(outer), inspect.getsourcelines(outer)[1])
print(inspect.getmodule(outer), inspect.stack()[0].code_context)
print(linecache.getline(__file__, 1))
traceback.print_stack(file=sys.stdout)
