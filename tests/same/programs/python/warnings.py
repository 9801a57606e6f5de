# Warnings of the main module are shown as they always are.
import warnings


def old():
    warnings.warn("old() will go", DeprecationWarning, stacklevel=2)


old()
old()
warnings.warn("of the user")
pattern = "\d"
print(warnings.filters)
assert (1, "always true")
x = 1 is 1
