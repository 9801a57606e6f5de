# The locale is C.UTF-8, others are not there, and text has no other encoding.
import locale
import sys
import unicodedata

print(locale.getlocale(), locale.getpreferredencoding(), locale.getencoding())
print(locale.setlocale(locale.LC_ALL, ""), locale.localeconv()["decimal_point"])
try:
    locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
except locale.Error as e:
    print(e)
print(unicodedata.name("ß"), "ß".upper(), "İ".lower().encode(), "ﬁ".casefold())
print(unicodedata.normalize("NFD", "é").encode(), sorted("zaéä"), len("👩‍👩‍👧"))
print(open("umlaut", "w").encoding, f"{1234567.891:n}")
