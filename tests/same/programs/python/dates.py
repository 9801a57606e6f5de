# Dates are formatted, parsed, compared and counted.
import calendar
import datetime as dt
import email.utils
import time

d = dt.datetime(2024, 2, 29, 13, 5, 9, 123456, tzinfo=dt.timezone.utc)
print(d.isoformat(), d.strftime("%A %d %B %Y %j %U %p %z %c %x %X"), d.timestamp())
print(dt.datetime.fromisoformat("2024-02-29T13:05:09+02:00") - d, dt.date.max)
print(dt.datetime.strptime("03 Mar 2021", "%d %b %Y").date().isocalendar())
print(calendar.TextCalendar().formatmonth(2024, 2), calendar.isleap(1900))
print(time.strftime("%Y-%m-%d", time.gmtime(86400 * 365)), time.mktime(time.gmtime(0)))
print(email.utils.format_datetime(d), d.date().replace(year=2023, day=28) - d.date())
for bad in ("2023-02-29", "x"):
    try:
        dt.date.fromisoformat(bad)
    except ValueError as e:
        print(e)
