# The program reads its own source, tokens, tree and byte code.
import ast
import dis
import inspect
import io
import symtable
import sys
import tokenize


def f(a, /, b: int = 2, *args, c, **rest) -> str:
    """Doc."""
    return a + b


class C:
    def m(self): return sys._getframe().f_code.co_qualname


print(inspect.signature(f), inspect.getdoc(f), f.__code__.co_filename)
print(C().m(), inspect.getsource(C), inspect.getcomments(f))
print([n.name for n in ast.walk(ast.parse(open(__file__).read()))
       if isinstance(n, ast.FunctionDef)])
print(ast.unparse(ast.parse("x=[1,2 ]")), ast.literal_eval("{'a': (1, None)}"))
print([t.string for t in tokenize.generate_tokens(io.StringIO("a+1 # c").readline)])
dis.dis(f)
print(symtable.symtable("x = y", "s", "exec").get_symbols())
exec(compile("print('in exec', __name__)\nraise_ = 1", "<made>", "exec"))
try:
    exec(compile("\n\n1/0", "<made>", "exec"))
except ZeroDivisionError as e:
    print(e.__traceback__.tb_next.tb_frame.f_code.co_filename, e.__traceback__.tb_next.tb_lineno)
print(eval("f('x', 'y', c=1)"), sys._getframe().f_lineno, globals() is vars(sys.modules["__main__"]))
