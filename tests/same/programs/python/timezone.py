# TZ and zoneinfo know the zones, with summer time.
import datetime
import os
import time
import zoneinfo

print(time.tzname, time.strftime("%H:%M %Z", time.localtime(0)))
d = datetime.datetime(2024, 7, 1, 12, tzinfo=datetime.timezone.utc)
for name in ("Europe/Berlin", "Asia/Kolkata", "America/New_York"):
    print(d.astimezone(zoneinfo.ZoneInfo(name)))
os.environ["TZ"] = "Australia/Sydney"
time.tzset()
print(time.tzname, d.astimezone().isoformat())
print(len(zoneinfo.available_timezones()) > 400)
