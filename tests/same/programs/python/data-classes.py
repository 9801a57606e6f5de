# Dataclasses, enums, named tuples, protocols and abstract classes.
import abc
import collections
import dataclasses
import enum
import typing


@dataclasses.dataclass(order=True, frozen=True)
class Point:
    x: int
    y: int = 0
    tags: list = dataclasses.field(default_factory=list, compare=False)


class Color(enum.Enum):
    RED = 1
    GREEN = enum.auto()


class Flag(enum.Flag):
    A = 1
    B = 2


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self): ...


@typing.runtime_checkable
class Sized(typing.Protocol):
    def __len__(self) -> int: ...


print(Point(1), Point(1) < Point(2), dataclasses.asdict(Point(1, 2, ["a"])))
try:
    Point(1).x = 2
except dataclasses.FrozenInstanceError as e:
    print(e)
print(Color.GREEN, repr(Color(1)), Flag.A | Flag.B, list(Color), Color["RED"].value)
try:
    Color(7)
except ValueError as e:
    print(e)
try:
    Shape()
except TypeError as e:
    print(e)
print(isinstance([], Sized), collections.namedtuple("P", "a b")(1, 2)._asdict())
print(typing.get_type_hints(Point), Point.__match_args__)
match Point(3, 4):
    case Point(x=3, y=y) if y > 3:
        print("matched", y)


class Meta(type):
    def __new__(cls, name, bases, space):
        print("making", name, sorted(k for k in space if not k.startswith("__")))
        return super().__new__(cls, name, bases, space)


class Made(metaclass=Meta):
    x = 1
    def __init_subclass__(cls, **words): print("sub", cls.__name__, words)


class Sub(Made, word=1):
    pass


type Pair[T] = tuple[T, T]
def first[T](p: Pair[T]) -> T: return p[0]
print(first((1, 2)), Pair.__value__)
