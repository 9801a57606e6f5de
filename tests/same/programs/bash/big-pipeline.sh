# A long pipeline with much data gives the right sums.
seq 1 20000 | awk '{ print $1, $1 % 7 }' | sort -k2,2n -k1,1nr | cut -d' ' -f1 | head -n 5
seq 1 100000 | md5sum; head -c 1000000 /dev/zero | gzip -n | wc -c
