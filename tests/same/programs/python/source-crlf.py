# Lines of a source may end as on Windows.
print("""two
lines""")
