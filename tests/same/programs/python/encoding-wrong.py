# A source that is no UTF-8 is refused with the place.
print("ÿ")
