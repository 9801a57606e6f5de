# Soft limits may be raised to the hard ones, and lower ones are heeded.
set -e
ulimit -c unlimited; ulimit -c; ulimit -Sc 0; ulimit -n 4096; ulimit -n; ulimit -Ss
(ulimit -f 1; head -c 3000 /dev/zero >big) || echo "too big: $?"
(ulimit -n 8; exec 7<code.sh; exec 9<code.sh) || echo "too many: $?"
ulimit -v 100000; python3 -c 'x = bytearray(200 << 20)' 2>&1 | tail -1; rm -f big
