# Objects of the program's classes are pickled under __main__.
import copy
import pickle
import shelve


class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __eq__(self, other):
        return (self.x, self.y) == (other.x, other.y)

    def __repr__(self):
        return f"Point({self.x}, {self.y})"


p = Point(1, [2, 3])
text = pickle.dumps(p)
print(text)
print(pickle.loads(text) == p, Point.__module__, Point.__qualname__)
with shelve.open("shelf") as shelf:
    shelf["p"] = p
with shelve.open("shelf") as shelf:
    print(dict(shelf))
print(copy.deepcopy(p).y is p.y)
try:
    pickle.dumps(lambda: 0)
except (pickle.PicklingError, AttributeError) as e:
    print(type(e).__name__)
import os
for name in os.listdir():
    if name.startswith("shelf"):
        os.unlink(name)
