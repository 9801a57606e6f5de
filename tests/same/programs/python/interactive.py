# Commands of cmd, and help without a pager.
import cmd
import pydoc


def documented(a, b=1):
    """What it does."""


class Shell(cmd.Cmd):
    def do_add(self, line):
        """add N..."""
        print(sum(map(int, line.split())))

    def do_EOF(self, line):
        return True


Shell().cmdloop("begin")
print(pydoc.render_doc(documented, renderer=pydoc.plaintext))
help(documented)
