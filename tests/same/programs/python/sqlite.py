# SQLite keeps tables in a file and in memory, with constraints and rollbacks.
import sqlite3

db = sqlite3.connect("shop.db")
db.executescript("create table goods(id integer primary key, name text unique, price real);"
                 "create index by_price on goods(price);")
with db:
    db.executemany("insert into goods(name, price) values (?, ?)",
                   [("tea", 3.5), ("rice", 2), ("naïve", 1.25)])
try:
    with db:
        db.execute("update goods set price = 0")
        db.execute("insert into goods(name) values ('tea')")
except sqlite3.IntegrityError as e:
    print(e)
db.row_factory = sqlite3.Row
for row in db.execute("select name, price, rank() over (order by price) r from goods"):
    print(dict(row))
db.create_function("twice", 1, lambda x: x * 2)
print(db.execute("select twice(21), json_extract('{\"a\":[1,2]}', '$.a[1]'), upper('x')").fetchone()[:])
print(sqlite3.connect(":memory:").execute("with recursive c(n) as (values(1) union all select n+1 from c where n < 100) select sum(n) from c").fetchone())
try:
    db.execute("selec 1")
except sqlite3.OperationalError as e:
    print(e)
other = sqlite3.connect("shop.db", timeout=0)
db.execute("begin exclusive")
try:
    other.execute("begin immediate")
except sqlite3.OperationalError as e:
    print(e)
db.rollback()
print(sqlite3.sqlite_version, "\n".join(db.iterdump()))
