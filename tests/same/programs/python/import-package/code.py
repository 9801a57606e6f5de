# A package of the job's own is imported in all ways.
import importlib
import sys

import shop
import shop.goods as goods
from shop import price
from shop.goods import *

print(shop.__file__, shop.__path__, shop.__name__)
print(price.of("tea"), names, goods.names)
print(importlib.import_module(".price", "shop") is price)
print(shop.__spec__.origin, sys.modules["shop.price"].__package__)
try:
    from . import shop as other
except ImportError as e:
    print(type(e).__name__, e)
try:
    import shop.nothing
except ModuleNotFoundError as e:
    print(e, e.name, e.path)
import __main__
print(__main__.__file__, hasattr(__main__, "goods"))
