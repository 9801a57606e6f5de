# The site's directories are Debian's.
import os
import site
import sysconfig

print(site.getsitepackages(), site.getusersitepackages())
print(site.ENABLE_USER_SITE, site.PREFIXES)
print(sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"))
print(os.path.expanduser("~"), os.path.expanduser("~root"))
