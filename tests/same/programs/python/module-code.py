# The library's module "code" can be imported, though the program is called so.
import code

code.interact(banner="begin", exitmsg="end", local={"y": 5})
